"""Stand-ins for compiled classes of libraries whose constructors read arrays in C.

The interpreter calls such a constructor through a field of the class, not by a name in its dictionary, so it
cannot be replaced as methods are. Instead, the compiled module gets a stand-in: a class of ours that has the
name of the compiled class, and makes its objects from NumPy's views of our arrays. Calls of the compiled
class are not changed, and all objects are its own. A stand-in compares equal to the compiled class and has
its hash, and `isinstance` and `issubclass` do not distinguish the two. Only ``type(x) is module.Class`` is
false.

Calls of objects (``x(a)``) and their items (``x[a]``, ``x[i] = a``) are fields of the class, too. If a
compiled class has such fields, and may be a base, the objects that its stand-in makes are of the stand-in
itself, which is derived from the class.

A class statement that names a stand-in derives from the compiled class. The metaclass of stand-ins would do
the same, but it is not asked if another base has a metaclass of its own. So the function that makes classes
is replaced, as soon as there is a stand-in that may be a base. What derived classes inherit, and call by
`super`, are the constructors in the dictionary of the compiled class, which can be replaced (`inherited`).

Other compiled modules look up a class when they are loaded, and then read its fields. So while a compiled
module is being loaded, the classes are where the stand-ins were (`withdrawn`).

In: a compiled module, and a class that it holds. Out: `inherited`, `is_own`, `place` and `withdrawn`.
"""

from __future__ import annotations

import abc
import builtins
import contextlib
import copyreg
import functools
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, cast

from numelt import _core
from numelt.compat.libraries import is_left_alone
from numelt.compat.wrapping import drawing, for_compiled

__all__ = ["inherited", "is_own", "place", "withdrawn"]

# CPython's flag of classes from which classes may be derived
_MAY_BE_BASE = 1 << 10
# the attribute of a stand-in that holds the compiled class
_KEY = "__numelt__"
# the class of methods that are fields of a compiled class
_SLOT = types.WrapperDescriptorType
# methods of objects that statements call by fields of the class, and that may take arrays
_STATEMENTS = ("__call__", "__getitem__", "__setitem__")

# by compiled class: the stand-in
_stand_ins: dict[type, type] = {}
# by id of a module with stand-ins: the module, and by name its compiled classes and their stand-ins
_places: dict[int, tuple[types.ModuleType, dict[str, type], dict[str, type]]] = {}
# how many compiled modules are being loaded
_loading = 0
_lock = threading.Lock()


def is_own(cls: type, module: types.ModuleType) -> bool:
    """Return whether a compiled module has made this class, whatever module the class names."""
    name = cls.__module__
    if name == module.__name__:
        return True
    if is_left_alone(name) or "<locals>" in cls.__qualname__:
        return False
    held = getattr(sys.modules.get(name), cls.__name__, None)
    return not (held is cls or (isinstance(held, _StandIn) and _compiled(held) is cls))


def _compiled(cls: type) -> Any:
    """Return the compiled class of a stand-in."""
    return vars(cls)[_KEY]


class _StandIn(type):
    """The class of stand-ins."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not vars(cls).keys().isdisjoint(_STATEMENTS):
            return super().__call__(*args, **kwargs)
        args, kwargs = for_compiled(args, kwargs)
        return _compiled(cls)(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _compiled(cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _compiled(cls))

    def __eq__(cls, other: object) -> Any:
        return other is cls or other is _compiled(cls)

    def __hash__(cls) -> int:
        return hash(_compiled(cls))

    @property
    def __wrapped__(cls) -> Any:
        """The class whose signature `inspect` shows."""
        return _compiled(cls)


class _Base(_StandIn, abc.ABCMeta):
    """The class of stand-ins for classes that may be bases, also together with abstract classes."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any], **kwargs: Any) -> Any:
        """Make a stand-in, or a class of a library that names one as a base. It is derived from the class."""
        if _KEY in space:
            return super().__new__(cls, name, bases, space)
        plain = tuple(_compiled(base) if isinstance(base, _StandIn) else base for base in bases)
        return types.new_class(name, plain, kwargs, lambda body: body.update(space))


class _Final(_StandIn):
    """The class of stand-ins for classes that may not be bases."""

    def __getattr__(cls, name: str) -> Any:
        return getattr(_compiled(cls), name)

    def __dir__(cls) -> list[str]:
        return dir(_compiled(cls))


def _new(of: type) -> Any:
    """Return the method of a stand-in that makes an object."""
    new = of.__new__

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = for_compiled(args, kwargs)
        makes_its_own = not vars(cls).keys().isdisjoint(_STATEMENTS)
        return new(cls if makes_its_own else of, *args, **kwargs)

    return __new__


def _init(of: Any) -> Any:
    """Return the method of a stand-in that prepares an object, also one of a class derived from the class."""
    init = of.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        args, kwargs = for_compiled(args, kwargs)
        init(self, *args, **kwargs)

    return __init__


