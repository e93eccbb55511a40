"""Arrays on a device and other libraries on the same memory: DLPack and `__cuda_array_interface__`.

The device is that of the tests (crates/testing/src/far). Once its memory is shared, it can be read at the
host's addresses, so that a test can be the other library (support/dlpack.py).
"""

import gc
import threading
from pathlib import Path

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.devices import run
from ..support.dlpack import CPU, CUDA, EXTENSION, IS_COPIED, READ_ONLY, Library, Tensor, on_memory

pytestmark = pytest.mark.skipif(
    "far" not in numelt._core.engines(), reason="this build has no test device (cargo feature far)"
)

TESTS = str(Path(__file__).parents[1])

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]

LAYOUTS = {
    "whole": lambda x: x,
    "part": lambda x: x[1:, 2:5],
    "steps": lambda x: x[::2, ::3],
    "backwards": lambda x: x[::-1, ::-2],
    "transposed": lambda x: x.T,
    "broadcast": lambda x: numelt.broadcast_to(x[0], (3, 7)),
    "one axis": lambda x: x.reshape(-1)[3:],
    "no axes": lambda x: x[2, 3:4].reshape(()),
    "empty": lambda x: x[:0],
    "empty part": lambda x: x[3:3, 1:],
}


def there(values, device="far"):
    """Return an array on the device."""
    return numelt.asarray(values).to_device(device)


def numbers():
    """Return a matrix of NumPy's."""
    return numpy.arange(28.0).reshape(4, 7)


def released(library):
    """Return how often the tensors of a library's array were released, when all that is dropped is gone."""
    gc.collect()
    numelt.flush()
    return library.released


