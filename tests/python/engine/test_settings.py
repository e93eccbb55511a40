"""Settings that are changed while a program runs (`numelt.config`)."""

from __future__ import annotations

import pytest

import numelt as np


def test_no_folder_means_the_default_folder() -> None:
    before = np.config.cache_dir
    try:
        np.config.cache_dir = None
        assert np.config.cache_dir == ""
        assert float((np.arange(5.0) * 3).sum()) == 30
    finally:
        np.config.cache_dir = before


@pytest.mark.parametrize("value", [None, "many"])
def test_a_value_that_does_not_fit_is_refused_by_name(value: object) -> None:
    before = np.config.threads
    with pytest.raises(ValueError, match=r"numelt\.config\.threads: .* is not a number of threads"):
        np.config.threads = value
    assert np.config.threads == before
