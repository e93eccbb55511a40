"""Settings of all tests.

Property tests use the same examples in every run; NUMELT_EXPLORE=1 searches for new ones. NUMELT_TEST_HOME is
the device on which new arrays are, except those that are made of other arrays.
"""

import gc
import os

import pytest
from hypothesis import settings

import numelt

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("NUMELT_EXPLORE") == "1" else "same")

if "NUMELT_TEST_HOME" in os.environ:
    numelt._core.put_new_arrays(os.environ["NUMELT_TEST_HOME"])


def pytest_collection_finish():
    """Leave the tests themselves, which are many objects, out of all garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def recorded():
    """Record all operations, also small ones, for tests that examine pending work."""
    before = numelt.config.at_once
    numelt.config.at_once = 0
    yield
    numelt.config.at_once = before


@pytest.fixture
def on_the_host(monkeypatch):
    """Run all work on the CPU, also in processes that are started, for tests of its memory and plans."""
    monkeypatch.setenv("NUMELT_ENGINE", "cpu")
    with numelt.engine("cpu"):
        yield


@pytest.fixture(params=["recorded", "at once"])
def recorded_and_at_once(request):
    """Run the test with recorded operations, and with small operations that run at once."""
    before = numelt.config.at_once
    if request.param == "recorded":
        numelt.config.at_once = 0
    else:
        for _ in range(8):
            float((numelt.arange(3.0) + 1)[0])
    yield
    numelt.config.at_once = before
