"""Invalid input raises NumPy's exception type and text, at the line that caused it."""

import traceback

import numpy
import pytest

import numelt

from ..support.compare import outcome

pytestmark = pytest.mark.quick


CASES = {
    "shapes": lambda np: np.ones(3) + np.ones(4),
    "shapes 2d": lambda np: np.ones((3, 2)) * np.ones((2, 3)),
    "in place shapes": lambda np: np.ones(3).__iadd__(np.ones((2, 3))),
    "assign shapes": lambda np: np.ones(3).__setitem__(slice(None), np.ones(2)),
    "assign shapes 2d": lambda np: np.ones((3, 2)).__setitem__((slice(None), 0), np.ones(2)),
    "out shape": lambda np: np.add(np.ones(3), np.ones(3), out=np.ones(2)),
    "out dtype": lambda np: np.add(np.ones(3), np.ones(3), out=np.ones(3, int)),
    "in place cast": lambda np: np.ones(3, int).__iadd__(0.5),
    "in place divide": lambda np: np.ones(3, int).__itruediv__(2),
    "axis": lambda np: np.sum(np.ones(3), axis=1),
    "axis negative": lambda np: np.max(np.ones((2, 2)), axis=-3),
    "axis twice": lambda np: np.sum(np.ones((2, 2)), axis=(0, 0)),
    "axis method": lambda np: np.ones(3).mean(axis=2),
    "axis of cumsum": lambda np: np.cumsum(np.ones(3), axis=1),
    "axis of argmax": lambda np: np.argmax(np.ones(3), axis=1),
    "empty max": lambda np: np.max(np.ones(0)),
    "empty min axis": lambda np: np.ones((0, 2)).min(axis=0),
    "empty argmax": lambda np: np.argmax(np.ones(0)),
    "conjugate of text": lambda np: np.ones(3, "U").conj(),
    "conjugate of bytes": lambda np: np.ones(3, "S").conjugate(),
    "conjugate of dates": lambda np: np.ones(3, "M8[ns]").conj(),
    "delete through flat": lambda np: np.ones(3).flat.__delitem__(1),
    "refcheck": lambda np: np.eye(3).resize((2, 2), refcheck="hi"),
    "ndmax below ndmin": lambda np: np.array([[1]], ndmax=1, ndmin=2),
    "index": lambda np: np.ones(3)[3],
    "index negative": lambda np: np.ones(3)[-4],
    "index axis 1": lambda np: np.ones((2, 3))[0, 3],
    "too many indices": lambda np: np.ones(3)[0, 0],
    "index type": lambda np: np.ones(3)["a"],
    "index float": lambda np: np.ones(3)[1.0],
    "two ellipses": lambda np: np.ones((2, 2))[..., ...],
    "mask shape": lambda np: np.ones(3)[np.ones(2, bool)],
    "fancy index": lambda np: np.ones(3)[[0, 5]],
    "write read-only": lambda np: np.broadcast_to(np.ones(1), (3,)).__setitem__(0, 1),
    "write read-only whole": lambda np: np.broadcast_to(np.ones(1), (3,)).__iadd__(1),
    "reshape": lambda np: np.ones(3).reshape(2, 2),
    "reshape unknown": lambda np: np.ones(3).reshape(-1, 2),
    "reshape two unknown": lambda np: np.ones(4).reshape(-1, -1),
    "truth": lambda np: bool(np.ones(2)),
    "float": lambda np: float(np.ones(2)),
    "int": lambda np: int(np.ones((2, 2))),
    "index of array": lambda np: [1, 2][np.ones(2, int)],
    "len": lambda np: len(np.ones(())),
    "iterate": lambda np: list(np.array(1.0)),
    "matmul": lambda np: np.ones((2, 3)) @ np.ones((2, 3)),
    "matmul scalar": lambda np: np.ones((2, 3)) @ 2,
    "dot": lambda np: np.dot(np.ones(2), np.ones(3)),
    "concatenate": lambda np: np.concatenate([np.ones((2, 2)), np.ones((2, 3))]),
    "concatenate rank": lambda np: np.concatenate([np.ones(2), np.ones((2, 3))]),
    "concatenate nothing": lambda np: np.concatenate([]),
    "stack": lambda np: np.stack([np.ones(2), np.ones(3)]),
    "split": lambda np: np.split(np.ones(5), 2),
    "broadcast_to": lambda np: np.broadcast_to(np.ones(2), (3,)),
    "transpose": lambda np: np.ones((2, 2)).transpose(0, 0),
    "transpose axes": lambda np: np.transpose(np.ones((2, 2)), (0, 1, 2)),
    "squeeze": lambda np: np.squeeze(np.ones(2), axis=0),
    "bool subtract": lambda np: np.ones(2, bool) - np.ones(2, bool),
    "bool negative": lambda np: -np.ones(2, bool),
    "float bits": lambda np: np.ones(2) & 1,
    "float shift": lambda np: np.ones(2) << 1,
    "power": lambda np: np.arange(3) ** -1,
    "ragged": lambda np: np.array([[1, 2], [3]]),
    "dtype": lambda np: np.zeros(3, "nonsense"),
    "negative extent": lambda np: np.zeros(-1),
    "negative extent 2d": lambda np: np.empty((2, -1)),
    "overflow of number": lambda np: np.ones(2, "int8") + 300,
    "overflow of assignment": lambda np: np.ones(2, "uint8").__setitem__(0, 256),
    "huge": lambda np: np.zeros((2**40, 2**40)),
    "clip nothing": lambda np: np.clip(np.ones(2), 1),
    "where": lambda np: np.where(np.ones(2), np.ones(3), 0),
    "where two": lambda np: np.where(np.ones(2), 1),
    "arange": lambda np: np.arange(),
    "arange step": lambda np: np.arange(1, 5, 0),
    "linspace": lambda np: np.linspace(0, 1, -1),
    "unknown keyword": lambda np: np.add(1, 2, nonsense=3),
    "operands": lambda np: np.add(np.ones(2)),
    "cast": lambda np: np.ones(2).astype("int8", casting="safe"),
    "copyto": lambda np: np.copyto(np.ones(2, int), np.ones(2)),
    "setitem string": lambda np: np.ones(2).__setitem__(0, "a"),
    "setitem sequence": lambda np: np.ones(2).__setitem__(0, [1, 2]),
    "item": lambda np: np.ones(2).item(),
    "attribute": lambda np: np.ones(2).nonsense,
    "name": lambda np: np.nonsense_name,
    "removed name": lambda np: np.float_,
    "linalg": lambda np: np.linalg.inv(np.zeros((2, 2))),
    "linalg shape": lambda np: np.linalg.inv(np.ones(2)),
    "add other": lambda np: np.ones(2) + "a",
    "add none": lambda np: np.ones(2) + None,
    "hash": lambda np: hash(np.ones(2)),
    "set shape": lambda np: setattr(np.ones(4), "shape", (3,)),
    "repeat": lambda np: np.repeat(np.ones(2), -1),
    "unpack": lambda np: (lambda a, b: 0)(*np.ones(3)),
    "order": lambda np: np.zeros(2, order="Z"),
    "ddof keyword": lambda np: np.sum(np.ones(2), ddof=1),
}


