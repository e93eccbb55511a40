"""Property tests try the same examples in every run; NUMELT_EXPLORE=1 looks for new ones."""

import os

import pytest
from hypothesis import settings

import numelt

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("NUMELT_EXPLORE") == "1" else "same")


@pytest.fixture
def recorded():
    """Have everything recorded, however small: for tests that look at what is pending."""
    before = numelt.config.at_once
    numelt.config.at_once = 0
    yield
    numelt.config.at_once = before


@pytest.fixture
def on_the_host(monkeypatch):
    """Have all work run on the CPU, in started processes as well: for its memory and its plans."""
    monkeypatch.setenv("NUMELT_ENGINE", "cpu")
    with numelt.engine("cpu"):
        yield


@pytest.fixture(params=["recorded", "at once"])
def recorded_and_at_once(request):
    """Do all of it while operations are recorded, and while small ones run at once."""
    before = numelt.config.at_once
    if request.param == "recorded":
        numelt.config.at_once = 0
    else:
        for _ in range(8):
            float((numelt.arange(3.0) + 1)[0])
    yield
    numelt.config.at_once = before
