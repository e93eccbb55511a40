"""Other libraries accept our arrays, and we accept theirs."""

import copy
import ctypes
import io
import pickle

import numpy
import pytest

import numelt

from ..support.compare import assert_same

pytestmark = pytest.mark.quick


@pytest.fixture
def x():
    return numelt.arange(12.0).reshape(3, 4) * 0.5


def test_asarray_is_zero_copy(x):
    plain = numpy.asarray(x)
    assert type(plain) is numpy.ndarray
    assert numpy.shares_memory(plain, numpy.asarray(x))
    assert not numpy.shares_memory(numpy.array(x), plain)
    assert numpy.asarray(x, dtype="f4").dtype == "f4"
    with pytest.raises(ValueError, match="copy"):
        numpy.array(x, dtype="f4", copy=False)


def test_buffer_protocol(x):
    view = memoryview(x)
    assert view.shape == (3, 4)
    assert view.format == "d"
    view[0, 0] = 42.0
    assert float(x[0, 0]) == 42.0
    assert memoryview(x[::2, ::-1]).strides == (64, -8)
    assert bytes(memoryview(numelt.arange(3, dtype="u1"))) == b"\x00\x01\x02"
    assert numpy.frombuffer(numelt.arange(3.0), dtype="f8").tolist() == [0.0, 1.0, 2.0]


def test_array_interface(x):
    interface = x.__array_interface__
    assert interface["shape"] == (3, 4)
    assert interface["typestr"] == "<f8"
    pointer = ctypes.cast(x.ctypes.data, ctypes.POINTER(ctypes.c_double))
    assert pointer[1] == 0.5


def test_dlpack(x):
    plain = numpy.from_dlpack(x)
    assert plain.tolist() == x.tolist()
    assert numpy.shares_memory(plain, numpy.asarray(x))
    again = numelt.from_dlpack(numpy.arange(3.0))
    assert type(again) is numelt.ndarray
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(x, protocol):
    again = pickle.loads(pickle.dumps(x, protocol))
    assert_same(again, numpy.asarray(x))
    again[0, 0] = 9
    assert float(x[0, 0]) == 0.0
    total = pickle.loads(pickle.dumps(numelt.sum(x), protocol))
    assert type(total) is numpy.float64
    assert pickle.loads(pickle.dumps(numelt.ndarray)) is numelt.ndarray
    assert pickle.loads(pickle.dumps(numelt.add)) is numelt.add
    assert pickle.loads(pickle.dumps(numelt.sort)) is numelt.sort
    generator = pickle.loads(pickle.dumps(numelt.random.default_rng(3)))
    assert type(generator) is numelt.random.Generator


def test_copies(x):
    for again in (copy.copy(x), copy.deepcopy(x), x.copy()):
        again[0] = -1
        assert float(x[0, 1]) == 0.5


def test_files(x, tmp_path):
    numelt.save(tmp_path / "x.npy", x)
    assert_same(numelt.load(tmp_path / "x.npy"), numpy.asarray(x))
    numelt.savez(tmp_path / "x.npz", x=x, total=numelt.sum(x))
    with numpy.load(tmp_path / "x.npz") as data:
        assert data["x"].tolist() == x.tolist()
        assert float(data["total"]) == 33.0
    numelt.savetxt(tmp_path / "x.txt", x)
    assert_same(numelt.loadtxt(tmp_path / "x.txt"), numpy.asarray(x))
    x.tofile(tmp_path / "x.bin")
    assert_same(numelt.fromfile(tmp_path / "x.bin"), numpy.asarray(x).ravel())
    text = io.StringIO("1,2\n3,4")
    assert_same(numelt.genfromtxt(text, delimiter=","), numpy.array([[1.0, 2.0], [3.0, 4.0]]))


def test_printing(x):
    plain = numpy.asarray(x)
    assert repr(x) == repr(plain)
    assert str(x) == str(plain)
    assert f"{numelt.sum(x):.3f} {numelt.sum(x)!r}" == f"{plain.sum():.3f} {plain.sum()!r}"
    with numelt.printoptions(precision=2, threshold=3):
        assert str(x) == str(plain)
    assert numelt.array2string(x) == numpy.array2string(plain)
    assert repr(numelt.zeros((0, 3))) == repr(numpy.zeros((0, 3)))


def test_scipy(x):
    special = pytest.importorskip("scipy.special")
    from scipy import integrate, linalg, ndimage, optimize, sparse

    assert_same(special.erf(x), special.erf(numpy.asarray(x)))
    assert_same(
        numelt.asarray(ndimage.gaussian_filter(x, 1.0)), ndimage.gaussian_filter(numpy.asarray(x), 1.0)
    )
    square = numelt.eye(3) * 2
    assert numpy.allclose(linalg.inv(square), numpy.eye(3) / 2)
    assert (sparse.csr_matrix(x) @ numelt.ones(4)).tolist() == numpy.asarray(x).sum(axis=1).tolist()
    result = optimize.minimize(lambda v: numelt.sum((numelt.asarray(v) - 3.0) ** 2), numelt.zeros(2))
    assert numpy.allclose(result.x, 3.0, atol=1e-4)
    solution = integrate.solve_ivp(lambda t, y: -numelt.asarray(y), (0, 1), numelt.ones(2))
    assert numpy.allclose(solution.y[:, -1], numpy.exp(-1), rtol=1e-2)


