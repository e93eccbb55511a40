"""The metaclasses of arrays and ufuncs: instance checks, subclasses, attributes of the class itself.

In: `numelt._core.ndarray` and `numelt._core.ufunc`. Out: their metaclasses, under which NumPy's own
objects are instances, a class derived from ``ndarray`` is a real subclass of NumPy's array, and
``ndarray.sum(x)`` works for such subclasses, too. Nothing here computes.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback, mirror, overrides

__all__ = ["ArrayType", "SubclassBase", "UfuncType", "call_view", "collect_members", "seal"]

ndarray = _core.ndarray

# attributes that belong to the class itself rather than to its instances
_OF_THE_CLASS = frozenset(
    {
        "__class__", "__class_getitem__", "__doc__", "__hash__", "__init__", "__init_subclass__", "__new__",
        "__subclasshook__", "__getattribute__", "__getstate__", "__dir__", "__module__",
    }
)  # fmt: skip

_members: dict[str, UnboundMethod | UnboundAttribute] = {}


class UnboundMethod(_core.UnboundCall):
    """A method looked up on the class, as in ``ndarray.sum(x)``, for our arrays and NumPy's subclasses."""

    def __new__(cls, name: str, ours: Any, numpys: Any) -> UnboundMethod:
        def others(*args: Any, **kwargs: Any) -> Any:
            return fallback.uncounted(numpys, args, kwargs)

        return super().__new__(cls, name, ours, others, numpys)

    def __init__(self, name: str, ours: Any, numpys: Any) -> None:
        self.__wrapped__ = numpys
        self.__name__ = name
        self.__qualname__ = f"ndarray.{name}"
        self.__doc__ = numpys.__doc__
        self.__objclass__ = ndarray
        text = getattr(numpys, "__text_signature__", None)
        if text is not None:
            self.__text_signature__ = text

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<method {self.__name__!r} of 'numpy.ndarray' objects>"

    def __reduce__(self) -> Any:
        return getattr, (ndarray, self.__name__)


class UnboundAttribute:
    """An attribute looked up on the class, as in ``ndarray.shape``, for our arrays and NumPy's subclasses."""

    def __init__(self, name: str, ours: Any, numpys: Any) -> None:
        self._ours, self._numpys = ours, numpys
        self.__name__ = name
        self.__qualname__ = f"ndarray.{name}"
        self.__doc__ = numpys.__doc__
        self.__objclass__ = ndarray

    def _of(self, instance: Any) -> Any:
        return self._ours if type(instance) is ndarray else self._numpys

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self._of(instance).__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        self._of(instance).__set__(instance, value)

    def __repr__(self) -> str:
        return f"<attribute {self.__name__!r} of 'numpy.ndarray' objects>"


def collect_members() -> None:
    """Collect the methods and attributes that the completed class has in common with NumPy's."""
    for name in dir(numpy.ndarray):
        numpys = getattr(numpy.ndarray, name)
        if isinstance(numpys, types.GetSetDescriptorType) and name in vars(ndarray):
            _members[name] = UnboundAttribute(name, vars(ndarray)[name], numpys)
        if name in _OF_THE_CLASS or not callable(numpys):
            continue
        ours = type.__getattribute__(ndarray, name) if hasattr(ndarray, name) else numpys
        _members[name] = UnboundMethod(name, ours, numpys)
    _core.set_unbound(_members)


def _give_ours(cls: type) -> None:
    """Let NumPy call the protocols of a class with our ufuncs and functions: programs compare with them."""
    for protocol in ("__array_ufunc__", "__array_function__"):
        own = vars(cls).get(protocol)
        if isinstance(own, types.FunctionType):
            type.__setattr__(cls, protocol, overrides.knows_ours(_given_ours(own)))


def _given_ours(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, mirror.ours_for(function), *args, **kwargs)

    return call


_NUMPYS_FUNCTIONS = numpy.ndarray.__array_function__


def _call_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    # if our arrays were among the operands, NumPy would call their ``__array_ufunc__``
    return fallback.uncounted(super(SubclassBase, self).__array_ufunc__, (ufunc, method, *inputs), kwargs)


