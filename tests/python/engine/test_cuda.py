"""NVIDIA devices: clear messages if there is none, and programs that still run.

``make gpu-check`` runs the core tests on a device; scripts/gpu_check.py describes how.
"""

import pytest

import numelt

from ..support.devices import check_homes, run


def has_device():
    """Return whether a CUDA device can be used here."""
    try:
        with numelt.engine("cuda"):
            return True
    except RuntimeError:
        return False


WITHOUT_DEVICE = pytest.mark.skipif(has_device(), reason="there is a CUDA device")
NEEDS_DEVICE = pytest.mark.skipif(not has_device(), reason="no CUDA device")


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
    check_homes("cuda")