def test_both_sides_see_what_either_writes():
    x = there(numbers())
    tensor = Tensor.of(x)
    seen = tensor.seen()
    assert tensor.device == x.__dlpack_device__() == (EXTENSION, 0)
    assert seen.tolist() == numbers().tolist()
    seen[0, 0] = 50.0
    assert x[0, 0] == 50.0
    assert float(x.max()) == 50.0
    x += 1
    assert seen[0].tolist() == [51.0, 2, 3, 4, 5, 6, 7]
    x[1] = -1.0
    assert seen[1].tolist() == [-1.0] * 7
    x[2, 3] = 9.5
    assert seen[2, 3] == 9.5
    x[x > 20] = 0.0
    assert seen.max() <= 20
    seen[3] = 4.0
    y = numelt.sqrt(x[3]) * 2
    assert y.tolist() == [4.0] * 7
    assert y.device == "far"
    # NumPy's functions write on the host
    x[0].sort()
    assert seen[0].tolist() == sorted(seen[0].tolist())
    numpy.negative(seen[1], out=seen[1])
    assert x[1].tolist() == seen[1].tolist()
    numelt.multiply(x, 2.0, out=x)
    assert seen.tolist() == x.tolist()
    tensor.close()
    x += 1
    assert x[3].tolist() == [9.0] * 7


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_layouts(dtype, layout, version):
    values = numbers().astype(dtype)
    whole = there(values)
    part, expected = LAYOUTS[layout](whole), LAYOUTS[layout](numelt.asarray(values))
    if not part.flags.writeable and version is None:
        with pytest.raises(BufferError, match="readonly"):
            part.__dlpack__()
        return
    tensor = Tensor.of(part, max_version=version)
    assert (tensor.shape, tensor.dtype) == (expected.shape, expected.dtype)
    assert tensor.strides == tuple(n // expected.itemsize for n in expected.strides)
    assert tensor.flags == (None if version is None else 0 if part.flags.writeable else READ_ONLY)
    if part.size:
        assert tensor.seen().tobytes() == as_numpy(expected).tobytes()
    # and back
    again = numelt.from_dlpack(part)
    assert (again.device, again.dtype) == ("far", part.dtype)
    assert (again.shape, again.strides) == (part.shape, part.strides)
    assert again.flags.writeable == part.flags.writeable
    if part.size and part.flags.writeable:
        again[...] = 1
        assert (tensor.seen() == 1).all()
        assert (as_numpy(part) == 1).all()
    tensor.close()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("layout", ["whole", "part", "steps", "backwards", "transposed", "no axes", "empty"])
def test_layouts_of_others(dtype, versioned, layout):
    there(numpy.zeros(1))
    own = LAYOUTS[layout](numbers().astype(dtype))
    library = Library(own, versioned=versioned)
    x = numelt.from_dlpack(library)
    assert (x.device, x.dtype, x.shape) == ("far", own.dtype, own.shape)
    assert as_numpy(x).tobytes() == own.tobytes()
    if own.size:
        x[...] = 1
        assert (own == 1).all()
        own[...] = 0
        assert not x.any()
    del x
    assert released(library) == 1


def test_arrays_of_others_are_operands():
    x = there([1.0, 2.0, 3.0])
    library = Library(numpy.array([10.0, 20.0, 30.0]))
    by_ufuncs = (numelt.add(x, library), numelt.multiply(library, 2.0), numelt.sqrt(library))
    for made in (x + library, library + x, *by_ufuncs):
        assert made.device == "far"
    assert (x + library).tolist() == [11.0, 22.0, 33.0]
    assert (library - x).tolist() == [9.0, 18.0, 27.0]
    assert (x < library).all()
    assert (numelt.arange(3.0) + library).tolist() == [10.0, 21.0, 32.0]
    x += library
    assert x.tolist() == [11.0, 22.0, 33.0]
    x[...] = library
    assert x.tolist() == [10.0, 20.0, 30.0]
    for convert in (numelt.asarray, numelt.asanyarray, numelt.ascontiguousarray, numelt.asfortranarray):
        taken = convert(library)
        taken += 1
        assert taken.device == "far"
    assert library.array.tolist() == [14.0, 24.0, 34.0]
    copied = numelt.array(library)
    copied += 1
    assert copied.device == "far"
    assert library.array.tolist() == [14.0, 24.0, 34.0]
    assert numelt.asarray(library, device="cpu").device == "cpu"
    assert numelt.asarray(library, device="far:1").device == "far:1"
    assert numelt.asarray(library, dtype="f4").dtype == "f4"
    del taken
    assert released(library) == len(library.asked)


def test_one_memory_is_one_array():
    """Views of one memory of another library see each other's writes, in the order of the program."""
    there([0.0])
    own = numpy.arange(8.0)
    x, y = numelt.from_dlpack(Library(own)), numelt.from_dlpack(Library(own[2:6]))
    x += 1
    y *= 10
    assert x.tolist() == [1, 2, 30, 40, 50, 60, 7, 8]
    x[1:5] = y
    assert own.tolist() == x.tolist() == [1, 30, 40, 50, 60, 60, 7, 8]
    # the smaller part comes first
    own = numpy.arange(8.0)
    y, x = numelt.from_dlpack(Library(own[2:6])), numelt.from_dlpack(Library(own))
    x[1:5] = y
    assert own.tolist() == [0, 2, 3, 4, 5, 5, 6, 7]
    y += x[3:7]
    assert own.tolist() == [0, 2, 7, 9, 10, 11, 6, 7]
    # numelt's own memory that comes back is the same array
    z = there([1.0, 2.0, 3.0])
    tensor = Tensor.of(z)
    back = numelt.from_dlpack(Library(tensor.seen()[1:]))
    back += z[:2]
    assert z.tolist() == [1.0, 3.0, 5.0]
    tensor.close()


def test_what_dlpack_cannot_say():
    x = there(numbers())
    x.flags.writeable = False
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()
    tensor = Tensor.of(x, max_version=(1, 0))
    assert tensor.flags == READ_ONLY
    tensor.close()
    halves = there(numpy.zeros(3, "c16")).real
    assert Tensor.of(halves).strides == (2,)
    uneven = there(numpy.zeros((3, 9), "u1"))[:, :8].view("f8")
    with pytest.raises(BufferError, match="multiple of itemsize"):
        Tensor.of(uneven)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(CUDA, 0))
    with pytest.raises(TypeError, match="max_version"):
        x.__dlpack__(max_version=3)
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.__dlpack__(streams=3)
    with pytest.raises(ValueError, match="stream=0"):
        x.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="host"):
        x.__dlpack__(dl_device=(CPU, 0), copy=False)


