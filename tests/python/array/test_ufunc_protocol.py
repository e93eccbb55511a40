"""``__array_ufunc__`` of classes of the program that are not arrays: what they are called with."""

import re
from typing import Any

import numpy
import pytest

import numelt

CLASSES = """
class Plain:
    def __init__(self, name): self.name = name
    def __repr__(self): return self.name
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        asked.append((self.name, ufunc is np.add, method, [type(v).__name__ for v in inputs], sorted(kwargs)))
        return NotImplemented if self.name == "refusing" else self
class Derived(Plain): pass
class Other:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.get("out", (None,))[0]
        asked.append(("other", ufunc is np.add, type(out).__name__, [v is out for v in inputs]))
        return kwargs["out"][0] if "out" in kwargs else NotImplemented
class Mixed(np.lib.mixins.NDArrayOperatorsMixin):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        asked.append((ufunc is np.add, method, len(inputs), sorted(kwargs)))
        return self
class Registered(Mixed, abc.ABC): pass
x = np.arange(3.0)
"""

CALLS = [
    "np.add(Plain('p'), 1)",
    "np.add(x, Plain('p'))",
    "x + Plain('p')",
    "x == Plain('p')",
    "np.arange(100000.0) + Plain('p')",
    "np.add(Plain('p'), 1, x)",
    "np.add(1, Plain('p'), where=x > 1)",
    "np.add(x, x, out=Plain('p'))",
    "np.add.reduce(Plain('p'), 0)",
    "np.add.accumulate(Plain('p'))",
    "np.add.outer(x, Plain('p'))",
    "np.add.at(Plain('p'), [1], 2)",
    "np.add(x, Other(), out=x) is x",
    "np.add(Plain('refusing'), Derived('d'))",
    "np.add(Plain('refusing'), Other())",
    "x + Plain('refusing')",
    "Mixed() + 1",
    "1 + Mixed()",
    "x + Registered()",
    "np.float64(1) + Mixed()",
    "np.sum(Mixed())",
    "-Mixed()",
    "operator.iadd(x, Mixed())",
    "isinstance(Mixed(), np.lib.mixins.NDArrayOperatorsMixin)",
]


def _outcome(module: Any, call: str) -> Any:
    space: dict[str, Any] = {"np": module, "asked": []}
    exec("import abc, operator\n" + CLASSES, space)
    try:
        made = repr(eval(call, space))
    except TypeError as error:
        made = f"TypeError: {error}"
    return re.sub("0x[0-9a-f]+", "", made), space["asked"]


@pytest.mark.core
@pytest.mark.parametrize("call", CALLS)
def test_classes_are_called_with_the_ufunc_of_the_namespace(call: str) -> None:
    assert _outcome(numelt, call) == _outcome(numpy, call)
