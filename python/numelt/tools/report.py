"""Text and HTML of a `Profile`, which show the same tables.

In: a profile. Out: text. Loaded when a profile is printed or displayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numelt.tools.profiling import Profile

__all__ = ["html", "html_table", "text"]


def _block(profile: Profile) -> list[str]:
    """Return the lines of the text about what a block did."""
    lines = [
        f"{profile.seconds * 1e3:.2f} ms, {profile.flushes} flushes, {profile.kernels} kernels",
        f"{'flushes':>8} {'kernels':>8} {'MB moved':>10} {'ms':>9}  line (why)",
    ]
    if profile.engines:
        there, back = profile.bytes_there / 1e6, profile.bytes_back / 1e6
        lines.insert(1, f"{there:.2f} MB copied to devices, {back:.2f} MB back")
    for key, (flushes, kernels, moved, seconds) in _by_time(profile.lines):
        filename, lineno, reason = key
        lines.append(
            f"{flushes:>8.0f} {kernels:>8.0f} {moved / 1e6:>10.2f} {seconds * 1e3:>9.2f}"
            f"  {filename}:{lineno} ({reason})"
        )
        if steps := profile.engines.get(key):
            ran = ", ".join(f"{count} on {name}" for name, count in sorted(steps.items()))
            lines.append(f"{'':>40}steps: {ran}")
    for (filename, lineno, name), (calls, seconds) in _by_time(profile.library):
        lines.append(f"{calls:>8.0f} library calls {seconds * 1e3:>14.2f}  {filename}:{lineno} ({name})")
    for (filename, lineno, name), calls in sorted(profile.fallbacks.items(), key=lambda item: -item[1]):
        lines.append(f"{calls:>8} calls that ran in NumPy{'':>6}  {filename}:{lineno} ({name})")
    return lines


def _by_time(entries: dict[tuple[str, int, str], list[float]]) -> list[tuple[tuple[str, int, str], Any]]:
    return sorted(entries.items(), key=lambda item: -item[1][-1])


def _process(totals: dict[str, Any]) -> list[str]:
    """Return the lines of the text about the process so far."""
    flushes = sum(totals["flushes"].values())
    lines = [
        f"since numelt was imported or the totals were reset: {flushes} flushes, {totals['kernels']} kernels,"
        f" {totals['calls']} calls of libraries in them",
        f"{totals['instructions']} operations, {totals['at_once']} of them run when they were called; "
        f"{totals['bytes_moved'] / 1e6:.2f} MB moved",
        f"{totals['run_ns'] / 1e6:.2f} ms in kernels and calls, {totals['plan_ns'] / 1e6:.2f} ms in planning",
    ]
    why = ", ".join(f"{count} {reason}" for reason, count in totals["flushes"].items() if count)
    lines += [f"flushes by reason: {why}"] if why else []
    lines += [f"{calls:>8} library calls: {name}" for name, calls in totals["library"].items()]
    for entry in totals["fallbacks"]:
        lines.append(f"{entry.calls:>8} ran in NumPy: {entry.function}  {entry.filename}:{entry.lineno}")
    lines.append("`with numelt.profile() as p:` tells the lines")
    return lines


def text(profile: Profile) -> str:
    """Return a profile as text: that of its block, or the totals of the process."""
    return "\n".join(_block(profile) if profile.entered or not profile.totals else _process(profile.totals))


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> str:
    """Return an HTML table whose last `left` columns are text, and the others numbers."""
    from html import escape

    def cells(row: Sequence[object], tag: str) -> str:
        aligned = ["right"] * (len(row) - left) + ["left"] * left
        return "".join(
            f'<{tag} style="text-align: {side}">{escape(str(cell))}</{tag}>'
            for cell, side in zip(row, aligned, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{cells(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def html(profile: Profile) -> str:
    """Return a profile as HTML."""
    from html import escape

    if not profile.entered and profile.totals:
        return f"<pre>{escape(text(profile))}</pre>"
    rows: list[list[object]] = [
        [
            f"{flushes:.0f}",
            f"{kernels:.0f}",
            f"{moved / 1e6:.2f}",
            f"{seconds * 1e3:.2f}",
            f"{file}:{line} ({why})",
        ]
        for (file, line, why), (flushes, kernels, moved, seconds) in _by_time(profile.lines)
    ]
    for (file, line, name), (calls, seconds) in _by_time(profile.library):
        rows.append(
            ["", "", "", f"{seconds * 1e3:.2f}", f"{file}:{line} ({calls:.0f} library calls of {name})"]
        )
    for (file, line, name), calls in profile.fallbacks.items():
        rows.append(["", "", "", "", f"{file}:{line} ({calls} calls of {name} ran in NumPy)"])
    head = _block(profile)[0]
    return f"<p>{escape(head)}</p>" + html_table(["flushes", "kernels", "MB moved", "ms", "line"], rows)
