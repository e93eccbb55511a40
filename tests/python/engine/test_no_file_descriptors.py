"""Programs continue if no file descriptor is left: files that they need are not read at first use."""

import os
import subprocess
import sys

import pytest

BEFORE = """
import os, resource, sys
import numelt as np
x = np.arange(12.0).reshape(3, 4)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
"""
PROGRAM = """
def program(k):
    y = np.linspace(0.0, 1.0, 300_000) + k
    total = (np.sqrt(y) * 2).sum()
    return float(total), float(y.mean()), repr(x.sum()), round(x.sum(), 2), x @ x.T, np.median, x[x > k]
for k in range(3):
    result = program(k)
z = np.array([1.0, 2.0]) * 2
w = np.array(np.array([1.0, 2.0]) + z)
with np.errstate(all="ignore"):
    np.log(np.zeros(3) - 1)
np.lib.stride_tricks.sliding_window_view(x, 2, axis=0).sum(), np.pad(x, 1), np.sum(x, where=x > 3, initial=2)
assert abs(result[1] - 2.5) < 1e-9
print("done")
"""
AFTER = """
for descriptor in held:
    os.close(descriptor)
def other(k):
    y = np.linspace(0.0, 1.0, 300_000) + k
    return float((np.exp(y) * y - 3).sum())
for k in range(3):
    other(k)
print(any("numelt_llvm" in line for line in open("/proc/self/maps")))
"""


SLOWER = "kernels are not compiled, programs run slower: no file descriptor is left"


def run(program, **variables):
    environment = os.environ | {"NUMELT_CACHE_DIR": ""} | variables
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize("jit", ["off", "on", "sync"])
def test_no_descriptor_is_needed(jit):
    out, warning = run(BEFORE + PROGRAM, NUMELT_JIT=jit)
    assert out == ["done"]
    assert warning in {"", f"numelt: {SLOWER}\n"}


def test_kernels_are_compiled_once_there_are_descriptors_again():
    variables = {"NUMELT_JIT": "sync", "NUMELT_AT_ONCE": "0", "NUMELT_PIECEMEAL": "0"}
    out, warning = run(BEFORE + PROGRAM + AFTER, **variables)
    assert out == ["done", "True"]
    assert "no file descriptor is left" in warning
