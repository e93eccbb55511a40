"""Pickles are exchanged between programs on numelt, programs on NumPy alone, and libraries in either."""

import copy
import pickle
import subprocess
import sys

import numpy
import pytest

import numelt

ARRAYS = {
    "dense": "np.arange(12.0).reshape(3, 4)",
    "fortran": "np.asfortranarray(np.arange(12.0).reshape(3, 4))",
    "turned": "np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)",
    "gaps": "np.arange(12, dtype='i2')[::-2]",
    "empty": "np.zeros((0, 3), 'f4')",
    "nought": "np.array(3 + 1j)",
    "truths": "np.arange(5) > 2",
    "objects": "np.array([1, 'a', None, (2,)], dtype=object)",
    "text": "np.array(['ab', 'c'])",
    "records": "np.array([(1, 2.5)], dtype=[('a', 'i4'), ('b', 'f8')])",
    "dates": "np.array(['2001-01-01'], 'M8[D]')",
    "swapped": "np.arange(3, dtype='>f8')",
    "longlong": "np.arange(3, dtype='q')",
    "read-only": "np.broadcast_to(np.arange(3.0), (2, 3))",
    "inside": "[np.arange(2.0), {'b': np.ones(2)}][1]['b']",
}
NAMES = [
    "add", "mean", "sum", "where", "reshape", "zeros", "asarray", "ndarray", "ufunc", "linalg.norm",
    "fft.fft", "sort", "float64", "nanmean", "char.upper", "polynomial.polynomial.polyval", "vectorize",
    "ndarray.sum", "random.Generator", "random.default_rng",
]  # fmt: skip
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)

WRITER = f"""
import pickle, sys
import numpy as np
values = {{name: eval(text) for name, text in {ARRAYS!r}.items()}}
names = [name for name in {NAMES!r} if name.islower() and name not in ("vectorize", "ndarray.sum")]
values |= {{name: eval("np." + name) for name in names}}
values["generator"] = np.random.default_rng(3)
values["state"] = np.random.RandomState(3)
for protocol in {list(PROTOCOLS)}:
    for name, value in values.items():
        pickle.dump((name, pickle.dumps(value, protocol)), sys.stdout.buffer)
"""
READER = """
import pickle, sys
import numpy as np
def told(value):
    if isinstance(value, np.ndarray):
        flags = value.flags
        return (type(value) is np.ndarray, str(value.dtype), value.shape, value.strides, flags.writeable,
                flags.owndata, flags.c_contiguous, value.tolist())
    if isinstance(value, np.random.Generator):
        return type(value) is np.random.Generator, value.random(3).tolist()
    if isinstance(value, np.random.RandomState):
        return type(value) is np.random.RandomState, value.rand(3).tolist(), value.randn(3).tolist()
    return getattr(value, "__name__", None)
results = []
while True:
    try:
        name, data = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    value = pickle.loads(data)
    same = "." not in name and getattr(np, name, None) is value
    results.append((name, told(value), same))
pickle.dump(results, sys.stdout.buffer)
"""
ALONE = "import sys\nsys.modules['numelt'] = None\n"


