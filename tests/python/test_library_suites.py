"""What the test-suites of installed libraries found: each cause with a short program of its own."""

import sys
from typing import Any

import numpy
import pytest

import numelt

from .compare import assert_same


def _locals_of(error: BaseException) -> list[tuple[str, set[str]]]:
    """Return name and local variables of every frame, as debuggers and test runners ask for them."""
    seen = []
    traceback = error.__traceback__
    while traceback is not None:
        seen.append((traceback.tb_frame.f_code.co_name, set(traceback.tb_frame.f_locals)))
        traceback = traceback.tb_next
    return seen


def test_frames_of_adapted_closures_can_be_looked_at() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="Lengths must match") as caught:
        pandas.Series(numelt.arange(2)) < pandas.Index(numelt.arange(3))  # noqa: B015
    seen = _locals_of(caught.value)
    assert ("__lt__", {"self", "other"}) in seen
    assert len([name for name, _ in seen if name == "__lt__"]) == 2
