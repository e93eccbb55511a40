"""Scalars that reach C code which asks for a number by its type are NumPy's own; others stay deferred."""

import datetime
import decimal
import json
import math
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy
import pytest

import numelt as np
from numelt import _core

N = 50_000


def _x() -> Any:
    return np.arange(float(N)) / N


def _mean_of_squares(a: Any) -> Any:
    return (a * a).mean()


def _wait(seconds: Any, unit: float = 1e-9) -> None:
    time.sleep(seconds * 0 + unit)
    time.sleep(seconds)


class _Span:
    def __init__(self, seconds: Any) -> None:
        self.span = timedelta(seconds=seconds)

    def days(self, count: Any) -> timedelta:
        return self.span + timedelta(count)


def _direct() -> Any:
    return timedelta(seconds=(_x() + 1).mean())


def _variable() -> Any:
    mean = (_x() + 1).mean()
    other = mean * 2
    return timedelta(seconds=other), decimal.Decimal(mean)


def _returned() -> Any:
    return datetime.datetime.fromtimestamp(_mean_of_squares(_x()), datetime.UTC)


def _passed_on() -> Any:
    return _wait((_x() * 1e-9).max()), _wait(unit=0.0, seconds=(_x() * 1e-9).max())


def _of_classes() -> Any:
    return _Span((_x() + 1).mean()).days((_x() + 2).mean())


def _keys() -> Any:
    key = (_x() + 2).max()
    return json.dumps({key: 1})


def _library() -> Any:
    return statistics.pstdev([(_x() + 1).mean(), (_x() + 3).mean()])


def _formatted() -> Any:
    letter = "%c"
    return letter % (_x() + 65).astype(int).max()


def _unpacked() -> Any:
    pair = ((_x() + 1).mean(), (_x() + 3).mean())
    return timedelta(*pair)


def _in_a_loop() -> Any:
    total = (_x() * 0).sum()
    for k in range(3):
        total += (_x() * k).mean()
    return timedelta(seconds=total)


def _either() -> Any:
    x = _x()
    return decimal.Decimal((x * 3).sum()) if N else None


def _of_functions() -> Any:
    x = _x() + 1
    return [timedelta(seconds=s) for s in (np.std(x), np.sqrt(x.sum()), -x.max(), abs(x.min()))]


class _Clock:
    def __init__(self, x: Any) -> None:
        self.rate = (x + 1).mean()
        self.other: Any = None

    def span(self) -> timedelta:
        return timedelta(seconds=self.rate)


def _attributes() -> Any:
    clock = _Clock(_x())
    clock.other = clock.span(), (_x() + 2).mean()
    return timedelta(*clock.other[1:])


def _local_callable() -> Any:
    make: Callable[..., Any] = decimal.Decimal
    return make((_x() + 1).mean())


def _grown() -> Any:
    history, clock, by_name = [], _Clock(_x()), {}
    deeper: dict[str, list[Any]] = {"a": []}
    for _ in range(2):
        history.append((_x() + 1).mean())
        by_name["last"] = (_x() + 2).mean()
        deeper["a"].append(((_x() + 3).mean(), 1))
    clock.other = history
    history += [(_x() + 4).mean()]
    history.extend([(_x() + 5).mean(), 3.0])
    spans = [timedelta(seconds=s) for s in history]
    for s in history:
        spans.append(timedelta(seconds=s))
    return spans, timedelta(seconds=by_name["last"]), timedelta(seconds=deeper["a"][0][0])


def _comprehended() -> Any:
    means = [(_x() + i).mean() for i in range(3)]
    largest = {i: (_x() + i).max() for i in range(3)}
    return timedelta(seconds=means[1]), timedelta(seconds=largest[2])


def _generated() -> Any:
    def means() -> Any:
        for i in range(3):
            yield (_x() + i).mean()

    pairs = zip([(_x() + 1).mean()], [(_x() + 2).mean()], strict=True)
    return [timedelta(seconds=m) for m in means()], [timedelta(seconds=a) for a, _ in pairs]


def _chosen() -> Any:
    x = _x() + 1
    largest = max(x.mean(), x.min())
    first = sorted([x.mean(), x.max()])[0]
    either = x.mean() or 3
    return [timedelta(seconds=s) for s in (largest, first, either, np.ptp(x))]


def _by_keywords() -> Any:
    given = {"seconds": (_x() + 1).mean()}
    return timedelta(**{"seconds": (_x() + 1).mean()}), timedelta(**given)


@pytest.mark.parametrize(
    "program",
    [
        _direct,
        _variable,
        _returned,
        _passed_on,
        _of_classes,
        _keys,
        _library,
        _formatted,
        _unpacked,
        _in_a_loop,
        _either,
        _local_callable,
        _attributes,
        _of_functions,
        _grown,
        _comprehended,
        _generated,
        _chosen,
        _by_keywords,
    ],
)
def test_c_code_gets_numpys_scalars(program: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ours = program()
    monkeypatch.setitem(globals(), "np", numpy)
    assert ours == program()


def test_lines_at_a_prompt_and_cells_of_a_notebook() -> None:
    for cells in (
        ["s = x.mean()", "t = timedelta(seconds=s)"],
        ["def f(): return timedelta(seconds=s)", "s = x.mean(); s", "t = f()"],
        ["history = [x.mean()]", "t = timedelta(seconds=history[0])"],
    ):
        names = {"x": _x() + 1, "timedelta": timedelta, "__name__": "__main__"}
        for cell in cells:
            exec(compile(cell, "<stdin>", "exec"), names)
        assert names["t"] == timedelta(seconds=1.5 - 0.5 / N)


def test_functions_that_read_a_global() -> None:
    names = {"x": _x() + 1, "timedelta": timedelta, "__file__": "program.py"}
    program = """
def span():
    return timedelta(seconds=scale)

scale = x.mean()
again = scale + 1
t = span()
"""
    exec(compile(program, "program.py", "exec"), names)
    assert names["t"] == timedelta(seconds=1.5 - 0.5 / N)
    assert type(names["again"]) in _core.scalars


def test_calls_that_the_interpreter_has_specialized() -> None:
    def total(x: Any, axis: int | None) -> Any:
        return _core.reduce("sum", x, axis, False, x.dtype)

    for _ in range(100):
        total(_x().reshape(2, -1), 0)
    assert timedelta(seconds=total(_x() + 1, None)) == timedelta(seconds=1.5 * N - 0.5)


def test_arithmetic_stays_deferred() -> None:
    x = _x()
    mean = x.mean()
    spread = ((x - mean) ** 2).sum() / N
    assert (type(mean) in _core.scalars, type(spread) in _core.scalars) == (True, True)
    assert math.isclose(float(spread), 1 / 12, rel_tol=1e-3)


def test_histories_stay_deferred() -> None:
    history = []
    for i in range(3):
        history.append((_x() + i).mean())
    assert [type(m) in _core.scalars for m in history] == [True, True, True]
    template = "%.1f"
    assert template % history[2] == "2.5"
    assert round(sum(history), 3) == 4.5


def test_locals_keep_no_arrays_alive() -> None:
    def program() -> int:
        import sys

        x, unshared = _x(), object()
        timedelta(seconds=x.mean())
        return sys.getrefcount(x) - sys.getrefcount(unshared)

    program()
    assert program() == 0
