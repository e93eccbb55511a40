"""Fixtures of the tests of the engine."""

import pytest

import numelt


@pytest.fixture
def unobserved():
    """Run operations at once, also if an explanation has been requested before."""
    numelt.config.at_once = numelt.config.at_once
    if numelt.config.at_once and not numelt._core.runs_at_once():
        pytest.skip("work is placed on devices, so that nothing runs at once")
