"""The progress line of a long flush in a notebook. On a terminal, the core writes it itself.

In: calls from a thread of the core while a flush runs. Out: a line of the notebook that is updated in place.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["display"]

_shown: Any = None


def _in_kernel() -> bool:
    """Return whether this process runs the cells of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def display(line: str | None) -> bool:
    """Show a line, or remove it if it is None. Return False if no notebook runs."""
    global _shown
    if not _in_kernel():
        return False
    tools = importlib.import_module("IPython.display")
    content = tools.HTML(f"<pre>{line}</pre>" if line else "")
    if _shown is None and line:
        _shown = tools.display(content, display_id=True)
    elif _shown is not None:
        _shown.update(content)
        _shown = _shown if line else None
    return True