def test_streams():
    x = there(numpy.zeros(100_000))
    for stream in (None, 1, 2, 77, -1):
        x += 1
        tensor = Tensor.of(x, stream=stream)
        if stream != -1:
            assert set(tensor.seen()) == {float(x[0])}
        x += 1
        assert tensor.seen()[-1] == float(x[-1])
        tensor.close()
    library = Library(numpy.arange(3.0), versioned=False)
    numelt.from_dlpack(library)
    assert [asked["stream"] for asked in library.asked] == [None, None]


def test_copies_that_are_asked_for():
    x = there([1.0, 2.0])
    tensor = Tensor.of(x, copy=True, max_version=(1, 0))
    assert (tensor.device, tensor.flags) == ((EXTENSION, 0), IS_COPIED)
    tensor.seen()[0] = 5.0
    assert x.tolist() == [1.0, 2.0]
    tensor.close()
    for version, flags in ((None, None), ((1, 0), IS_COPIED)):
        tensor = Tensor.of(x, dl_device=(CPU, 0), max_version=version)
        assert (tensor.device, tensor.flags) == ((CPU, 0), flags)
        tensor.seen()[0] = 5.0
        assert x.tolist() == [1.0, 2.0]
        tensor.close()
    assert numpy.from_dlpack(x, device="cpu").tolist() == [1.0, 2.0]
    own = numpy.array([3.0, 4.0])
    assert numelt.from_dlpack(Library(own), copy=False).tolist() == [3.0, 4.0]
    copy = numelt.from_dlpack(Library(own), copy=True)
    copy += 1
    assert copy.device == "far"
    moved = numelt.from_dlpack(Library(own), device="far:1")
    assert moved.device == "far:1"
    moved += 1
    assert own.tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        numelt.from_dlpack(Library(own), device="far:1", copy=False)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        numelt.asarray(Library(own), device="cpu", copy=False)


def test_memory_that_the_host_sees_too():
    """NumPy's view of an array on the host, and another library's on the device, of one array."""
    x = there([1.0, 2.0, 3.0])
    shared = numpy.asarray(x)
    tensor = Tensor.of(x)
    seen = tensor.seen()
    x += 1
    assert shared.tolist() == seen.tolist() == [2.0, 3.0, 4.0]
    shared[0] = 20.0
    seen[1] = 30.0
    x += 1
    assert shared.tolist() == seen.tolist() == x.tolist() == [21.0, 31.0, 5.0]
    shared[2] = 7.0
    del shared
    assert seen.tolist() == [21.0, 31.0, 7.0]
    view = memoryview(x)
    view[0] = 8.0
    view.release()
    assert seen[0] == 8.0
    tensor.close()


def test_read_only_memory_of_others():
    there([0.0])
    own = numpy.arange(3.0)
    x = numelt.from_dlpack(Library(own, flags=READ_ONLY))
    assert not x.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    assert (x + 1).tolist() == [1.0, 2.0, 3.0]


def test_memory_that_numelt_cannot_use():
    there([0.0])
    with pytest.raises(BufferError, match="element type"):
        numelt.from_dlpack(WithoutKind(numpy.arange(3.0)))
    with pytest.raises(BufferError, match="not aligned"):
        numelt.from_dlpack(Library(numpy.zeros(17, "i1")[1:].view("f8")))
    with pytest.raises(BufferError, match="there is no device 99"):
        numelt.from_dlpack(Library(numpy.arange(3.0), device=(EXTENSION, 99)))
    wrong = Library(numpy.arange(3.0))
    wrong.__dict__["device"] = (EXTENSION, 1)
    taken = numelt.from_dlpack(wrong)
    assert taken.device == "far:1"
    with pytest.raises(BufferError, match="has not returned a tensor"):
        numelt.from_dlpack(NoCapsule(numpy.arange(3.0)))


class WithoutKind(Library):
    """An array of a dtype that NumPy does not have."""

    def __dlpack__(self, **kwargs):
        capsule = super().__dlpack__(**kwargs)
        next(iter(self._alive.values()))[0].tensor.code = 4
        return capsule


