"""Arrays on an OpenCL device and other users of OpenCL on the same memory objects, both ways.

The other user calls OpenCL by ctypes, in a queue of its own.
"""

import ctypes
from ctypes import POINTER, byref, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

import numpy
import pytest

import numelt

from ..support.devices import NEEDS_OPENCL
from ..support.dlpack import CPU, OPENCL, Library, Tensor

pytestmark = NEEDS_OPENCL

CONTEXT_DEVICES, MEM_CONTEXT = 0x1081, 0x1106
READ_WRITE = 1


class User:
    """Another user of the context in which a memory object is."""

    def __init__(self, handle):
        self.library = library = ctypes.CDLL("libOpenCL.so.1")
        for name in ("clCreateCommandQueue", "clCreateContext", "clCreateBuffer"):
            getattr(library, name).restype = c_void_p
        self.context = self.asked(library.clGetMemObjectInfo, handle, MEM_CONTEXT)
        device = self.asked(library.clGetContextInfo, self.context, CONTEXT_DEVICES)
        self.device, error = device, c_int32()
        handles = c_void_p(self.context), c_void_p(device)
        queue = library.clCreateCommandQueue(*handles, c_uint64(0), byref(error))
        assert error.value == 0
        self.queue = c_void_p(queue)

    @staticmethod
    def asked(function, handle, what):
        """Return an answer that is a handle."""
        answer = c_void_p()
        assert function(c_void_p(handle), c_uint32(what), c_size_t(8), byref(answer), None) == 0
        return answer.value

    def copied(self, function, handle, offset, array):
        """Copy between an array and memory, and wait."""
        code = function(
            self.queue,
            c_void_p(handle),
            c_uint32(1),
            c_size_t(offset),
            c_size_t(array.nbytes),
            c_void_p(array.ctypes.data),
            c_uint32(0),
            None,
            None,
        )
        assert code == 0
        return array

    def read(self, handle, offset, count):
        """Return numbers from memory."""
        return self.copied(self.library.clEnqueueReadBuffer, handle, offset, numpy.zeros(count))

    def write(self, handle, offset, numbers):
        """Write numbers to memory."""
        self.copied(self.library.clEnqueueWriteBuffer, handle, offset, numpy.array(numbers, dtype="f8"))

    def buffer(self, nbytes, context=None):
        """Make a memory object."""
        error = c_int32()
        context = c_void_p(self.context if context is None else context)
        sizes = c_uint64(READ_WRITE), c_size_t(nbytes)
        made = self.library.clCreateBuffer(context, *sizes, None, byref(error))
        assert error.value == 0
        return made

    def other_context(self):
        """Make another context on the device."""
        error, devices = c_int32(), (c_void_p * 1)(self.device)
        create = self.library.clCreateContext
        create.argtypes = [c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, POINTER(c_int32)]
        made = create(None, 1, devices, None, None, byref(error))
        assert error.value == 0
        return made

    def references(self, handle):
        """Return how many references a memory object has."""
        count = c_uint32()
        function = self.library.clGetMemObjectInfo
        assert function(c_void_p(handle), c_uint32(0x1105), c_size_t(4), byref(count), None) == 0
        return count.value


def test_both_users_see_what_either_writes():
    x = numelt.arange(1000.0).to_device("opencl")
    assert x.__dlpack_device__() == (OPENCL, 0)
    tensor, part = Tensor.of(x), Tensor.of(x[10:20:3])
    assert (tensor.device, tensor.shape, tensor.raw.byte_offset) == ((OPENCL, 0), (1000,), 0)
    assert (part.shape, part.strides, part.raw.byte_offset) == ((4,), (3,), 80)
    assert part.raw.data == tensor.raw.data
    handle = tensor.raw.data
    user = User(handle)
    assert user.read(handle, 0, 3).tolist() == [0, 1, 2]
    user.write(handle, 8, [50.0])
    assert x[:3].tolist() == [0, 50, 2]
    x += 1
    assert user.read(handle, 0, 3).tolist() == [1, 51, 3]
    x[2] = -1.0
    assert user.read(handle, 0, 3).tolist() == [1, 51, -1]
    # on the host
    x[:3].sort()
    assert user.read(handle, 0, 3).tolist() == [-1, 1, 51]
    user.write(handle, 0, [7.0])
    assert (numelt.sqrt(x + 2)[:2]).tolist() == [3.0, numpy.sqrt(3.0)]
    tensor.close()
    part.close()


def test_memory_of_others_is_used_in_place():
    x = numelt.zeros(4, device="opencl")
    tensor = Tensor.of(x)
    user = User(tensor.raw.data)
    theirs = user.buffer(80)
    user.write(theirs, 0, range(10))
    library = Library(numpy.zeros(4), device=(OPENCL, 0), handle=(theirs, 16))
    y = numelt.from_dlpack(library)
    assert (y.device, y.tolist()) == ("opencl", [2, 3, 4, 5])
    y *= 10
    assert user.read(theirs, 0, 10).tolist() == [0, 1, 20, 30, 40, 50, 6, 7, 8, 9]
    user.write(theirs, 16, [1.0])
    assert (x + library).tolist() == (x + y).tolist() == [1, 30, 40, 50]
    # another window of the same object
    whole = numelt.from_dlpack(Library(numpy.zeros(10), device=(OPENCL, 0), handle=(theirs, 0)))
    whole[2:6] = y[::-1]
    assert y.tolist() == [50, 40, 30, 1]
    whole[:4] = whole[2:6]
    assert whole.tolist() == [50, 40, 30, 1, 30, 1, 6, 7, 8, 9]
    assert user.references(theirs) > 1
    del y, whole
    numelt.flush()
    assert (user.references(theirs), library.released) == (1, 2)
    tensor.close()


def test_memory_that_cannot_be_used():
    x = numelt.zeros(4, device="opencl")
    tensor = Tensor.of(x)
    user = User(tensor.raw.data)
    elsewhere = user.buffer(80, user.other_context())
    with pytest.raises(BufferError, match="another context"):
        numelt.from_dlpack(Library(numpy.zeros(4), device=(OPENCL, 0), handle=(elsewhere, 0)))
    small = user.buffer(16)
    with pytest.raises(BufferError, match="16 bytes"):
        numelt.from_dlpack(Library(numpy.zeros(4), device=(OPENCL, 0), handle=(small, 0)))
    with pytest.raises(ValueError, match="stream=None"):
        x.__dlpack__(stream=1)
    assert not hasattr(x, "__cuda_array_interface__")
    copy = Tensor.of(x, dl_device=(CPU, 0))
    assert copy.seen().tolist() == [0.0] * 4
    copy.close()
    tensor.close()
