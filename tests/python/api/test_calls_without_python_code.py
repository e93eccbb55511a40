"""Calls that are answered without the package's Python code.

Python code takes a microsecond or more, several times what NumPy takes for a whole call. For each call, the
test compares the result with NumPy's and checks that no Python function of the package ran.
"""

import sys

import numpy
import pytest
from tests.python.support.compare import assert_same

import numelt

CALLS = """
np.empty(3, dtype=object); np.empty((2, 0), dtype="U3"); np.zeros(3, dtype=records); np.zeros(2, dtype="S3")
np.ones(2, dtype=object); np.full(3, "x"); np.full((2, 2), None, dtype=object); np.zeros_like(words)
np.array(["a", "bc"]); np.array([1, "x", None], dtype=object); np.array((1.5, None)); np.array(words)
np.asarray(words); np.asarray(table); np.array(table, copy=True); np.array([b"a", b"bcd"]); np.copy(words)
np.arange(0, 4, dtype="m8[s]"); np.array(["2020-01-01"], dtype="M8[D]"); np.array("text"); np.array(None)
words.copy(); words.tolist(); words[:2].tobytes(); objects.tolist(); words.flatten(); table.copy();
words[:1].item(); words[1:]; words[::-1, ]; words[1]; objects[0]; table["x"]; table[1]; table[-2:]
grid[0, :]; grid[1, 1]
np.float64(2.5) * a; np.float64(2.5) > a; np.int64(3) - a; np.float32(2) / a; np.complex128(1j) + a
np.float64(2.5) * a[::2]; np.float64(2) * m.T; np.int8(3) & i; a ** 2; i ** 2; m ** 0.5; z ** 2.0; a ** -1
a[i]; a[i[:0]]; a[i[::-1]]; m[i]; a[a > 0.5]; a.copy(); m.copy(); m.T.copy(); np.array(a); np.array(a[::2])
np.array(m.T); np.array(m, order="F"); np.copy(z)
np.add.at(large, (i, i), a[:3]); np.add.at(large, (i[:, None], i), 2.0); np.maximum.at(large, (i, -1), a[:3])
np.column_stack((a, a[::-1])); np.column_stack([m, a]); np.moveaxis(m, 0, -1); np.moveaxis(m, (0, 1), (1, 0))
np.add.reduce(a); np.add.accumulate(a); np.add.outer(a, i); np.add.nin; np.add.identity; np.add.signature
np.concatenate((table, table)); np.concatenate((words, ["x"])); np.stack((words, words))
square * square; np.asmatrix(square); square.I; np.matrix(m)
"""

MAKING = """
records = np.dtype([("x", "f8"), ("n", "i4"), ("s", "U3")])
words = np.array(["abc", "de", "f"])
objects = np.array([1, "x", None], dtype=object)
grid = np.array([["a", "b"], ["c", "d"]])
table = np.zeros(3, dtype=records)
a = np.array([0.25, 1.5, 2.0, 4.0])
i = np.array([2, 0, -1])
m = np.arange(12.0).reshape(4, 3)
z = np.array([1 + 2j, -3.5j])
large = np.zeros((200, 200))
square = np.matrix([[1.0, 2.0], [3.0, 4.0]])
"""


def _names(np):
    names = {"np": np}
    exec(MAKING, names)
    return names


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "call", [call.strip() for call in CALLS.replace("\n", ";").split(";") if call.strip()]
)
def test_no_python_function_of_the_package_runs(call):
    want = eval(call, _names(numpy))
    names = _names(numelt)
    code = compile(call, "a program", "eval")
    eval(code, names)
    ran = []

    def note(frame, event, _):
        if event == "call" and frame.f_globals.get("__name__", "").partition(".")[0] == "numelt":
            ran.append(
                frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name
            )

    sys.setprofile(note)
    try:
        got = eval(code, names)
    finally:
        sys.setprofile(None)
    assert not ran
    if call.startswith("np.empty"):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
    elif isinstance(want, (bytes, list, str, int)) or want is None:
        assert got == want
        assert type(got) is type(want)
    else:
        assert_same(got, want)


STORED = """
a[i] = b; a[i] = 2; a[i] = 2.5; a[a > 1] = 7; a[i[::-1]] = b[::-1]; k[i] = 5; k[i] = 2.5; k[i] = -1
a[i] = True; h[i] = 1e30; a[i] = float("nan"); a[i] = a[:3]; a[i[:0]] = b[:0]; a[i] = i; k[i] = 2**63 - 1
"""


@pytest.mark.parametrize(
    "statement", [one.strip() for one in STORED.replace("\n", ";").split(";") if one.strip()]
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:the matrix subclass")
def test_storing_by_position(statement):
    results = []
    for np in (numpy, numelt):
        names = _names(np)
        exec("b = np.array([9.0, 8.0, 7.0]); k = np.arange(4); h = np.ones(4, 'f4')", names)
        exec(statement, names)
        results.append([names[name].tolist() for name in "akh"])
    assert str(results[0]) == str(results[1])