class NoCapsule(Library):
    """An array that breaks its promise."""

    def __dlpack__(self, **kwargs):
        return 3


def test_what_others_do_stays_theirs():
    """Exceptions of the other library are passed on."""

    class Broken(Library):
        def __dlpack_device__(self):
            raise KeyError("broken")

    there([0.0])
    for use in (numelt.from_dlpack, numelt.asarray, lambda x: numelt.arange(3.0) + x):
        with pytest.raises(KeyError, match="broken"):
            use(Broken(numpy.arange(3.0)))


@pytest.mark.parametrize("refusal", [BufferError, RuntimeError, TypeError, ValueError])
def test_objects_that_are_on_no_device_are_converted_as_in_numpy(refusal):
    class Array:
        def __dlpack_device__(self):
            raise refusal("on no device")

        def __array__(self, dtype=None, copy=None):
            return numpy.arange(3.0)

    there([0.0])
    for np in (numelt, numpy):
        assert np.asarray(Array()).tolist() == (np.zeros(3) + Array()).tolist() == [0, 1, 2]
    with pytest.raises(refusal, match="on no device"):
        numelt.from_dlpack(Array())


def test_arrays_on_the_cpu_are_as_in_numpy():
    x = numelt.arange(3.0)
    assert x.__dlpack_device__() == (1, 0)
    assert not hasattr(x, "__cuda_array_interface__")
    assert not hasattr(there([1.0]), "__cuda_array_interface__")
    with pytest.raises(AttributeError):
        _ = x.__cuda_array_interface__
    assert Tensor.of(x).device == (CPU, 0)
    assert numelt.from_dlpack(numpy.arange(3.0)).device == "cpu"


def test_the_interface_of_cuda_by_the_tests_device():
    x = there(numbers())
    said = numelt._core.device_array_interface(x[1:, ::2])
    assert (said["shape"], said["typestr"], said["version"], said["stream"]) == ((3, 4), "<f8", 3, None)
    address, read_only = said["data"]
    seen = on_memory(address, "f8", said["shape"], said["strides"])
    assert not read_only
    assert seen.tolist() == numbers()[1:, ::2].tolist()
    x += 1
    assert seen.tolist() == (numbers() + 1)[1:, ::2].tolist()
    seen[...] = 0
    assert x.sum() == (numbers() + 1).sum() - (numbers() + 1)[1:, ::2].sum()
    assert numelt._core.device_array_interface(x)["strides"] is None
    assert numelt._core.device_array_interface(x)["data"][0] == address - 7 * 8
    x.flags.writeable = False
    assert numelt._core.device_array_interface(x)["data"][1]
    assert numelt._core.device_array_interface(x[:0])["data"] == (0, True)
    with pytest.raises(ValueError, match="CPU"):
        numelt._core.device_array_interface(numelt.arange(3))


def test_releasing():
    x = there(numbers())
    capsule = x.__dlpack__()
    del capsule
    Tensor.of(x).close()
    x += 1
    tensor = Tensor.of(x)
    assert tensor.seen().tolist() == (numbers() + 1).tolist()
    del x
    gc.collect()
    # the memory lives as long as the tensor
    assert tensor.seen().tolist() == (numbers() + 1).tolist()
    tensor.close()


def test_resizing_is_refused_while_others_use_the_memory():
    x = there(numbers())
    tensor = Tensor.of(x)
    with pytest.raises(ValueError, match="cannot resize an array that references or is referenced"):
        x.resize((2, 2))
    x.resize((7, 4))
    x += 1
    assert tensor.seen()[0, 0] == 1.0
    tensor.close()
    x.resize((2, 2))
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    theirs = numelt.from_dlpack(Library(numpy.arange(4.0)))
    with pytest.raises(ValueError, match="does not own its data"):
        theirs.resize(2)


