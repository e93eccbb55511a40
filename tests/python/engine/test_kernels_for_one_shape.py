"""Kernels compiled for one geometry: the same bits in every mode, and only if a geometry recurs."""

import numpy
import pytest

import numelt as np


@pytest.fixture
def mode():
    """Set which code runs and compile before it does; the previous setting is restored."""
    before = np.config.variants, np.config.jit, np.config.at_once
    # operations on few elements would run at once, without a kernel
    np.config.jit, np.config.at_once = "sync", 0

    def choose(name):
        np.config.variants = name
        np._core.reset_stats()

    yield choose
    np.config.variants, np.config.jit, np.config.at_once = before


def rows(xp, dtype, inner):
    """Return several results on rows of ``inner`` elements."""
    a = xp.arange(40 * inner).reshape(40, inner).astype(dtype)
    column = xp.arange(40).astype(dtype).reshape(40, 1)
    padded = xp.arange(40 * (inner + 3)).reshape(40, inner + 3).astype(dtype)
    row = a[3] * 1
    out = padded.copy()
    out[:, 1:-2] = (a - row) * column + padded[:, 2:-1]
    return out, (a * column).sum(axis=1), xp.where(a > row, a, column), (a * row) == column


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "c16"])
@pytest.mark.parametrize("inner", [2, 3, 5, 19])
def test_fixed_code_has_the_same_bits(mode, dtype, inner):
    want = rows(numpy, dtype, inner)
    for name in ("dynamic", "fixed", "selected"):
        mode(name)
        for got, expected in zip(rows(np, dtype, inner), want, strict=True):
            assert numpy.asarray(got).tobytes() == expected.tobytes(), name
        assert (np._core.stats()["variants_compiled"] > 0) == (name == "fixed")


def test_shrinking_views_compile_no_variants(mode):
    mode("selected")
    for _ in range(20):
        a = np.arange(1.0, 401.0).reshape(20, 20) + 20 * np.eye(20)
        for c in range(1, 20):
            a[c:, c - 1 :] -= (a[c:, c - 1] / a[c - 1, c - 1])[:, None] * a[c - 1, c - 1 :]
        np.flush()
    assert np._core.stats()["variants_compiled"] == 0


def test_an_unknown_mode_is_an_error():
    with pytest.raises(ValueError, match="dynamic, fixed or selected"):
        np.config.variants = "some"
