"""Thousands of small programs of all kinds leave no memory in use."""

import subprocess
import sys
from pathlib import Path

from numelt import _core

sys.path.insert(0, str(Path(__file__).parents[3] / "benches"))
import leaks


def test_mixed_programs_leave_nothing_behind():
    leaks.iterate(600, seed=1)
    before = leaks.levels()
    leaks.iterate(3_000, seed=2)
    after = leaks.levels()
    assert after["objects"] - before["objects"] < 300, (before, after)
    assert after["resident"] - before["resident"] < 12e6, (before, after)
    assert after["live"] <= before["live"]


def test_kinds_one_by_one():
    for kind in leaks.KINDS:
        leaks.repeat(kind, 30)
        before = leaks.levels()
        leaks.repeat(kind, 90)
        after = leaks.levels()
        assert after["objects"] - before["objects"] < 60, (kind.__name__, before, after)
        assert after["live"] <= before["live"], (kind.__name__, before, after)


def test_the_pool_keeps_little_more_than_was_in_use():
    leaks.iterate(300, seed=3)
    pool = _core.stats()["pool"]
    figures = dict(
        part.split(": ") for part in pool.removeprefix("PoolStats { ").removesuffix(" }").split(", ")
    )
    peak, cached = int(figures["peak"]), int(figures["cached"])
    # plus a mebibyte, and things that are too small to be counted
    assert cached <= peak + max(peak // 16, 1 << 20) + (2 << 20)


def test_functions_leave_no_cycles_behind():
    """Cycles that calls leave for the garbage collector would keep arrays of the program alive, maybe for
    long."""
    program = """
import gc
import numelt as np
gc.collect()
gc.disable()
def work():
    kept = np.linspace(0.0, 1.0, 300_000)
    total = float(np.sum(np.abs(kept)))
    for bad in (
        lambda: np.no_such_name, lambda: np.sort(kept, axis=3), lambda: np.linalg.inv(kept),
        lambda: kept[kept.size],
    ):
        try:
            bad()
        except (AttributeError, ValueError, IndexError):
            pass
    for call in (np.sort, np.unique, np.fft.fft, np.median, np.cumsum, np.argmax):
        call(kept)
    with np.errstate(all="ignore"):
        kept / 0.0
    return total
work()
gc.set_debug(gc.DEBUG_SAVEALL)
gc.collect()
found = [thing for thing in gc.garbage if isinstance(thing, np.ndarray) or type(thing).__name__ == "frame"]
assert not found, found
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