def test_the_device_may_be_full():
    """Memory that others use is not moved to the host for other arrays; those are."""
    done = run(
        """
        import os, sys
        sys.path.append(os.environ["TESTS"])
        import numelt, numpy
        from support.dlpack import Tensor

        n = 100_000
        x = numelt.zeros(n, device="far")
        tensor = Tensor.of(x)
        others = [numelt.full(n, float(i), device="far") + 1 for i in range(8)]
        x += 1
        assert (tensor.seen() == 1).all()
        tensor.seen()[:] = 5.0
        assert [float((x + other)[-1]) for other in others] == [6.0 + i for i in range(8)]
        more, refused = [], None
        for other in others:
            try:
                more.append(Tensor.of(other))
            except MemoryError as error:
                refused = str(error)
        assert 0 < len(more) < 4, len(more)
        assert "Unable to allocate" in refused, refused
        x *= 2
        assert (tensor.seen() == 10).all()
        assert numelt._core.stats()["evicted"] > 0
        print("ok")
        """,
        NUMELT_DEVICE_MEMORY="2500K",
        TESTS=TESTS,
    )
    assert done.stdout == "ok\n", done.stderr


def test_tensors_are_released_on_any_thread():
    x = there(numpy.zeros(1000))
    tensors = [Tensor.of(x) for _ in range(50)]
    threads = [threading.Thread(target=tensor.close) for tensor in tensors]
    for thread in threads:
        thread.start()
        x += 1
    for thread in threads:
        thread.join()
    assert x.tolist() == [50.0] * 1000


def test_without_such_a_device_numpy_answers():
    """As long as no device is used, objects that describe memory on one are what they are to NumPy."""
    done = run(
        """
        import numelt, numpy

        class Refusing:
            def __dlpack_device__(self):
                raise RuntimeError("looked at")
            def __array__(self, *args, **kwargs):
                raise TypeError("Implicit conversion to a NumPy array is not allowed.")

        class OnCuda(Refusing):
            def __dlpack_device__(self):
                return (2, 0)
            def __dlpack__(self, **kwargs):
                raise RuntimeError("exported")

        def outcome(call):
            try:
                return call()
            except Exception as error:
                return type(error).__name__, str(error)

        for np in (numelt, numpy):
            print(outcome(lambda: np.asarray(Refusing())), outcome(lambda: np.arange(3) + Refusing()))
        print(outcome(lambda: numelt.from_dlpack(OnCuda())))
        """
    )
    assert done.returncode == 0, done.stderr
    ours, numpys, cuda = done.stdout.splitlines()
    assert ours == numpys
    if "libcuda" in cuda:
        assert "BufferError" in cuda
        assert "numelt cannot use memory of the device cuda:0 here" in cuda


def test_a_forked_child_has_the_values():
    done = run(
        """
        import os, sys
        sys.path.append(os.environ["TESTS"])
        import numelt, numpy
        from support.dlpack import Library, Tensor

        x = numelt.arange(3.0, device="far")
        tensor = Tensor.of(x)
        tensor.seen()[0] = 9.0
        library = Library(numpy.arange(3.0))
        y = numelt.from_dlpack(library)
        child = os.fork()
        if child == 0:
            ok = x.tolist() == [9.0, 1.0, 2.0] and y.tolist() == [0.0, 1.0, 2.0]
            ok = ok and x.__dlpack_device__() == (1, 0) and (x + y).tolist() == [9.0, 2.0, 4.0]
            x += 1
            ok = ok and numpy.from_dlpack(x).tolist() == [10.0, 2.0, 3.0]
            del y
            os._exit(0 if ok and library.released == 0 else 1)
        status = os.waitpid(child, 0)[1]
        assert status == 0, status
        x += 1
        assert tensor.seen().tolist() == [10.0, 2.0, 3.0]
        del y
        numelt.flush()
        assert library.released == 1
        print("ok")
        """,
        TESTS=TESTS,
    )
    assert done.stdout == "ok\n", done.stderr


def test_the_engine_may_change_meanwhile():
    x = there([1.0, 2.0])
    tensor = Tensor.of(x)
    for name in ("far", "cpu", "far:1", "cpu"):
        with numelt.engine(name):
            before = tensor.seen()[0]
            x += 1
            assert tensor.seen()[0] == before + 1
            tensor.seen()[1] = before
            assert (x * 2).tolist() == [2 * before + 2, 2 * before]
            y = numelt.zeros(2)
            y += x
            assert y.tolist() == [before + 1, before]
    tensor.close()
