"""A child made by `os.fork` can compute, whatever the parent's other threads were doing at the fork.

Each program runs in a process of its own, and ends children that have not answered after a minute: a hang is
an error, but the time that a child takes is not tested.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

PROLOGUE = r"""
import os, signal, sys, threading, time
import numelt as np

def expect(pid, what):
    end = time.monotonic() + 60
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"{what} ended with {status}"
            return
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            print(what, "hangs", flush=True)
            os._exit(1)
        time.sleep(0.001)

def child(act):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if act() else 2
        finally:
            os._exit(code)
    return pid

def total(n, k):
    return float((np.arange(float(n)) * 2 + k).sum()) == n * (n - 1) + n * k

stop = False
def run(work):
    def loop():
        turn = 0
        while not stop:
            work(turn)
            turn += 1
    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    return thread
"""

# Work that releases the GIL in a flush (many elements), work that runs at once (few), library calls.
BUSY = r"""
a = np.arange(200_000.0)
m = np.ones((150, 150))
def work(turn):
    assert float(np.sqrt(a * 2 + turn).sum()) > 0
    x = np.arange(50.0) + turn
    assert float(x.sum()) == 1225 + 50 * turn
    assert (m @ m)[0, 0] == 150
threads = [run(work) for _ in range(3)]
for k in range(70):
    expect(child(lambda: total(300_000, k) and total(10, k)), f"child {k}")
stop = True
[thread.join() for thread in threads]
assert total(300_000, 1)
"""

# Each iteration needs a kernel that has not been seen before, so that the compiler's thread is always busy.
COMPILING = r"""
b = np.arange(40_000.0)
names = ["sqrt", "abs", "floor", "ceil", "square", "negative"]
def work(turn):
    x, code = b, turn
    for _ in range(9):
        x = getattr(np, names[code % 6])(x) + (turn if code % 2 else 1)
        code //= 6
    for _ in range(6):
        float(x.sum())
        x = x * 1.0
threads = [run(work)]
for k in range(60):
    def act():
        work(10_000_000 + 977 * k)
        return total(100_000, k)
    expect(child(act), f"child {k}")
stop = True
[thread.join() for thread in threads]
"""

GRANDCHILDREN = r"""
a = np.arange(500_000.0)
def work(turn):
    float((a * turn + 1).sum())
threads = [run(work) for _ in range(2)]
def act():
    # the child has threads of its own, too
    own = [run(work) for _ in range(2)]
    for k in range(4):
        expect(child(lambda: total(400_000, k)), f"grandchild {k}")
    global stop
    stop = True
    [thread.join() for thread in own]
    return total(400_000, 7)
for k in range(8):
    expect(child(act), f"child {k}")
stop = True
[thread.join() for thread in threads]
"""

POOLS = r"""
import multiprocessing
a = np.arange(300_000.0)
def work(turn):
    float((a * turn + 1).sum())
def task(k):
    return total(200_000, k)
threads = [run(work) for _ in range(2)]
signal.alarm(300)  # Pool.map has no limit of its own when a worker hangs at its start
for _ in range(5):
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert all(pool.map_async(task, range(24)).get(timeout=120))
stop = True
[thread.join() for thread in threads]
"""

# Values that are pending at the fork exist in both processes.
PENDING = r"""
for k in range(30):
    x = np.arange(150_000.0) + k
    y = x * 2
    pid = child(lambda: float(y[10]) == 20 + 2 * k and float(x.sum()) == 150_000 * (149_999 / 2 + k))
    assert float(y[149_999]) == 2 * (149_999 + k)
    expect(pid, f"child {k}")
"""


@pytest.mark.parametrize("settings", [{}, {"NUMELT_THREADS": "4", "NUMELT_AT_ONCE": "0"}])
@pytest.mark.parametrize("program", [BUSY, COMPILING, GRANDCHILDREN, POOLS, PENDING])
def test_children_of_a_busy_process_compute(tmp_path, program, settings):
    path = tmp_path / "program.py"
    path.write_text(PROLOGUE + program)
    # kernels that are in the cache are not compiled
    environment = os.environ | settings | {"NUMELT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "ignore", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
