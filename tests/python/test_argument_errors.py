"""What NumPy's functions say of the number and the names of arguments, as with NumPy."""

import numpy
import pytest

import numelt

FUNCTIONS = [
    "bincount", "busday_count", "busday_offset", "can_cast", "concatenate", "copyto", "datetime_as_string",
    "dot", "inner", "is_busday", "lexsort", "may_share_memory", "min_scalar_type", "packbits", "putmask",
    "ravel_multi_index", "result_type", "shares_memory", "unpackbits", "unravel_index", "vdot", "where",
    "median", "interp", "unique", "searchsorted", "einsum",
]  # fmt: skip

CALLS = [
    "f()",
    "f(x, nothing=1)",
    "f(x, x, x, x, x, x, x, x, x, x)",
    "f(x, 1.5)",
    "f('no', x)",
    "f(None, None)",
    "f(a=x, mask=x, values=x)",
]


def said(np, name, call):
    """Return what a call raises: its class, and its words."""
    try:
        eval(call, {"f": getattr(np, name), "x": np.array([1.5, 2.5, 3.5])})
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_same_words(name, call):
    assert said(numelt, name, call) == said(numpy, name, call)


class Claiming:
    """Answers functions of NumPy's itself."""

    def __array_function__(self, function, types, args, kwargs):
        return function.__name__


@pytest.mark.parametrize("np", [numpy, numelt], ids=["numpy", "numelt"])
def test_other_classes_are_asked(np):
    x = np.array([1, 2])
    assert np.bincount(x, Claiming()) == "bincount"
    assert np.lexsort((x, Claiming())) == "lexsort"
    assert np.where(x, x, Claiming()) == "where"
    assert np.packbits(Claiming()) == "packbits"
