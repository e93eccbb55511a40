"""A profile in the trace event format, which https://ui.perfetto.dev and Chrome's tracing page open.

In: the events of a profile. Out: plain data, or a JSON file. Times are microseconds since the block began.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numelt.tools.profiling import Event, Profile

__all__ = ["trace", "write"]


def _event(event: Event, process: int) -> dict[str, Any]:
    place = f"{event.filename}:{event.lineno}"
    entry: dict[str, Any] = {
        "name": event.name,
        "cat": event.kind,
        "pid": process,
        "tid": event.thread,
        "ts": round(event.start * 1e6, 3),
        "args": {**event.details, "line": place},
    }
    if event.kind in ("fallback", "transfer"):
        return {**entry, "ph": "i", "s": "t"}  # a moment, on its thread
    return {**entry, "ph": "X", "dur": round(event.seconds * 1e6, 3)}


def trace(profile: Profile) -> dict[str, Any]:
    """Return the events of a profile as the format's JSON object."""
    process = os.getpid()
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": process, "args": {"name": "numelt"}}
    ]
    events += sorted((_event(event, process) for event in profile.events), key=lambda entry: entry["ts"])
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def write(profile: Profile, path: Any) -> None:
    """Write the trace of a profile to a file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace(profile), file, default=str)
