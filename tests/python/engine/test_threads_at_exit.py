"""Programs that end while daemon threads compute: they end as they do with NumPy.

Before 3.14, CPython unwinds the stack of a daemon thread that asks for the GIL too late, and Rust aborts the
process then.
"""

import subprocess
import sys

import pytest

#: Each thread is in one of our calls, and there in Python code or in NumPy's, nearly all of the time.
PROGRAM = """
import random, sys, threading, time
import numelt as np

sys.setswitchinterval(1e-5)

def work():
    while True:
        {work}

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
end = time.monotonic() + 0.05 + 0.1 * random.random()
a = np.arange(1000.0)
while time.monotonic() < end:
    a * 2
"""

WORK = {
    "draws": "a = np.random.rand(20000); float((a * 2 + 1).sum())",
    "library": "a = np.ones((100, 5)); np.linalg.norm(a, axis=1); np.sort(a); np.linalg.svd(a[:5])",
    "composed": "a = np.ones((100, 5)); np.median(a, axis=0); np.histogram(a); np.unique(a)",
    "callbacks": "np.apply_along_axis(sum, 0, np.ones((5, 5))); np.vectorize(lambda x: x + 1)(np.ones(10))",
    "text": "repr(np.ones((3, 5)))",
}

ROUNDS = 4


@pytest.mark.parametrize("work", WORK)
def test_daemon_threads(work):
    """Without the mend, nearly each of these programs ended by SIGABRT or SIGSEGV."""
    command = [sys.executable, "-c", PROGRAM.format(work=WORK[work])]
    for _ in range(ROUNDS):
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stderr) == (0, "")
