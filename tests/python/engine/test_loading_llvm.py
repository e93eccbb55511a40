"""LLVM is loaded when something is compiled, and takes no memory before."""

import os
import subprocess
import sys


def test_llvm_is_loaded_to_compile_and_then_rests(tmp_path):
    program = """
import time
import numelt as np
def resident():
    sizes, ours = [], False
    for line in open("/proc/self/smaps"):
        ours = "libnumelt_llvm" in line if "-" in line.split()[0] else ours
        sizes += [int(line.split()[1])] if ours and line.startswith("Rss:") else []
    return sum(sizes)
def program(f):
    x = np.linspace(0.0, 1.0, 1_000_000)
    for _ in range(200):
        if abs(float((f(x) * x + f(x + 1.0)).sum()) - expected) > 1e-3:
            raise SystemExit("wrong")
        if resident():
            return
expected = float((np.sin(np.linspace(0.0, 1.0, 1_000_000)) * np.linspace(0.0, 1.0, 1_000_000)).sum()
    + np.sin(np.linspace(1.0, 2.0, 1_000_000)).sum())
assert resident() == 0, "nothing was compiled"
program(np.sin)
assert resident() > 0, "never compiled"
# while it is being loaded, little of it is in memory as well: at rest, that lasts
calm, end = 0, time.monotonic() + 60.0
while calm < 20 and time.monotonic() < end:
    time.sleep(0.05)
    calm = calm + 1 if resident() < 8_000 else 0
assert calm == 20, resident()
expected = float((np.cos(np.linspace(0.0, 1.0, 1_000_000)) * np.linspace(0.0, 1.0, 1_000_000)).sum()
    + np.cos(np.linspace(1.0, 2.0, 1_000_000)).sum())
program(np.cos)
"""
    environment = os.environ | {"NUMELT_CACHE_DIR": str(tmp_path / "cache"), "NUMELT_JIT": "on"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