def run(tmp_path, source, on_numelt, given=b""):
    """Run a program; one without the launcher cannot import numelt."""
    path = tmp_path / "program.py"
    path.write_text(source if on_numelt else ALONE + source)
    command = [sys.executable, *(["-m", "numelt"] if on_numelt else []), str(path)]
    done = subprocess.run(command, input=given, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return [run(tmp_path_factory.mktemp("written"), WRITER, on_numelt) for on_numelt in (False, True)]


@pytest.mark.parametrize("reader", [False, True])
def test_programs_read_each_others_pickles(tmp_path, written, reader):
    expected = pickle.loads(run(tmp_path, READER, False, written[0]))
    for data in written:
        got = pickle.loads(run(tmp_path, READER, reader, data))
        for ours, theirs in zip(got, expected, strict=True):
            # which function a pickle of NumPy's names is NumPy's in both
            fair = data is not written[0] or not reader or theirs[1] is not None
            assert ours[:2] == theirs[:2]
            assert ours[2] == theirs[2] or not fair or type(theirs[1]) is str


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_names_are_the_same_objects_again(name, protocol):
    value = numelt
    for part in name.split("."):
        value = getattr(value, part)
    assert pickle.loads(pickle.dumps(value, protocol)) is value
    assert copy.copy(value) is value


@pytest.mark.parametrize("text", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_state_and_reconstruction(text, protocol):
    ours, theirs = eval(text, {"np": numelt}), eval(text, {"np": numpy})
    assert ours.__reduce__()[2][1:] == theirs.__reduce__()[2][1:]
    made, expected = ours.__reduce_ex__(protocol), theirs.__reduce_ex__(protocol)
    assert [type(part) for part in made[1:]] == [type(part) for part in expected[1:]]
    assert len(made[1]) == len(expected[1])
    assert type(made[0](*made[1])) is numelt.ndarray
    filled = numelt.zeros(7)
    filled.__setstate__(theirs.__reduce__()[2])
    expected = numpy.zeros(7)
    expected.__setstate__(theirs.__reduce__()[2])
    assert filled.tolist() == expected.tolist()
    assert (filled.dtype, filled.shape, filled.strides) == (expected.dtype, expected.shape, expected.strides)
    assert str(filled.flags) == str(expected.flags)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_was_numpys_stays_numpys(protocol):
    """NumPy's arrays in pickles stay NumPy's, whoever reads the pickle."""
    theirs = numpy.arange(3.0)
    assert type(pickle.loads(pickle.dumps(theirs, protocol))) is numpy.ndarray
    pair = pickle.loads(pickle.dumps((theirs, numelt.arange(3.0)), protocol))
    assert [type(item) for item in pair] == [numpy.ndarray, numelt.ndarray]


def test_pickles_change_nothing_of_numpys():
    code = """
import numpy, numpy.random
from numpy._core import _multiarray_umath, multiarray, numeric
from numpy.random import _pickle

def held():
    functions = [multiarray._reconstruct, multiarray.scalar, _multiarray_umath._reconstruct]
    functions += [numeric._frombuffer, getattr(_pickle, "__generator_ctor")]
    functions += [getattr(_pickle, "__randomstate_ctor")]
    return functions, numeric._frombuffer.__code__

before = held()
import numelt, numelt.random
import pickle
for value in (numelt.ones(3), numelt.random.default_rng(1), numelt.random.RandomState(1)):
    pickle.loads(pickle.dumps(value))
assert held() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_where_an_array_comes_from_is_told_once(protocol):
    one, many = (pickle.dumps([numelt.ones(2) for _ in range(n)], protocol) for n in (1, 9))
    assert one.count(b"numelt") == many.count(b"numelt") == 1


def test_the_programs_files_read_what_a_library_has_pickled_as_it_was(tmp_path):
    program = """
import pickle, sys
import numpy as np
from pickle import Unpickler, loads
array, frame = [pickle.loads(bytes.fromhex(line)) for line in sys.stdin.read().split()]
print(type(array) is np.ndarray, isinstance(array, np.ndarray), type(frame[1].to_numpy()) is np.ndarray)
class Mine(pickle.Unpickler):
    def persistent_load(self, pid):
        return pid
assert issubclass(Mine, Unpickler) and loads is pickle.loads
assert pickle.dumps and "HIGHEST_PROTOCOL" in dir(pickle)
"""
    pandas = pytest.importorskip("pandas")
    values = [numpy.arange(3.0), (pandas.Series([1.0, 2.0]), pandas.Series([1.5]))]
    given = "\n".join(pickle.dumps(value).hex() for value in values).encode()
    assert run(tmp_path, program, True, given).decode().split() == ["True", "True", "False"]


def test_buffers_out_of_band():
    a = numelt.arange(1000.0)
    buffers = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(data) < 500
    again = pickle.loads(data, buffers=buffers)
    assert type(again) is numelt.ndarray
    again[0] = 7  # the memory is shared, as with NumPy
    assert float(a[0]) == 7


CHILDREN = """
import multiprocessing
import sys
import numpy as np

def work(pair):
    a, function = pair
    b = function(a * 2)
    return type(a) is np.ndarray, np.__name__, type(b) is np.ndarray or float(b), a + 1

def main(method):
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        pairs = [(np.arange(4.0), np.sum), (np.arange(3), np.sqrt), (np.ones(2, "O"), np.cumsum)]
        results = pool.map(work, pairs)
    print([(same, name == np.__name__, b, type(a) is np.ndarray, a.tolist()) for same, name, b, a in results])

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_run_as_their_parent(tmp_path, method):
    path = tmp_path / "program.py"
    path.write_text(CHILDREN)
    outputs = []
    for launcher in ([], ["-m", "numelt"]):
        command = [sys.executable, *launcher, str(path), method]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert "False" not in outputs[0]


READERS = {
    "shelve": "import shelve\nwith shelve.open(name) as s: s['a'] = value\n"
    "with shelve.open(name) as s: again = s['a']",
    "load": "np.save(name + '.npy', np.array([value, None], dtype=object), allow_pickle=True)\n"
    "again = np.load(name + '.npy', allow_pickle=True)[0]",
    "joblib": "import joblib\njoblib.dump(value, name)\nagain = joblib.load(name)",
    "cloudpickle": "import cloudpickle\nagain = cloudpickle.loads(cloudpickle.dumps(lambda: value))()",
    "dill": "import dill\nagain = dill.loads(dill.dumps(lambda: value))()",
    "deepcopy": "import copy\nagain = copy.deepcopy({'a': [value]})['a'][0]",
    "pathlib": "from pathlib import Path\nPath(name).write_bytes(pickle.dumps(value))\n"
    "again = pickle.loads(Path(name).read_bytes())",
    "futures": "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing\n"
    "context = multiprocessing.get_context('fork')\n"
    "with ProcessPoolExecutor(1, context) as pool: again = pool.submit(np.multiply, value, 1).result()",
}


@pytest.mark.parametrize("way", READERS)
def test_ways_to_keep_an_array(tmp_path, way):
    source = "import pickle, sys\nimport numpy as np\nname = sys.argv[1]\nvalue = np.arange(5.0) * 2\n"
    source += (
        READERS[way]
        + "\nprint(isinstance(again, np.ndarray), again.dtype, again.tolist(), (again + 1).sum())"
    )
    path = tmp_path / "program.py"
    path.write_text(source)
    outputs = []
    for launcher in ([], ["-m", "numelt"]):
        command = [sys.executable, *launcher, str(path), str(tmp_path / f"kept{len(outputs)}")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
