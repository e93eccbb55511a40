"""Forks, and the end of the interpreter, while the tests' device works or has values."""

import os

import pytest

from .test_devices import CHANCE, FAR, PLACES, run
from .test_devices import pytestmark as pytestmark

FORKS = """
    import os, signal, sys
    import numelt as np
    x = np.arange(300_000.0)
    def same(a, b):
        return float(a.sum()) == b
    for turn in range(10):
        y = np.sqrt(x * x) + turn
        if turn % 2:
            np.flush()  # in flight on the device; otherwise recorded
        pid = os.fork()
        total = 300_000 * 299_999 / 2 + 300_000 * turn
        right = same(y, total) and same(y + 1, total + 300_000) and same(np.ones(10) * 3, 30.0)
        if pid == 0:
            os._exit(0 if right else 3)
        assert right
        assert os.waitpid(pid, 0)[1] == 0, turn
    print("done", np._core.stats()["on_devices"] > 0)
"""


@PLACES
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forks_while_work_is_in_flight(settings):
    assert run(FORKS, settings) == "done True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_uses_a_device_of_its_own():
    code = """
        import os
        import numelt as np
        x = np.arange(1000.0) + 1
        np.flush()
        np._core.reset_stats()
        pid = os.fork()
        if pid == 0:
            np.use("far")
            before = np._core.stats()["on_devices"]
            right = float((x * 2).sum()) == 1001000.0
            os._exit(0 if right and np._core.stats()["on_devices"] > before else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert float((x * 2).sum()) == 1001000.0
    """
    run(code, FAR)


@PLACES
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_multiprocessing_forks(settings):
    code = """
        import multiprocessing
        import numelt as np
        x = np.arange(50_000.0) * 2
        np.flush()
        def work(k):
            return float((x + k).sum())
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            results = pool.map(work, range(6))
        assert results == [50_000 * 49_999 + 50_000 * k for k in range(6)], results
        assert work(1) == results[1]
        print("done")
    """
    assert run(code, settings) == "done\n"


@pytest.mark.parametrize("turn", range(20))
def test_the_interpreter_ends_while_the_device_works(turn):
    code = f"""
        import threading
        import numelt as np
        x = np.arange(200_000.0)
        kept = [np.sqrt(x + k) for k in range(30)]
        np.flush()
        if {turn} % 3 == 1:
            y = kept[0] + 1  # recorded
        if {turn} % 3 == 2:
            def work():
                for _ in range(10):
                    np.sqrt(x).sum() + 1
                    np.flush()
            threading.Thread(target=work).start()
        print("end")
    """
    assert run(code, CHANCE if turn % 4 == 3 else FAR) == "end\n"