def _call_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return fallback.uncounted(super(SubclassBase, self).__array_function__, (func, types, args, kwargs), {})


class SubclassBase(numpy.ndarray):
    """Base of classes derived from our ``ndarray``: NumPy's array, whose methods accept what is ours.

    The method of a protocol in a derived class may call the one here by `super`. NumPy looks for such methods
    on the class, where it finds its own, so that it calls none if a derived class has none.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _give_ours(cls)

    def _view(self, *args: Any, **kwargs: Any) -> Any:
        """Return a view of the same memory as another dtype or class."""
        return call_view(super().view, args, kwargs)

    view = _core.method("ndarray.view", numpy.ndarray.view, _view, "uncounted")
    del _view

    __array_ufunc__ = _core.inherited(numpy.ndarray.__array_ufunc__, _call_ufunc)
    __array_function__ = _core.inherited(
        _NUMPYS_FUNCTIONS,
        _core.method("ndarray.__array_function__", _NUMPYS_FUNCTIONS, _call_function, "general"),
    )


SubclassBase.__name__ = SubclassBase.__qualname__ = "ndarray"
SubclassBase.__module__ = "numpy"


def call_view(view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the method `view` of a subclass of NumPy's array with NumPy's class instead of numelt's."""
    if any(arg is ndarray for arg in (*args, *kwargs.values())):
        args = tuple(numpy.ndarray if arg is ndarray else arg for arg in args)
        kwargs = {key: numpy.ndarray if arg is ndarray else arg for key, arg in kwargs.items()}
        return fallback.wrap(view(*args, **kwargs))
    return view(*args, **kwargs)


class OperatorsMixin(numpy.lib.mixins.NDArrayOperatorsMixin):
    """NumPy's mixin, whose operators call NumPy's ufuncs, for classes of the program."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _give_ours(cls)


for _name in ("__module__", "__name__", "__qualname__", "__doc__"):
    setattr(OperatorsMixin, _name, getattr(numpy.lib.mixins.NDArrayOperatorsMixin, _name))
mirror.replace(numpy.lib.mixins.NDArrayOperatorsMixin, OperatorsMixin)


class ArrayType(_core.ArrayMeta):
    """Metaclass under which real NumPy arrays are instances of our class, and subclasses are NumPy's.

    ``isinstance(x, np.ndarray)`` in a program means any array, also one from an installed library. A class
    derived from ``np.ndarray`` is a subclass of NumPy's array, so that NumPy's rules for subclasses hold.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> Any:
        plain = tuple(SubclassBase if base is ndarray else base for base in bases)
        return types.new_class(name, plain, kwargs, lambda body: body.update(namespace))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, numpy.ndarray)


def seal() -> None:
    """Make the completed class of arrays immutable, as NumPy's is."""

    def refuse(cls: type, name: str, value: object = None) -> None:
        numpys: Any = numpy.ndarray
        setattr(numpys, name, value)  # raises NumPy's TypeError

    for changes in ("__setattr__", "__delattr__"):
        setattr(ArrayType, changes, refuse)


def _numpys(name: str) -> property:
    """Return the property of a metaclass whose value is the attribute of NumPy's class of ufuncs."""
    return property(lambda cls: getattr(numpy.ufunc, name))


class UfuncType(type):
    """Metaclass under which NumPy's ufuncs, also those of installed libraries, are instances of numelt's."""

    # as attributes of the class, those of ufuncs have NumPy's documentation and signatures
    __doc__ = _numpys("__doc__")
    identity, signature = _numpys("identity"), _numpys("signature")
    nargs, nin, nout = _numpys("nargs"), _numpys("nin"), _numpys("nout")
    ntypes, types = _numpys("ntypes"), _numpys("types")
    resolve_dtypes = _numpys("resolve_dtypes")

    def __getattr__(cls, name: str) -> Any:
        return getattr(numpy.ufunc, name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, numpy.ufunc)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, numpy.ufunc)