def words(error):
    """Return the message with the name of the module replaced by NumPy's."""
    return str(error).replace("numelt._core.", "numpy.").replace("numelt", "numpy")


@pytest.mark.core
@pytest.mark.parametrize("name", CASES)
def test_same_error(name):
    kind, theirs = outcome(CASES[name], numpy)
    assert kind == "error", theirs
    kind, ours = outcome(CASES[name], numelt)
    assert kind == "error", f"numelt gives {ours!r}, NumPy raises {theirs!r}"
    assert type(ours) is type(theirs), f"{ours!r}, NumPy {theirs!r}"
    assert words(ours) == words(theirs)


def test_error_is_raised_at_its_line():
    x = numelt.ones(3)
    y = x + 1
    try:
        y + numelt.ones(2)  # the line
    except ValueError as error:
        frames = traceback.extract_tb(error.__traceback__)
        assert "# the line" in frames[0].line
    assert_later = numelt.sum(y)
    assert float(assert_later) == 6.0


def test_arrays_survive_an_error():
    x = numelt.arange(4.0)
    y = x * 2
    with pytest.raises(ValueError, match="broadcast"):
        y += numelt.ones(3)
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.parametrize("kind", ["divide", "over", "under", "invalid"])
def test_errstate_raise(kind):
    calls = {
        "divide": lambda np: np.ones(2) / np.zeros(2),
        "over": lambda np: np.full(2, 1e300) * np.full(2, 1e300),
        "under": lambda np: np.full(2, 1e-300) * np.full(2, 1e-300),
        "invalid": lambda np: np.zeros(2) / np.zeros(2),
    }
    with numelt.errstate(**{kind: "raise"}):
        _, theirs = outcome(calls[kind], numpy)
        got, ours = outcome(lambda np: numpy.asarray(calls[kind](np)), numelt)
    assert got == "error"
    assert type(ours) is type(theirs) is FloatingPointError
    assert str(ours) == str(theirs)


def test_errstate_warn():
    with numelt.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.asarray(numelt.ones(2) / numelt.zeros(2))


def test_errstate_ignore():
    with numelt.errstate(all="ignore"):
        assert numpy.isinf(numpy.asarray(numelt.ones(2) / numelt.zeros(2))).all()


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "fmax.reduce", "sum", "ptp"])
@pytest.mark.parametrize("shape", [(0,), (0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 2, 1)], ids=str)
def test_reductions_of_no_elements(name, shape):
    def call(np, axis):
        function = np
        for part in name.split("."):
            function = getattr(function, part)
        return numpy.asarray(function(np.zeros(shape), axis=axis))

    for axis in (None, *range(len(shape))):
        want, theirs = outcome(lambda np, axis=axis: call(np, axis), numpy)
        got, ours = outcome(lambda np, axis=axis: call(np, axis), numelt)
        assert got == want
        assert str(ours) == str(theirs)
