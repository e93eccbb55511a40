"""Functions that exist only in compiled form return what NumPy returns, for usual and for unusual arguments.

The tests compare the class, dtype, shape, strides and values of results, the class and text of exceptions,
and the warnings with the files to which they are attributed.
"""

import enum
import warnings
from pathlib import Path

import numpy
import pytest

import numelt
from numelt import _core
from numelt._dispatch import table
from numelt._dispatch.native import COMPILED, NATIVE

pytestmark = pytest.mark.quick


class Three(enum.IntEnum):
    """An int of a derived class."""

    THREE = 3


class Convertible:
    """An object with `__array__`, which may return a numelt array."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


CALLS = """
np.full(3,1e300,'f4')
np.full(3,300,'u1')
np.full(3,2.7,int)
np.full(3,numpy.nan,int)
np.full(3,1j,float)
np.full(3,1j)
np.full((2,3),[1,2,3])
np.full((2,),[1,2,3])
np.full((2,2),5,order='F').strides
np.full(2,np.float32(2))
np.full([2,2],np.arange(2.),'f4')
np.full(np.int64(2),'a')
np.full(2,None)
np.full(2,Three.THREE)
np.full((),True)
np.zeros([2,3],order='F').strides
np.zeros((2,3),'M8[s]')
np.zeros(2,'>f8')
np.zeros(-1)
np.zeros('a')
np.zeros(2.0)
np.zeros(2,order='K')
np.zeros(2,dtype='nosuch')
np.zeros((2,)*70)
np.ones(True)
np.ones(np.array(3))
np.ones((2,np.int32(3)))
np.ones(shape=2,dtype=bool)
np.ones(2,device='gpu')
np.ones()
np.ones(2,like=np.zeros(1))
np.empty((0,3)).shape
np.empty(3,'S3').dtype
np.zeros_like(np.zeros((2,3,4)).transpose(2,0,1)).strides
np.zeros_like(np.zeros((2,3,4)).transpose(2,0,1),shape=(5,6,7)).strides
np.zeros_like(np.zeros((2,3),order='F'),shape=(5,6)).strides
np.zeros_like(np.zeros((2,3),order='F'),shape=(5,6,7),order='A').strides
np.zeros_like(np.zeros((2,3),order='F'),order='A').strides
np.zeros_like(np.zeros((2,3)),order='F').strides
np.zeros_like([1,2,3])
np.zeros_like(3.0)
np.zeros_like(3)
np.zeros_like(np.int8(3))
np.zeros_like(numpy.arange(3))
np.zeros_like(np.array(['a','b']))
np.zeros_like(np.array([None]),dtype=float)
np.zeros_like(np.arange(3),dtype='f4',shape=4)
np.zeros_like(np.arange(3),subok=1)
np.zeros_like('abc')
np.ones_like(np.arange(3)[::-1]).strides
np.ones_like(numpy.matrix([[1,2]]))
np.full_like(np.arange(3),2.7)
np.full_like(np.arange(3),np.nan)
np.full_like(np.arange(3),[1,2,3])
np.full_like(np.arange(3),2,dtype=float)
np.full_like(np.arange(3.),1e300,dtype='f4')
np.full_like(np.zeros((2,3),order='F'),2).strides
np.full_like([1,2],5)
np.eye(3,4,1)
np.eye(3,k=-1,dtype=int)
np.eye(3,order='F').strides
np.eye(2,3,k=100)
np.eye(0)
np.eye(-1)
np.eye(3.0)
np.eye(2,dtype=object)
np.identity(3)
np.eye(np.int64(3))
np.eye(3,M=np.int64(2))
np.asarray([1,2,3],dtype='f4')
np.asarray([[1,2],[3,4]],order='F').strides
np.asarray('abc')
np.asarray([1,'a'])
np.asarray([[1,2],[3]])
np.asarray([300],dtype='u1')
np.asarray([1e300],dtype='f4')
np.asarray(Convertible(numpy.arange(3)))
np.asarray(Convertible(np.arange(3)))
np.array(Convertible(np.arange(3)),dtype=float)
np.array([1,2],copy=False)
np.array(np.arange(3),copy=False)
np.array(np.arange(3),copy=None)
np.array(np.arange(3),copy=numpy._CopyMode.ALWAYS)
np.array(np.arange(3),copy=numpy._CopyMode.IF_NEEDED)
np.array(np.arange(3),copy=1)
np.array(5,ndmin=3)
np.array([1,2],ndmin=-1)
np.array([1,2],ndmin=2,order='F').strides
np.array(np.arange(3),ndmin=2)
np.array(numpy.matrix([[1,2]]))
np.array(numpy.matrix([[1,2]]),subok=True)
np.array(numpy.ma.array([1,2],mask=[0,1]))
np.asanyarray(numpy.ma.array([1,2],mask=[0,1]))
np.asanyarray(numpy.matrix([[1,2]]))
np.asarray(numpy.matrix([[1,2]]))
np.asarray(numpy.matrix([[1,2]]),dtype=float)
np.ascontiguousarray(5)
np.ascontiguousarray(np.zeros((2,3)).T).strides
np.asfortranarray([[1,2],[3,4]]).strides
np.asfortranarray(5.0)
np.copy([1,2])
np.copy(numpy.matrix([[1,2]]))
np.copy(numpy.matrix([[1,2]]),subok=True)
np.copy(np.zeros((2,3)).T).strides
np.copy(np.zeros((2,3)).T,order='C').strides
np.copy(3)
np.copy('a')
np.array([np.arange(2),np.arange(2)])
np.array([np.arange(2),np.arange(2)],dtype=object)
np.array([None,np.arange(2)],dtype=object)[1]
np.array((1,2,3),dtype='c8')
np.array([1j,2])
np.array(np.array([1+1j]),dtype=float)
np.array([1,2,3],order='x')
np.array()
np.array([1],dtype='nosuch')
np.array({1:2})
np.array(range(5))
np.array(memoryview(b'abc'))
np.array([1.5,2],dtype=int)
np.array(np.array([1e20,2.]),dtype='u4')
np.array(2**70)
np.array([2**63])
np.array([True,2])
np.array(np.float32(3))
np.asarray(np.arange(3),copy=True)
np.asarray(np.arange(3,dtype='f4'),dtype='f8',copy=False)
np.asarray(np.arange(4)[::2],order='C').strides
np.array([[]])
np.array([])
np.array([[1,2],[3,4]],ndmax=1)
np.atleast_1d(3.0)
np.atleast_1d(3.0,[1,2])
np.atleast_1d()
np.atleast_2d([1,2]).shape
np.atleast_2d(3).shape
np.atleast_3d(3).shape
np.atleast_3d([1,2]).shape
np.atleast_3d([[1,2]]).shape
np.atleast_3d(np.zeros((2,3,4,5))).shape
np.atleast_2d('a')
np.atleast_2d(numpy.arange(3))
np.atleast_2d(np.arange(3),5)
np.atleast_1d(np.float32(3))
np.atleast_1d(numpy.matrix([[1,2]]))
np.atleast_2d([None])
np.roll([1,2,3],1)
np.roll(np.arange(6).reshape(2,3),1)
np.roll(np.arange(6).reshape(2,3),[1,2])
np.roll(np.arange(6).reshape(2,3),(1,2),axis=1)
np.roll(np.arange(6).reshape(2,3),1,axis=(0,1))
np.roll(np.arange(6).reshape(2,3),(1,2),axis=(0,1))
np.roll(np.arange(6).reshape(2,3),(1,2,3),axis=(0,1))
np.roll(np.arange(6).reshape(2,3),1,axis=2)
np.roll(np.arange(6).reshape(2,3),1,axis=[0,0])
np.roll(np.arange(6),np.int64(2))
np.roll(np.arange(6),2.0)
np.roll(np.arange(6),np.array([1,2]))
np.roll(np.arange(0),2)
np.roll(5,2)
np.roll(np.arange(6),2**70)
np.roll(np.arange(64).reshape((2,)*6),1,axis=(0,1,2,3,4,5))
np.roll('abc',1)
np.roll(np.arange(6).reshape(2,3),())
np.roll(np.arange(6).reshape(2,3),(),axis=())
np.roll(np.array(5.0),[],axis=())
np.roll(np.array(5.0),1)
np.roll(np.arange(6).reshape(2,3).T,1).strides
np.diag([1,2])
np.diag([1,2],1)
np.diag([[1,2],[3,4]],-1)
np.diag(np.arange(4).reshape(2,2)).flags.writeable
np.diag(5)
np.diag(np.zeros((2,2,2)))
np.diag([],0)
np.diag([],2)
np.diag(np.arange(3),np.int64(1))
np.diag(np.arange(3),1.5)
np.diag(['a','b'])
np.diag(v=[1,2],k=1)
np.diag(np.arange(3),10**9)
np.diagonal([[1,2],[3,4]])
np.diagonal(np.zeros((2,3,4)),1,0,2)
np.diagonal(np.zeros((2,3,4)),1,0,0)
np.diagonal(np.zeros((2,3,4)),axis1=5)
np.diagonal(np.zeros(3))
np.zeros((3,3)).diagonal(1)
np.zeros((3,3)).diagonal(axis1=1,axis2=0)
np.diagonal(np.array([[None,1],[2,3]]))
np.trace([[1,2],[3,4]])
np.trace(np.ones((3,3)),1)
np.trace(np.ones((3,3)),-1,dtype=int)
np.trace(np.ones((3,3,3)))
np.trace(np.ones((3,3,3)),0,1,2)
np.trace(np.ones((3,3)),out=np.zeros(()))
np.trace(np.ones((3,3),bool))
np.trace(np.ones((3,3),'i1'))
np.trace(np.ones((3,3),'f4'))
np.trace(np.ones(3))
np.ones((3,3)).trace()
np.ones((3,3)).trace(1,dtype='f4')
np.trace(np.array([['a','b'],['c','d']]))
np.trace(np.ones((3,3)),axis1=0,axis2=0)
np.linalg.trace(np.ones((3,3,3)))
np.linalg.diagonal(np.ones((3,3,3)))
np.trace(np.ones((0,3)))
np.trace(np.ones((3,3)),10)
np.fill_diagonal(np.zeros((2,2)),5)
np.fill_diagonal(np.zeros((2,2),int),5.5)
np.fill_diagonal(np.zeros(2),5)
np.fill_diagonal(np.zeros((2,3,4)),5)
[(a:=np.zeros((4,2))),np.fill_diagonal(a,[1,2]),a.tolist()][2]
[(a:=np.zeros((7,2))),np.fill_diagonal(a,[1,2,3],wrap=True),a.tolist()][2]
[(a:=np.zeros((3,3,3))),np.fill_diagonal(a,4),a.tolist()][2]
[(a:=np.zeros((50,50))*2.0),np.fill_diagonal(a,np.arange(50.)),a.tolist()][2]
[(a:=np.zeros((3,3)).T),np.fill_diagonal(a,numpy.float32(4)),a.tolist()][2]
np.stack([[1,2],[3,4]])
np.stack([np.arange(2),np.arange(2.)])
np.stack([np.arange(2),np.arange(2)],axis=1)
np.stack([np.arange(2),np.arange(2)],axis=2)
np.stack([np.arange(2),np.arange(3)])
np.stack([np.arange(2),np.arange(2)],dtype='f4')
np.stack([np.arange(2.),np.arange(2.)],dtype=int)
np.stack([np.arange(2.),np.arange(2.)],dtype=int,casting='unsafe')
np.stack([np.arange(2.),np.arange(2.)],dtype='f4',casting='safe')
np.stack([np.arange(2.),np.arange(2.)],dtype='f8',casting='no')
np.stack([np.arange(2)*1j,np.arange(2)],dtype='f8',casting='unsafe')
np.stack([np.arange(2.),np.arange(2.)],out=np.zeros((2,2)))
np.stack(np.arange(6).reshape(2,3),axis=1)
np.stack(np.arange(3))
np.stack([1,2,3])
np.stack([1,2.5,np.float32(3)])
np.stack([])
np.stack(5)
np.stack(iter([1,2]))
np.stack(np.zeros((0,3)))
np.stack([['a'],['b']])
np.stack([numpy.arange(2),np.arange(2)])
np.stack((np.arange(2),)*3,-1)
np.stack([1j,2])
np.stack([[[1,2]],[[3,4]]])
np.argmax([[1,5],[7,2]],axis=1)
np.argmax([1,5,2])
np.argmax([[[1,2]],[[3,0]]],axis=0)
np.argmax([])
np.argmax(5)
np.argmax(np.float32(5))
np.argmax(['a','b'])
np.argmax(np.arange(6).reshape(2,3),axis=5)
np.argmax(np.arange(6).reshape(2,3),axis=(0,1))
np.argmax(np.arange(6).reshape(2,3),axis=0,keepdims=True)
np.argmax(np.arange(6).reshape(2,3),axis=0,keepdims=1)
np.argmax(np.arange(6).reshape(2,3),axis=0,out=np.zeros(3,int))
np.argmax(numpy.arange(3))
np.arange(3).argmax()
np.arange(3).argmax(axis=1)
np.arange(6).reshape(2,3).argmin(1,keepdims=True)
np.arange(3).argmax(0,None)
np.argmin(a=np.arange(3))
np.argmin()
np.sum(numpy.arange(3))
np.sum([[1,2],[3,4]],axis=0)
np.sum(5)
np.max([])
np.mean([1,2,3])
np.mean([])
np.sum('a')
np.sum([])
np.sum(np.float32(3))
np.sum(3)
np.any([])
np.sum([1,2],axis=1)
np.sum([[1,2],[3]])
np.mean(5)
np.max(5)
np.mean(numpy.float32(5))
np.sum(True)
np.append([1,2],[3])
np.append([],1j)
np.concatenate([[1,2],numpy.arange(2)])
np.concatenate([1,2])
np.append(np.arange(3),'a')
np.append(np.arange(3),np.float32(2))
np.concatenate([np.arange(3),[1j]])
np.concatenate([np.arange(3,dtype='f4'),[1j]])
np.concatenate([np.arange(3,dtype='i1'),[300]])
np.concatenate([np.arange(3,dtype='f4'),numpy.arange(2)])
np.vstack([[1,2],[3,4]])
np.dstack([[1,2],[3,4]])
np.column_stack([[1,2],[3,4]])
"""


def described(value):
    if isinstance(value, tuple):
        return tuple(map(described, value))
    kind = numpy.ndarray if type(value) is numelt.ndarray else type(value)
    if not isinstance(value, (numpy.ndarray, numelt.ndarray, numpy.generic)):
        return kind, repr(value)
    # NumPy's view of our array may have other strides for axes of one element
    plain = numpy.asarray(value) if type(value) is numelt.ndarray else value
    return kind, value.dtype, value.shape, value.strides, repr(plain)


def outcome(np, call):
    names = {"np": np, "numpy": numpy, "Three": Three, "Convertible": Convertible}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = described(eval(call, names))
        except Exception as error:
            made = type(error), str(error)
    return made, [(w.category, str(w.message), Path(w.filename).name) for w in caught]


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_as_numpy(call):
    assert outcome(numelt, call) == outcome(numpy, call)


@pytest.mark.parametrize("name", sorted(table.COMPILED))
def test_large_arguments_are_no_fallback(name):
    numelt.coverage(reset=True)
    x, m = numelt.arange(3000.0), numelt.ones((60, 60)) * 2
    arguments = {
        "empty": ((60, 60),), "full": ((60, 60), 2.0), "ones": ([60, 60],), "zeros": ((60, 60), "f4", "F"),
        "eye": (60, 50, 1), "full_like": (m.T, 2), "roll": (m, (1, 2), (0, 1)), "stack": ([x, x + 1], 1),
        "diag": (m, 2), "diagonal": (m, -2), "trace": (m, 1), "append": (x, x), "concatenate": ([x, x],),
        "arange": (0, 3000, 2, "f4"), "dot": (m, m), "take": (x, [1, 2]), "tril": (m, 1), "triu": (m, -1),
        "unravel_index": (numelt.arange(3000), (60, 60)),
        "column_stack": ([x, x],), "moveaxis": (m, 0, 1),
    }  # fmt: skip
    COMPILED[name](*arguments.get(name, (x,)))
    assert numelt.coverage().fallbacks == []


WITH_OPTIONS = """
np.sum(m, 1, where=m > 2)
np.sum(m, axis=0, dtype="f4", keepdims=True)
np.sum(m, out=np.zeros(()))
np.max(m, 0, initial=90.0)
m.min(axis=1, initial=1.0, where=m > 2)
np.any(m > 2, 1, where=m < 9)
(m > 2).all(1, keepdims=True, out=np.zeros((60, 1), bool))
np.cumsum(m, 1, "f4")
np.cumprod(m[::2], axis=0, out=np.ones((30, 60)))
np.diff(m, 2, 0)
np.diff(x, prepend=0, append=x[:2])
np.diff(x > 3)
np.take(m, i, 1, mode="wrap")
m.take(i.reshape(-1, 2), out=np.zeros((1500, 2)), mode="clip")
np.tril(np.ones((3, 60, 60)), -1)
np.triu(m.T[::-1], 2)
np.dot(m, m, np.zeros((60, 60)))
np.dot(m, 2.0)
np.where([True, False] * 1500, x, 1)
np.where(m > 2, m, i[:60])
np.flip(m, (0, 1))
np.flip(m, -1)
np.nonzero(m > 2)
np.flatnonzero(m[::2, ::-1])
np.concatenate([m, m[::2].T.T], None)
np.concatenate([m, i.reshape(50, 60)], dtype="f4", casting="same_kind")
np.concatenate(m.reshape(2, 30, 60), -1)
np.append(m, m[:1], axis=0)
np.append(m.T, 3)
np.unravel_index(i, (60, 50), order="F")
np.unravel_index(i.reshape(2, 1500), [10, 10, 30])
np.arange(0.5, 3000, dtype="i2")
np.arange(-0.0, 1500.0, 0.5, "f8")
np.arange(1500, dtype=complex)
np.arange(9000, 0, -3, dtype="i4")
"""


@pytest.mark.parametrize("call", WITH_OPTIONS.strip().splitlines())
def test_options_are_no_fallback(call):
    numelt.coverage(reset=True)
    made = []
    for np in (numpy, numelt):
        x, m = np.arange(3000.0), np.arange(3600.0).reshape(60, 60) % 7
        made.append(eval(call, {"np": np, "x": x, "m": m, "i": np.arange(3000)}))
    assert numelt.coverage().fallbacks == []
    assert described(made[1]) == described(made[0])


def test_a_range_is_as_long_as_numpys():
    for ends in ((0, 2**60 + 1, 2**40), (2**62, 2**62 + 7, 2), (0, 1, 3), (5, 0, -2), (2**53, 2**53 + 9, 3)):
        assert numelt.arange(*ends).tolist() == numpy.arange(*ends).tolist()


def test_no_function_is_compiled_only_and_written_in_python():
    assert set(_core.compiled_functions()) >= table.COMPILED
    # a second form that `native` registers would raise an error
    assert all(NATIVE[getattr(numpy, name)] is COMPILED[name] for name in table.COMPILED)
