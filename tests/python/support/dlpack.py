"""The other side of DLPack: reads and makes the capsules by which libraries share memory, with ctypes."""

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from types import SimpleNamespace

import numpy

CPU, CUDA, OPENCL, EXTENSION = 1, 2, 4, 12
READ_ONLY, IS_COPIED = 1, 2

KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
_api.PyCapsule_GetName.restype = c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]


class Raw(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32 * 2),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("version", c_uint32 * 2),
        ("manager", c_void_p),
        ("deleter", Deleter),
        ("flags", c_uint64),
        ("tensor", Raw),
    ]


class Old(ctypes.Structure):
    """`DLManagedTensor`, the structure before DLPack 1.0."""

    _fields_ = [("tensor", Raw), ("manager", c_void_p), ("deleter", Deleter)]


KINDS_OF_CAPSULES = {b"dltensor": Old, b"dltensor_versioned": Versioned}


class Tensor:
    """A tensor that was taken out of a capsule; `close` releases it."""

    def __init__(self, capsule):
        name = _api.PyCapsule_GetName(capsule)
        self.structure = KINDS_OF_CAPSULES[name]
        self.address = _api.PyCapsule_GetPointer(capsule, name)
        self.managed = self.structure.from_address(self.address)
        self.used = b"used_" + name
        _api.PyCapsule_SetName(capsule, self.used)
        raw = self.managed.tensor
        self.raw, self.device = raw, tuple(raw.device)
        self.shape = tuple(raw.shape[: raw.ndim])
        self.strides = tuple(raw.strides[: raw.ndim])
        self.dtype = numpy.dtype(f"{KINDS[raw.code]}{raw.bits // 8}")
        self.flags = self.managed.flags if self.structure is Versioned else None

    @classmethod
    def of(cls, array, **kwargs):
        """Ask an object for its tensor."""
        return cls(array.__dlpack__(**kwargs))

    @property
    def start(self):
        """The address of the first element."""
        return (self.raw.data or 0) + self.raw.byte_offset

    def seen(self):
        """Return an array of NumPy on the memory, which must be the host's or the test device's."""
        return on_memory(self.start, self.dtype, self.shape, [n * self.dtype.itemsize for n in self.strides])

    def close(self):
        """Release the tensor."""
        self.managed.deleter(self.address)


def on_memory(address, dtype, shape, strides):
    """Return an array of NumPy on memory that somebody else owns."""

    interface = {"shape": tuple(shape), "typestr": numpy.dtype(dtype).str, "version": 3}
    interface.update(data=(address, False), strides=tuple(strides))
    return numpy.asarray(SimpleNamespace(__array_interface__=interface))


class Library:
    """An array of another library, whose memory is said to be on a device. It counts its releases."""

    def __init__(self, array, device=(EXTENSION, 0), versioned=True, flags=0, handle=None):
        self.array, self.device, self.versioned, self.flags = array, device, versioned, flags
        self.handle, self.released, self.asked, self._alive = handle, 0, [], {}

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, **kwargs):
        self.asked.append({"stream": stream, **kwargs})
        if kwargs and not self.versioned:
            raise TypeError(f"unexpected keywords {list(kwargs)}")
        a, structure = self.array, Versioned if self.versioned else Old
        managed = structure()
        code = {kind: code for code, kind in KINDS.items()}[a.dtype.kind]
        shape = (c_int64 * max(a.ndim, 1))(*a.shape)
        strides = (c_int64 * max(a.ndim, 1))(*[n // a.itemsize for n in a.strides])
        data, offset = (a.ctypes.data, 0) if self.handle is None else self.handle
        layout = (a.ndim, code, 8 * a.itemsize, 1, shape, strides, offset)
        managed.tensor = Raw(data, (c_int32 * 2)(*self.device), *layout)
        if self.versioned:
            managed.version[0] = 1
            managed.flags = self.flags
        place = ctypes.addressof(managed)

        def release(address):
            self.released += 1
            self._alive[address] = None

        managed.deleter = Deleter(release)
        self._alive[place] = (managed, shape, strides, a)
        return _api.PyCapsule_New(place, b"dltensor_versioned" if self.versioned else b"dltensor", None)
