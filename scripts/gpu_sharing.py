"""Check that numelt shares memory of an NVIDIA device with CuPy, PyTorch and JAX, for `gpu_check.py`.

In: numelt, which uses the device. Out: for each library that is installed and each check, whether it holds,
and a line that says so. Both sides must have the same address, see what the other one writes, and that
without a wait by the program: on the default stream, and on others if the consumer names them.
"""

import importlib
from types import SimpleNamespace

import numpy

LONG = 1 << 22


def of_cupy():
    """Return what the checks need of CuPy."""
    cupy = importlib.import_module("cupy")
    cupy.cuda.Device().use()
    return SimpleNamespace(
        make=cupy.asarray,
        taken=cupy.from_dlpack,
        described=cupy.asarray,
        address=lambda t: t.data.ptr,
        host=cupy.asnumpy,
        elsewhere=lambda: cupy.cuda.Stream(non_blocking=True),
        writes=True,
    )


def of_torch():
    """Return what the checks need of PyTorch."""
    torch = importlib.import_module("torch")
    torch.zeros(1, device="cuda")
    return SimpleNamespace(
        make=lambda values: torch.as_tensor(values, device="cuda"),
        taken=torch.from_dlpack,
        described=lambda x: torch.as_tensor(x, device="cuda"),
        address=lambda t: t.data_ptr(),
        host=lambda t: t.cpu().numpy(),
        elsewhere=lambda: torch.cuda.stream(torch.cuda.Stream()),
        writes=True,
    )


def of_jax():
    """Return what the checks need of JAX, whose arrays nobody writes."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise RuntimeError("it does not see the device")
    return SimpleNamespace(
        make=importlib.import_module("jax.numpy").asarray,
        taken=importlib.import_module("jax.dlpack").from_dlpack,
        address=lambda t: t.unsafe_buffer_pointer(),
        host=numpy.asarray,
        writes=False,
    )


LIBRARIES = {"cupy": of_cupy, "torch": of_torch, "jax": of_jax}


def address(x):
    """Return the address of an array of numelt on the device."""
    return x.__cuda_array_interface__["data"][0]


def out(np, library, taken):
    """An array of numelt's, taken by the library: the same memory, and the values of both sides' writes."""
    x = np.arange(1000.0, device="cuda") * 1
    t = taken(x)
    assert library.address(t) == address(x), "the addresses differ"
    assert library.host(t).tolist() == list(range(1000)), "the values differ"
    x += 1
    assert library.host(t)[-1] == 1000, "the library does not see what numelt has written"
    if library.writes:
        t *= 2
        assert float(x[-1]) == 2000, "numelt does not see what the library has written"
        x[3] = -1.0
        assert library.host(t)[3] == -1, "the library does not see an element that numelt has set"


def windows(np, library):
    """Parts of arrays, of each dtype."""
    for dtype in ("i1", "i4", "i8", "u1", "f2", "f4", "f8", "c8", "c16", "?"):
        values = numpy.arange(60).reshape(6, 10).astype(dtype)
        x = np.asarray(values).to_device("cuda")
        for window in (x, x[1:], x[2:, 3:7], x[::2, ::3], x.T):
            if not library.writes and not window.flags.c_contiguous:
                continue
            t = library.taken(window)
            assert library.host(t).tolist() == numpy.asarray(window).tolist(), f"{dtype}: the values differ"
        y = np.from_dlpack(library.make(values))
        assert y.dtype == values.dtype, f"{dtype}: the dtypes differ"
        assert y.tolist() == values.tolist(), f"{dtype}: the values differ"


def into(np, library):
    """An array of the library, taken by numelt."""
    t = library.make(numpy.arange(1000.0))
    y = np.from_dlpack(t)
    assert y.device == "cuda", y.device
    assert address(y) == library.address(t), "the addresses differ"
    assert y.tolist() == list(range(1000)), "the values differ"
    assert address(np.asarray(t)) == library.address(t), "asarray copies"
    assert (np.sqrt(y) + t).device == "cuda", "a result is elsewhere"
    if library.writes:
        y += 1
        assert library.host(t)[-1] == 1000, "the library does not see what numelt has written"
        t *= 2
        assert float((y + t)[-1]) == 4000, "numelt does not see what the library has written"
    del y
    assert library.host(t).shape == (1000,)


def in_turns(np, library, x, t):
    """Let both sides write one memory in turns, without a wait, and compare with the host."""
    expected = numpy.zeros(LONG)
    for step in range(100):
        x += step
        t *= 0.5
        expected = (expected + step) * 0.5
    assert numpy.array_equal(library.host(t), expected), "the order of the streams is broken"
    for step in range(100):
        t += step
        x *= 0.5
        expected = (expected + step) * 0.5
    assert numpy.array_equal(numpy.asarray(x), expected), "the order of the streams is broken"


def streams(np, library):
    """Writes in turns: of numelt's memory and of the library's, on the default stream and on another one."""
    x = np.zeros(LONG, device="cuda")
    in_turns(np, library, x, library.taken(x))
    t = library.make(numpy.zeros(LONG))
    in_turns(np, library, np.from_dlpack(t), t)
    with library.elsewhere():
        x = np.zeros(LONG, device="cuda")
        in_turns(np, library, x, library.taken(x))


def sharing(np):
    """Return for each library and check whether it holds, and a line that says so."""
    for name, make in LIBRARIES.items():
        try:
            library = make()
        except (ImportError, RuntimeError) as why:
            yield True, f"sharing with {name}: not checked ({why})"
            continue
        checks = {
            "out by DLPack": lambda library=library: out(np, library, library.taken),
            "windows and dtypes": lambda library=library: windows(np, library),
            "in by DLPack": lambda library=library: into(np, library),
        }
        if library.writes:
            checks["out by the interface"] = lambda library=library: out(np, library, library.described)
            checks["streams"] = lambda library=library: streams(np, library)
        for check, run in checks.items():
            try:
                run()
                yield True, f"sharing with {name}, {check}: right"
            except Exception as why:
                yield False, f"sharing with {name}, {check}: WRONG ({type(why).__name__}: {why})"
