"""The bench of single calls measures correctly, and names calls without a reason and needless reasons."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import numelt

sys.path.insert(0, str(Path(__file__).parents[3] / "benches"))
import calls


def row(name, ratio, size=3):
    return {
        "group": "single",
        "name": name,
        "size": size,
        "numpy_us": ratio,
        "numelt_us": 1.0,
        "ratio": ratio,
    }


def test_every_size_of_a_call_is_measured():
    found = calls.measure(numelt, 1, "np.trace(m)")
    single = [row for row in found if row["group"] == "single"]
    assert [row["size"] for row in single] == list(calls.SIZES)
    assert all(row["numpy_us"] > 0 and row["numelt_us"] > 0 for row in found)
    assert "np.trace(m)" in calls.page(found)


@pytest.mark.parametrize("np", [numpy, numelt])
def test_common_calls_run_and_assignments_return_their_target(np):
    for code in calls.SINGLE.replace("\n", ";").split(";"):
        if code.strip():
            run = calls.compiled(code.strip(), calls.single_operands(np, 3))
            assert run() is not None
    assert calls.compiled("a[i] = b", calls.single_operands(np, 3))().shape == (3,)


def test_reading_computes_all_arrays_of_a_result():
    program = (
        "import sys, numpy, numelt; sys.path.insert(0, 'benches'); import calls\n"
        "x = numelt.arange(100_000) * 1.5\n"
        "results = [x + 1, (x - 1, x * 2)]\n"
        "assert numelt._core.pending() > 0\n"
        "one = numpy.ones(1)\n"
        "calls.reader([one, (one, one)])(results)\n"
        "assert numelt._core.pending() == 0\n"
    )
    settings = {"NUMELT_AT_ONCE": "0", "NUMELT_MAX_PENDING": "1000"}
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program], env=os.environ | settings, cwd=root, check=True)


def test_slow_calls_want_a_reason_and_quick_ones_none(monkeypatch):
    monkeypatch.setattr(calls, "explanations", lambda: {"known": "why", "quick": "why", "gone": "why"})
    rows = [row("known", 0.5), row("new", 0.5), row("new", 2.0, 100), row("quick", 1.5), row("fine", 0.9)]
    assert calls.verdict(rows) == (["new"], ["quick", "gone"])
    assert "why" in calls.page(rows)


def test_reasons_name_calls_that_exist():
    modules = {"numpy": numpy, "numelt": numelt}
    makers = (calls.parity_rows, calls.single_rows, calls.surface_rows)
    names = {row.name for make in makers for row in make(modules)}
    assert set(calls.explanations()) <= names
