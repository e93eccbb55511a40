"""Classes of a library's compiled module whose constructors read arrays in C, and modules made by SWIG."""

import abc
import copy
import importlib.util
import inspect
import pickle
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

import numpy
import pytest

import numelt
from numelt.compat import constructors


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A compiled module that has been loaded under numelt, as installed libraries are."""
    folder = tmp_path_factory.mktemp("site-packages")
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        pytest.skip("no header files of CPython")
    file = folder / f"compiled_classes{sysconfig.get_config_var('EXT_SUFFIX')}"
    source = Path(__file__).with_name("compiled_classes.c")
    folders = [f"-I{include}", f"-I{numpy.get_include()}"]
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", *folders, str(source), "-o", str(file)], check=True)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("compiled_classes")
    finally:
        sys.path.remove(str(folder))
        del sys.modules["compiled_classes"]


def test_a_constructor_takes_ours(library):
    x = numelt.arange(4.0)
    for of in (library.Sum(x), library.Sum(values=x, weights=numelt.ones(4)), library.Sum(numpy.arange(4.0))):
        assert of.value == 6.0
        assert of.plus(x + 1) == 7.0
    assert library.Mean(x, weights=x).value == 3.5
    with pytest.raises(TypeError, match="must be numpy"):
        library.Sum([1.0])


@pytest.mark.parametrize("name", ["Sum", "Mean"])
def test_a_stand_in_looks_like_the_class(library, name):
    cls = getattr(library, name)
    made = cls(numelt.ones(2))
    assert isinstance(made, cls)
    assert issubclass(type(made), cls)
    assert not isinstance(3, cls)
    assert (cls, type(made)) == (type(made), cls)
    assert [cls] != [int]
    assert {cls: 1}[type(made)] == 1
    assert repr(cls) == repr(type(made))
    assert (cls.__name__, cls.__module__, cls.__doc__) == (name, type(made).__module__, type(made).__doc__)
    assert cls.plus(made, numelt.ones(1)) == made.value + 1
    assert set(dir(type(made))) <= set(dir(cls))
    assert inspect.isclass(cls)
    if name == "Sum":
        assert list(inspect.signature(cls).parameters) == ["values", "weights"]
        assert isinstance(cls.__new__(cls), cls)


def test_calls_and_items_take_ours(library):
    mean = library.Mean(numelt.ones(2))
    assert mean(numelt.ones(1)) == mean[numelt.ones(1)] == 2.0
    mean[numelt.ones(1)] = numelt.arange(3.0) + 4
    assert mean.value == 4.0
    assert type(mean) is library.Mean
    with pytest.raises(TypeError, match="an array is required"):
        mean(3)


def test_what_c_code_makes_is_an_instance(library):
    assert isinstance(library.Mean.from_c(2.0), library.Mean)


def test_classes_derived_from_stand_ins_are_derived_from_the_class(library):
    class Other(abc.ABC):
        @property
        @abc.abstractmethod
        def twice(self): ...

    class Simple(library.Mean):
        def __new__(cls, values):
            return super().__new__(cls)

        def __init__(self, values):
            library.Mean.__init__(self, values)
            self.given = values

    class Derived(Simple, library.Mean, Other):
        @property
        def twice(self):
            return 2 * self.value

    derived = Derived(numelt.ones(3))
    assert derived.twice == 2.0
    assert type(derived) is Derived
    assert type(derived.given) is numelt.ndarray
    assert isinstance(derived, library.Mean)
    assert issubclass(Derived, library.Mean)
    assert isinstance(derived, Derived)
    assert not isinstance(library.Mean(numelt.ones(1)), Derived)
    assert type(Simple) is type
    assert type(Derived) is abc.ABCMeta
    assert Derived.__mro__[1:3] == (Simple, library.Mean)
    assert len({Derived, library.Mean}) == 2
    with pytest.raises(TypeError, match=r"type 'elsewhere.Sum' is not an acceptable base type"):
        type("Derived", (library.Sum,), {})


def test_classes_derived_from_stand_ins_have_the_order_of_bases_of_the_class(library):
    class Shallow(library.Mean):
        pass

    class Deep(Shallow, library.Weighted):
        pass

    assert library.Weighted.name == Deep.name == "weighted"
    assert [cls.__name__ for cls in Deep.__mro__] == ["Deep", "Shallow", "Weighted", "Mean", "object"]
    assert Deep.__call__(library.Weighted(numelt.ones(1)), numpy.ones(1)) == 20.0


def test_classes_derived_from_stand_ins_may_have_a_metaclass(library):
    callers = []

    class Meta(type):
        def __new__(cls, name, bases, space, **options):
            callers.append(sys._getframe(1).f_code.co_name)
            return super().__new__(cls, name, bases, space)

    class Other(metaclass=Meta):
        pass

    class Both(library.Mean, Other):
        pass

    class Alone(library.Mean, metaclass=Meta, option=1):
        pass

    name = sys._getframe().f_code.co_name
    assert callers == [name] * 3
    for cls in (Both, Alone):
        assert type(cls) is Meta
        assert cls.__mro__[1] == library.Mean
        assert isinstance(cls(numelt.ones(2)), library.Mean)


def test_derived_classes_inherit_a_constructor_that_takes_ours(library):
    class Plain(library.Mean):
        pass

    class Initialized(library.Mean):
        def __init__(self, values):
            super().__init__(values, weights=values)

    class Made(library.Mean):
        def __new__(cls, values):
            made = super().__new__(cls, values)
            made.given = values
            return made

    x = numelt.arange(3.0)
    for cls in (Plain, Initialized, Made):
        made = cls(x)
        assert type(made) is cls
        assert made.value == (5 / 3 if cls is Initialized else 1.0)
    assert Made(x).given is x
    assert Plain(values=x).plus(x + 3) == 4.0


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies(library, protocol):
    made = library.Mean(numelt.arange(3.0))
    data = pickle.dumps(made, protocol)
    assert b"numelt" not in data
    assert pickle.dumps(library.Mean.from_c(1.0), protocol) == data
    for again in (pickle.loads(data), copy.copy(made), copy.deepcopy(made)):
        assert (type(again), again.value) == (type(made), 1.0)
    assert pickle.loads(pickle.dumps(library.Mean, protocol)) is library.Mean
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(library.Sum(numelt.ones(1)), protocol)


def test_modules_that_are_being_loaded_find_the_class(library):
    stand_in = library.Mean
    assert not library.same_class(stand_in)
    with constructors.withdrawn():
        assert library.same_class(library.Mean)
        with constructors.withdrawn():
            assert library.same_class(library.Mean)
        assert library.same_class(library.Mean)
        library.placed = type(stand_in.from_c(1.0))
        assert constructors.place(library, "placed", library.placed) is stand_in
        assert library.same_class(library.placed)
    assert library.Mean is library.placed is stand_in
    with constructors.withdrawn():
        library.Mean = 3
    assert library.Mean == 3
    library.Mean = stand_in


def test_functions_made_by_swig_take_ours(library):
    assert library.first(numelt.arange(3.0) + 2) == 2.0
    # as it is: C code reads its fields
    assert isinstance(library.delete_Sum, types.BuiltinFunctionType)
    assert library.Sum_swigregister(library.delete_Sum) == 8


def test_a_class_of_another_module_is_not_the_modules_own():
    module = types.ModuleType("some")
    assert not any(constructors.is_own(cls, module) for cls in (int, numpy.ndarray, numelt.ndarray, Path))
    local = type("Own", (), {"__module__": "some"})
    assert constructors.is_own(local, module)


def test_masked_columns_keep_their_mask():
    """The classes of astropy's columns are derived from two compiled classes, one derived from the other."""
    table = pytest.importorskip("astropy.table")
    for np in (numpy, numelt):
        column = table.MaskedColumn(["a", "b", None], dtype=object, mask=[False, False, True])
        assert column[np.array([False, True, True])].mask.tolist() == [False, True]
