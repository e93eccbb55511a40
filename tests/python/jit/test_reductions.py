"""Reductions of array expressions in loops have the bits that they have without compilation."""

import contextlib
import importlib.util

import hypothesis
import numpy
import pytest
from hypothesis import strategies as st

import numelt as np
from numelt import _core
from numelt._jit import reporting

from .random_programs import outcome

pytestmark = pytest.mark.core

ARRAYS = [
    "x", "x * y", "x - y[k]", "(x - y) ** 2", "abs(x)", "-x", "np.sqrt(abs(x))", "x[1:]", "x[:3] + y[:3]",
    "np.maximum(x, y)", "x > y", "a[k]", "a[:, 1]", "a[k] * x[:4]", "(x > 0) & (y > 0)", "x / 3",
    "a.T[1]", "a",
]  # fmt: skip
REDUCTIONS = [
    "({}).sum()", "np.sum({})", "({}).mean()", "np.mean({})", "np.std({})", "({}).var()", "({}).max()",
    "np.min({})", "({}).any()", "np.all({})", "({}).argmax()", "np.argmin({})", "({}).prod()",
    "sum({})",
    "max({})", "min({})", "np.dot({}, x[:len({})])", "({0}) @ ({0})",
]  # fmt: skip
CASES = [reduction.replace("{0}", "{}").replace("{}", array) for reduction in REDUCTIONS for array in ARRAYS]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    lines = ["import numelt as np"]
    for number, case in enumerate(CASES):
        lines += [
            f"def f{number}(x, y, a, out):",
            "    for k in range(len(out)):",
            f"        out[k] = {case}",
        ]
        lines += ["    return out.sum()"]
    path = tmp_path_factory.mktemp("reductions") / "functions.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("reductions_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = [getattr(module, f"f{number}") for number in range(len(CASES))]
    return [(function, np.jit(function)) for function in written]


def made(dtype, length, seed):
    rng = numpy.random.default_rng(seed)
    values = (rng.normal(size=2 * length + 12) * 10).round(seed % 3)
    if seed % 5 == 0:
        values[rng.integers(0, len(values), 3)] = [numpy.nan, numpy.inf, -0.0]
    with numpy.errstate(invalid="ignore"):
        values = values.astype(dtype)
    x = values[: 2 * length : 2] if seed % 2 else values[:length]
    return [np.asarray(x), np.asarray(values[length : 2 * length]), np.asarray(values[-12:].reshape(3, 4))]


@hypothesis.given(
    st.sampled_from(["f8", "f8", "f4", "i8", "i4", "u1", "?"]),
    st.sampled_from([0, 1, 3, 4, 7, 8, 9, 17, 100, 128, 129, 136, 1000, 5000]),
    st.integers(0, 1000),
    st.integers(0, 10**6),
)
@hypothesis.settings(max_examples=150, deadline=None)
def test_reductions(functions, dtype, length, seed, which):
    numbers = [(which + 31 * k) % len(CASES) for k in range(12)]
    for number in numbers:
        function, compiled = functions[number]

        def arguments(dtype=dtype):
            return (*made(dtype, length, seed), np.zeros(3))

        wanted = outcome(function, arguments())
        assert outcome(compiled, arguments()) == wanted, CASES[number]


def test_most_of_them_are_compiled(functions):
    left = []
    for (function, _), case in zip(functions, CASES, strict=True):
        compiled = np.jit(function)
        with contextlib.suppress(ValueError):
            compiled(*made("f8", 100, 1), np.zeros(3))
        unit, _ = reporting.units(compiled)
        variants = unit.report()["variants"]
        gaps = [
            reason
            for variant in variants
            for _, reason, is_gap, taken in variant["exits"]
            if is_gap and taken
        ]
        if gaps or not variants:
            left.append((case, gaps, [why for *_, why, _ in unit.report()["refused"]]))
    # products of a bool, sums of two-dimensional expressions and the like
    assert len(left) < len(CASES) / 4, left


def test_long_arrays():
    @np.jit
    def norms(rows):
        out = np.zeros(len(rows))
        for k in range(len(rows)):
            out[k] = np.sqrt(np.sum(rows[k] * rows[k])) + (rows[k] - rows[0]).mean()
        return out

    rows = numpy.random.default_rng(0).normal(size=(20, 100_003))
    wanted = [numpy.sqrt(numpy.sum(row * row)) + (row - rows[0]).mean() for row in rows]
    assert norms(np.asarray(rows)).tolist() == wanted


def test_products_of_one_element_keep_the_sign_of_zero():
    def f(x, y, out):
        for k in range(len(x)):
            out[k] = np.dot(x[k:], y[k:])

    for last in (-1.0, 0.0, 2.0, -0.0):
        x, y = np.zeros(3), np.array([3.0, 2.0, last])
        wanted, got = np.ones(3), np.ones(3)
        f(x, y, wanted)
        np.jit(f)(x, y, got)
        assert numpy.asarray(got).tobytes() == numpy.asarray(wanted).tobytes()


def products_of_vectors(w, x, out):
    for i in range(len(w)):
        out[i, 0] = np.dot(w[i:], x[i:])
        out[i, 1] = w[i:] @ x[i:]


@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x[::-1], lambda x: x[::2], lambda x: x[:1].repeat(45)]
)
def test_dot_adds_in_the_order_of_numpy(view):
    w, memory = numpy.random.default_rng(9).normal(size=(2, 90)).round(2)
    x = view(memory)
    if not _core.runs_at_once():
        # a product that is recorded is one of contiguous copies, with sums in another order
        x = x.copy()
    broadcast = numpy.broadcast_to(memory[:1], len(x))
    compiled = np.jit(products_of_vectors)
    for other in (x, broadcast):
        wanted, got = numpy.zeros((2, len(x), 2))
        products_of_vectors(w[: len(x)], other, wanted)
        compiled(w[: len(x)], other, got)
        assert numpy.array_equal(got, wanted)