def test_pandas(x):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=list("abcd"))
    assert frame["b"].tolist() == [0.5, 2.5, 4.5]
    series = pandas.Series(numelt.arange(3))
    assert series.sum() == 3
    assert numelt.asarray(frame).tolist() == x.tolist()
    assert isinstance(numelt.sqrt(series), pandas.Series)
    assert float(numelt.sum(frame["b"])) == 7.5
    assert (series + numelt.arange(3)).tolist() == [0, 2, 4]


def test_matplotlib(x):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.plot(numelt.linspace(0, 1, 5), numelt.linspace(0, 1, 5) ** 2)
    axes.imshow(x)
    axes.hist(numelt.arange(10))
    axes.scatter(x[0], x[1], c=x[2])
    figure.savefig(io.BytesIO())
    pyplot.close(figure)


def test_pillow():
    image = pytest.importorskip("PIL.Image")
    pixels = (numelt.arange(48).reshape(4, 4, 3) * 5).astype(numelt.uint8)
    picture = image.fromarray(numelt.ascontiguousarray(pixels))
    assert picture.size == (4, 4)
    assert picture.getpixel((1, 0)) == (15, 20, 25)
    assert numelt.asarray(picture).tolist() == pixels.tolist()


def test_sklearn():
    cluster = pytest.importorskip("sklearn.cluster")
    points = numelt.concatenate([numelt.zeros((5, 2)), numelt.ones((5, 2))])
    labels = cluster.KMeans(2, n_init=1, random_state=0).fit(points).labels_
    assert len(set(labels[:5])) == len(set(labels[5:])) == 1


def test_h5py(x, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = x
        assert_same(numelt.asarray(file["x"][:]), numpy.asarray(x))


def test_masked_arrays_and_friends(x):
    masked = numelt.ma.masked_array(x, mask=x > 2)
    assert float(masked.sum()) == 5.0
    assert numelt.ma.masked_where(x > 2, x).count() == 5
    polynomial = numelt.polynomial.Polynomial(numelt.array([1.0, 2.0]))
    assert_same(numelt.asarray(polynomial(numelt.arange(3.0))), numpy.array([1.0, 3.0, 5.0]))
    assert numelt.poly1d(numelt.array([1, 2]))(2) == 4
    assert numelt.char.upper(numelt.array(["a", "b"])).tolist() == ["A", "B"]
    assert numelt.strings.str_len(numelt.array(["a", "bc"])).tolist() == [1, 2]
    assert isinstance(numelt.matrix(x) * numelt.matrix(x.T), numelt.matrix)
    record = numelt.rec.fromarrays([numelt.arange(2), numelt.arange(2.0)], names="a,b")
    assert record.a.tolist() == [0, 1]


def test_python_takes_our_scalars(x):
    total = numelt.sum(x)
    assert isinstance(total, float)
    assert isinstance(total, numpy.float64)
    assert isinstance(total, numelt.floating)
    assert {total: 1}[33.0] == 1
    assert max(total, numelt.min(x)) == 33.0
    assert round(total, 1) == 33.0
    assert int(total) == 33
    assert [10, 20, 30][numelt.argmax(numelt.array([1, 5, 2]))] == 20
    assert range(int(numelt.sum(numelt.arange(3))))[-1] == 2
    assert f"{total:08.2f}" == "00033.00"
    assert "%.1f" % total == "33.0"  # noqa: UP031
    assert sum([total, total]) == 66.0
    assert bool(numelt.all(x >= 0)) is True
    assert (total if total > 3 else 0) == 33.0
    assert numpy.float64(2) * total == 66.0
    assert (numpy.ones(2) * total).tolist() == [33.0, 33.0]
    assert total.item() == 33.0
    assert total.dtype == "float64"
    assert total.shape == ()
    import json
    import math

    assert math.sqrt(numelt.sum(numelt.full(4, 4.0))) == 4.0
    assert json.dumps(float(total)) == "33.0"


def test_array_api_namespace(x):
    space = x.__array_namespace__()
    assert space is numelt
    assert space.__array_namespace_info__().default_device() == "cpu"
    assert x.device == "cpu"
    assert x.to_device("cpu").tolist() == x.tolist()


def test_iteration_and_unpacking(x):
    assert [row.tolist() for row in x] == x.tolist()
    a, _, c = x
    assert type(a) is numelt.ndarray
    assert [float(v) for v in c] == c.tolist()
    assert 2.5 in x
    assert len(x) == 3
    assert list(x.flat)[:2] == [0.0, 0.5]
    assert x.flat[numelt.array([1, 2])].tolist() == [0.5, 1.0]
    assert isinstance(x.flat, numelt.flatiter)
    assert numpy.asarray(x.flat).tolist() == numpy.asarray(x).ravel().tolist()
    x.flat[0] = 5
    assert float(x[0, 0]) == 5.0


def test_write_protection(x):
    x.setflags(write=False)
    assert not x.flags.writeable
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        x[0] = 1
    x.flags.writeable = True
    x[0] = 1
    assert float(x[0, 3]) == 1.0
    locked = x[:]
    locked.flags.writeable = False
    assert x.flags.writeable
    assert not numpy.asarray(locked).flags.writeable
