"""The cell magics ``%%numelt_profile`` and ``%%numelt_line_profile``.

In: a cell and the shell that runs it. Out: the value of the cell, and a report that the shell displays.
Loaded by ``%load_ext numelt``.
"""

from __future__ import annotations

import ast
import importlib
import sys
import time
import types
from typing import Any

from numelt import _core
from numelt.tools import report
from numelt.tools.profiling import Profile

__all__ = ["LineProfile", "register"]


class LineProfile:
    """A report on the lines of a cell.

    Attributes
    ----------
    source : list of str
        The lines of the cell.
    seconds : dict
        By line number: the time that the line took, with the functions that it called.
    profile : Profile
        The work that the cell caused in the runtime.
    """

    HEADER = ("line", "ms", "flushes", "kernels", "MB moved", "fallbacks", "source")

    def __init__(self, source: str, filename: str) -> None:
        self.source = source.splitlines()
        self.seconds: dict[int, float] = {}
        self.profile = Profile()
        self._filename = filename

    def rows(self) -> list[list[object]]:
        """Return the rows of the table. Cells of a line that took no time are empty."""
        flushed: dict[int, list[float]] = {}
        for (filename, lineno, _), entry in self.profile.lines.items():
            if filename == self._filename:
                sums = flushed.setdefault(lineno, [0, 0, 0, 0.0])
                sums[:] = [a + b for a, b in zip(sums, entry, strict=True)]
        fallbacks: dict[int, int] = {}
        for (filename, lineno, _), calls in self.profile.fallbacks.items():
            if filename == self._filename:
                fallbacks[lineno] = fallbacks.get(lineno, 0) + calls
        rows: list[list[object]] = []
        for number, text in enumerate(self.source, 1):
            time_ = f"{self.seconds[number] * 1e3:.3f}" if number in self.seconds else ""
            flushes, kernels, moved, _ = flushed.get(number, [0, 0, 0, 0.0])
            counts = [f"{n:.0f}" if n else "" for n in (flushes, kernels)]
            size = f"{moved / 1e6:.2f}" if moved else ""
            rows.append([number, time_, *counts, size, fallbacks.get(number, ""), text])
        return rows

    def __repr__(self) -> str:
        widths = (4, 10, 8, 8, 10, 10)
        table: list[list[object]] = [list(self.HEADER), *self.rows()]
        return "\n".join(
            " ".join(f"{row[at]!s:>{width}}" for at, width in enumerate(widths)) + f"  {row[-1]}"
            for row in table
        )

    def _repr_html_(self) -> str:
        return report.html_table(self.HEADER, self.rows())

    def __enter__(self) -> LineProfile:
        self.profile.__enter__()
        self._former = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.settrace(self._former)
        self.profile.__exit__(*error)

    def _called(self, frame: types.FrameType, event: str, _: Any) -> Any:
        """Trace the frames of the cell only."""
        if frame.f_code.co_filename != self._filename:
            return None
        line, start = frame.f_lineno, time.perf_counter()

        def stepped(frame: types.FrameType, event: str, _: Any) -> Any:
            nonlocal line, start
            if event in ("line", "return"):
                now = time.perf_counter()
                if began:
                    self.seconds[line] = self.seconds.get(line, 0.0) + now - start
                began.append(True)
                line, start = frame.f_lineno, time.perf_counter()
            return stepped

        began: list[bool] = []
        return stepped


def _compiled(shell: Any, cell: str) -> tuple[str, list[tuple[types.CodeType, bool]]]:
    """Compile a cell as the shell does; return its file name, its code, and the code of a last expression."""
    source = shell.transform_cell(cell)
    filename = shell.compile.cache(source)
    body = ast.parse(source, filename).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    # a semicolon at the end suppresses the output
    wanted = last is not None and not cell.rstrip().endswith(";")
    codes = [(compile(ast.Module(body, []), filename, "exec"), False)]
    if isinstance(last, ast.Expr):
        codes.append((compile(ast.Expression(last.value), filename, "eval"), wanted))
    return filename, codes


def _run(shell: Any, codes: list[tuple[types.CodeType, bool]]) -> Any:
    value = None
    for code, wanted in codes:
        result = eval(code, shell.user_global_ns, shell.user_ns)
        value = result if wanted else None
    return value


def register(shell: Any) -> None:
    """Register the magics with a shell."""
    display = importlib.import_module("IPython.display").display

    def numelt_profile(line: str, cell: str) -> Any:
        """Run a cell and display the work that it caused in numelt, by line."""
        _, codes = _compiled(shell, cell)
        _core.flush()  # run what earlier cells have recorded
        with Profile() as profile:
            value = _run(shell, codes)
        display(profile)
        return value

    def numelt_line_profile(line: str, cell: str) -> Any:
        """Run a cell and display the time, flushes, kernels, bytes moved and fallbacks of each line."""
        filename, codes = _compiled(shell, cell)
        _core.flush()
        with LineProfile(cell, filename) as profile:
            value = _run(shell, codes)
        display(profile)
        return value

    shell.register_magic_function(numelt_profile, "cell", "numelt_profile")
    shell.register_magic_function(numelt_line_profile, "cell", "numelt_line_profile")
