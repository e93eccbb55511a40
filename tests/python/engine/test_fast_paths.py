"""Fast paths into numelt's own types: no other types are written to, and results do not depend on them."""

import os
import subprocess
import sys
import types

import numpy
import pytest

import numelt

# The fields of a type object that contain functions, as word offsets from its beginning: from `tp_dealloc` to
# `tp_as_buffer`, and `tp_richcompare`. `tp_as_number` points to 36 functions.
UNTOUCHED = """
import ctypes, types, numpy

def words(address, count):
    return list((ctypes.c_void_p * count).from_address(address))

def functions(cls):
    fields = words(id(cls), 26)
    numbers = words(fields[12], 36) if fields[12] else []
    return fields[6:21] + fields[25:] + numbers

scalars = {numpy.dtype(kind).type for kind in "?bBhHiIlLqQefdgFDGSUMmO"}
classes = [*scalars, numpy.ndarray, numpy.ufunc, numpy.generic, types.ModuleType, type, object]
before = [functions(cls) for cls in classes]
import numelt
numelt.random, numelt.fft, numelt.arange(3.0) + numpy.float64(2)
assert [functions(cls) for cls in classes] == before
assert type(numelt) is types.ModuleType
print("same")
"""

PROGRAM = """
import numpy, numelt
a = numelt.arange(1.0, 7.0)
m = a.reshape(2, 3)
b = a.copy()
b += 1
b[0] = 9.0
b[1:3] = m[0, 1]
parts = [a + b, 2.0 * a, a / b, -a, m[1], m.T, m.ravel(), a[2], b.astype("f4"), numelt.sort(b),
         numelt.sqrt(a), numelt.add(a, b), numelt.zeros(3), numelt.array([1, 2]), a.tolist(), m.squeeze(),
         a.item(1), a.sum(), m.shape, numpy.float64(2) * a, a.take(1), numelt.ndarray.mean(a),
         numelt.linalg.norm(m), numelt.random.default_rng(1).normal()]
print(numelt.show_config("dicts")["numelt"]["fast_paths"])
for part in parts:
    print(type(part).__name__, numpy.asarray(part).tolist())
for wrong in (lambda: a.reshape(4), lambda: a.ravel(1, 2, 3), lambda: numelt.zeros(), lambda: a + b[:2]):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__, error)
"""


def run(program, paths=None):
    """Return what a process prints with other fast paths."""
    environment = {**os.environ, **({} if paths is None else {"NUMELT_FAST_PATHS": paths})}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )


def test_types_of_others_are_untouched():
    done = run(UNTOUCHED, "1")
    assert done.stdout == "same\n", done.stderr


def test_modules_look_up_their_names_as_ever():
    module = types.ModuleType("module")
    module.__late__ = lambda name: 1
    with pytest.raises(AttributeError, match="module 'module' has no attribute 'x'"):
        module.x
    assert type(numelt) is types.ModuleType
    assert numelt.random is numelt.random
    assert "random" in vars(numelt)


def test_results_are_the_same_without():
    expected = run(PROGRAM, "1").stdout.splitlines()
    assert expected[0] == "['slots', 'calls', 'objects', 'functions']"
    assert len(expected) == 29
    for paths, listed in (
        ("0", "[]"),
        ("slots", "['slots']"),
        ("objects, calls", "['calls', 'objects']"),
        ("functions", "['functions']"),
    ):
        found = run(PROGRAM, paths)
        assert found.stdout.splitlines() == [listed, *expected[1:]], found.stderr


def test_a_wrong_setting_is_refused():
    done = run("import numelt", "fast")
    assert done.returncode == 1
    assert (
        'NUMELT_FAST_PATHS: "fast" is not 0, 1 or names out of slots, calls, objects, functions'
        in done.stderr
    )


def test_the_configuration_lists_them(capsys):
    paths = numelt.show_config("dicts")["numelt"]["fast_paths"]
    numelt.show_config()
    assert f"fast paths: {', '.join(paths) or 'none'}" in capsys.readouterr().out


def test_numbers_of_numpys_on_the_left_go_numpys_way():
    """The array's `__array_ufunc__` is called, and returns the array class."""
    a = numelt.arange(3.0)
    product = numpy.float64(2) * a
    assert type(product) is numelt.ndarray
    assert product.tolist() == [0, 2, 4]
    assert (numpy.int64(1) < a).tolist() == [False, False, True]
