"""Arithmetic of complex numbers in loops has the bits of Python's numbers and of NumPy's scalars."""

import importlib.util
import sys
import warnings

import numpy
import pytest

import numelt as np
from numelt._jit import reporting

pytestmark = pytest.mark.core

EXPRESSIONS = [
    "a + b", "a - b", "a * b", "a / b", "a**2", "a**3", "a**5", "a**7", "b**2 - a", "2 * a", "a * 2.5",
    "a + 1", "1 - a", "a / 2", "3 / a", "a - 0.0", "0.0 - a", "a + 0.0", "-a", "abs(a)", "a.real * b.imag",
    "a.conjugate()", "a == b",
]  # fmt: skip
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, 1e-300, 1e300, 1e160, -3e-5]
COUNT = 2000


def numbers(seed):
    """Return complex numbers: many simple ones and zeros first, large ones last."""
    rng = numpy.random.default_rng(seed)
    made = rng.normal(size=COUNT) + 1j * rng.normal(size=COUNT)
    made[:400] = rng.choice(SPECIAL[:5], 400) + 1j * rng.choice(SPECIAL[:5], 400)
    made[:400].imag *= rng.choice([1.0, -1.0], 400)
    made[-200:] = rng.choice(SPECIAL, 200) + 1j * rng.choice(SPECIAL, 200)
    return made


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    lines = []
    for number, expression in enumerate(EXPRESSIONS):
        for kind, element in (("python", ".item(i)"), ("numpy", "[i]")):
            lines += [
                f"def {kind}{number}(xs, ys, out):",
                "    for i in range(len(xs)):",
                f"        a = xs{element}",
                f"        b = ys{element}",
                f"        out[i] = {expression}",
            ]
    path = tmp_path_factory.mktemp("complex") / "functions.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("complex_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["python", "numpy"])
@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_arithmetic(functions, kind, number):
    function = getattr(functions, f"{kind}{number}")
    compiled = np.jit(function)
    xs, ys = numbers(number), numbers(100 + number)
    ys[ys == 0] = 1
    if "/ a" in EXPRESSIONS[number]:
        xs[xs == 0] = 1
    outcomes = []
    for run, pack in ((function, numpy.array), (compiled, np.array)):
        out = numpy.zeros(COUNT, complex)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run(pack(xs), pack(ys), out)
            except OverflowError as error:
                outcomes.append((str(error), out.tobytes()))
            else:
                outcomes.append(("", out.tobytes()))
    assert outcomes[0] == outcomes[1]
    unit, _ = reporting.units(compiled)
    report = unit.report()
    if kind == "numpy" and EXPRESSIONS[number] in ("a**5", "a**7"):
        # compiled code has no such power, and does not run for the rest of the iteration
        assert not report["variants"]
        assert "power" in report["refused"][0][2]
    elif kind == "python" and EXPRESSIONS[number] in ("a / 2", "3 / a") and sys.version_info >= (3, 14):
        # from 3.14 on, Python does not convert the real number, and compiled code leaves the quotient to it
        assert not report["variants"]
        assert report["refused"][0][2] == "this operator on a complex number and a real one"
    else:
        assert [variant["runs"] for variant in report["variants"]] == [1]