def _reduce_ex(of: Any) -> Any:
    """Return the method for pickles of objects of a stand-in."""

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return _named(of.__reduce_ex__(self, protocol))

    return __reduce_ex__


def _refuse(of: type) -> Any:
    def __init_subclass__(cls: type) -> None:
        raise TypeError(f"type '{of.__module__}.{of.__qualname__}' is not an acceptable base type")

    return __init_subclass__


def _is_read_in_c(cls: type) -> bool:
    """Return whether this is a class whose constructor gets its arguments in C.

    Pickles name classes, and an object that writes pickles by itself may name the compiled one.
    """
    own = vars(cls)
    if type(cls) is not type or issubclass(cls, BaseException) or "__reduce_ex__" in own:
        return False
    new, init = own.get("__new__"), own.get("__init__")
    return isinstance(new, types.BuiltinFunctionType) or isinstance(init, _SLOT)


def _made(of: Any) -> type:
    """Return a new stand-in for a compiled class."""
    space: dict[str, Any] = {
        _KEY: of, "__slots__": (), "__doc__": of.__doc__,
        "__module__": of.__module__, "__qualname__": of.__qualname__,
    }  # fmt: skip
    if not of.__flags__ & _MAY_BE_BASE:
        space |= {"__new__": _new(of), "__init_subclass__": _refuse(of)}
        return _Final(of.__name__, (), space)
    if of.__new__ is not object.__new__:
        space["__new__"] = _new(of)
    if of.__init__ is not object.__init__:
        space["__init__"] = _init(of)
    for name in _STATEMENTS:
        if isinstance(vars(of).get(name), _SLOT):
            space[name] = drawing(vars(of)[name])
    space["__reduce_ex__"] = _reduce_ex(of)
    _have_classes_derived()
    made: type = _Base(of.__name__, (of,), space)
    return made


def inherited(cls: type) -> dict[str, Any]:
    """Return the constructor of a class with a stand-in that derived classes inherit, and call by `super`."""
    if not cls.__flags__ & _MAY_BE_BASE:
        return {}
    own = vars(cls)
    methods = {"__init__": drawing(own["__init__"])} if isinstance(own.get("__init__"), _SLOT) else {}
    if isinstance(own.get("__new__"), types.BuiltinFunctionType):
        methods["__new__"] = cast(Any, staticmethod(drawing(own["__new__"])))
    return methods


@functools.cache
def _have_classes_derived() -> None:
    """Have class statements that name stand-ins derive from the compiled classes."""
    builtins.__build_class__ = _core.ClassStatements(builtins.__build_class__, _Base, _KEY)


def place(module: types.ModuleType, name: str, cls: type) -> type | None:
    """Put a stand-in for a class into its module, and return it; or return None if the class needs none."""
    stand_in = _stand_ins.get(cls)
    if stand_in is None:
        if not _is_read_in_c(cls):
            return None
        stand_in = _stand_ins[cls] = _made(cls)
        if cls not in copyreg.dispatch_table:
            copyreg.pickle(cls, cast(Any, _reduced))
    with _lock:
        _, classes, stand_ins = _places.setdefault(id(module), (module, {}, {}))
        classes[name], stand_ins[name] = cls, stand_in
        if not _loading:  # modules that are being loaded have loaded this one, and look the class up
            setattr(module, name, stand_in)
    return stand_in


def _reduced(value: Any) -> Any:
    """Return what a pickle holds of an object of a compiled class."""
    return _named(value.__reduce_ex__(4))


def _named(reduced: Any) -> Any:
    """Return the result of ``__reduce_ex__`` with stand-ins for classes: their names are looked up."""
    if not isinstance(reduced, tuple):
        return reduced
    made_by, args, *rest = reduced
    return _looked_up(made_by), tuple(map(_looked_up, args)), *rest


def _looked_up(value: Any) -> Any:
    """Return the stand-in for a class, and any other value itself."""
    return _stand_ins.get(value, value) if isinstance(value, type) else value


@contextlib.contextmanager
def withdrawn() -> Iterator[None]:
    """Put the compiled classes in the places of the stand-ins for a while."""
    global _loading
    with _lock:
        _loading += 1
        if _loading == 1:
            for module, classes, stand_ins in _places.values():
                _replace(vars(module), stand_ins, classes)
    try:
        yield
    finally:
        with _lock:
            _loading -= 1
            if _loading == 0:
                for module, classes, stand_ins in _places.values():
                    _replace(vars(module), classes, stand_ins)


def _replace(space: dict[str, Any], old: dict[str, type], new: dict[str, type]) -> None:
    """Replace what a module holds, except where the library has put something else."""
    if space.items() >= old.items():  # thousands of names are compared when a large library is imported
        space.update(new)
        return
    space.update({name: cls for name, cls in new.items() if space.get(name) is old[name]})
