"""For tests of devices: programs in processes of their own, and a check of arrays that are put on one."""

import os
import subprocess
import sys
import textwrap

import numpy
import pytest

import numelt


def has_opencl():
    """Return whether an OpenCL device can be used here."""
    try:
        with numelt.engine("opencl"):
            return True
    except RuntimeError:
        return False


NEEDS_OPENCL = pytest.mark.skipif(not has_opencl(), reason="no OpenCL device: install pocl-opencl-icd")


def run(code, **settings):
    """Run a program in a process of its own; return the finished process."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMELT_")}
    for key in ("NUMELT_CACHE_DIR", "NUMELT_CONFIG"):
        if key in os.environ:
            kept[key] = os.environ[key]
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, env={**kept, **settings}, capture_output=True, text=True, timeout=300)


def check_homes(name):
    """Put arrays on the device of this name, and compare what is computed there with NumPy's values."""
    before = numelt._core.stats()["on_devices"]
    x = numelt.arange(100_000.0, device=name)
    y = numelt.asarray(numpy.arange(100_000.0)).to_device(f"{name}:0")
    assert x.device == y.device == (x + y).device == numelt.zeros_like(x).device == name
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
    assert numelt.sort(-x).device == x[x > 2].device == name
    with pytest.raises(ValueError, match="there is no device 99 here"):
        x.to_device(f"{name}:99")
    assert name in numelt.__array_namespace_info__().devices()
