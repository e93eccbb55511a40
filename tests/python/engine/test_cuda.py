"""NVIDIA devices: clear messages if there is none, and programs that still run.

``make gpu-check`` runs the core tests on a device; scripts/gpu_check.py describes how.
"""

import os
import subprocess
import sys
import textwrap

import numpy
import pytest

import numelt


def has_device():
    """Return whether a CUDA device can be used here."""
    try:
        with numelt.engine("cuda"):
            return True
    except RuntimeError:
        return False


WITHOUT_DEVICE = pytest.mark.skipif(has_device(), reason="there is a CUDA device")
NEEDS_DEVICE = pytest.mark.skipif(not has_device(), reason="no CUDA device")


def run(code, **settings):
    """Run a program in a process of its own; return the finished process."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMELT_")}
    for key in ("NUMELT_CACHE_DIR", "NUMELT_CONFIG"):
        if key in os.environ:
            kept[key] = os.environ[key]
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, env={**kept, **settings}, capture_output=True, text=True, timeout=300)


PROGRAM = """
    import numelt
    print(float((numelt.arange(1e5) + 1).sum()), numelt.config.engine)
"""


@WITHOUT_DEVICE
def test_the_setting_without_a_device_says_so_once_and_programs_run():
    done = run(PROGRAM, NUMELT_ENGINE="cuda")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "5000050000.0 cpu\n"
    assert done.stderr.count("numelt: cuda: ") == 1
    assert done.stderr.endswith("; programs run on the CPU\n")


@WITHOUT_DEVICE
def test_asking_for_it_in_a_program_is_an_error_that_says_what_is_missing():
    with pytest.raises(RuntimeError, match="cuda: there is no "):
        numelt.use("cuda")
    with pytest.raises(RuntimeError, match="cuda: there is no "), numelt.engine("cuda"):
        pass
    assert float((numelt.arange(1e5) + 1).sum()) == 5000050000.0


@WITHOUT_DEVICE
def test_auto_does_without_it_and_says_nothing():
    done = run(PROGRAM, NUMELT_ENGINE="auto")
    assert (done.returncode, done.stdout, done.stderr) == (0, "5000050000.0 auto\n", "")


@NEEDS_DEVICE
def test_programs_run_on_the_device():
    with numelt.engine("cuda"):
        before = numelt._core.stats()["on_devices"]
        x = numelt.arange(100_000.0)
        assert float((numelt.sqrt(x) ** 2 + x).sum()) > 0
        assert numelt._core.stats()["on_devices"] > before


@NEEDS_DEVICE
def test_arrays_are_put_on_the_device():
    before = numelt._core.stats()["on_devices"]
    x = numelt.arange(100_000.0, device="cuda")
    y = numelt.asarray(numpy.arange(100_000.0)).to_device("cuda:0")
    assert x.device == y.device == (x + y).device == numelt.zeros_like(x).device == "cuda"
    for _ in range(5):
        x = numelt.sqrt(x + y)
        y[1:] = x[:-1]
    assert numelt._core.stats()["on_devices"] > before
    real_x = real_y = numpy.arange(100_000.0)
    real_y = real_y.copy()
    for _ in range(5):
        real_x = numpy.sqrt(real_x + real_y)
        real_y[1:] = real_x[:-1]
    assert x.to_device("cpu").tobytes() == real_x.tobytes()
    assert numelt.from_dlpack(y, device="cpu").tobytes() == real_y.tobytes()
    assert numelt.sort(-x).device == x[x > 2].device == "cuda"
    with pytest.raises(ValueError, match="there is no device 99 here"):
        x.to_device("cuda:99")
    assert "cuda" in numelt.__array_namespace_info__().devices()
