"""`array` takes over what nobody else can look at, and copies everything else."""

import functools

import numpy
import pytest

import numelt as np
from numelt import array

N = 200_000
made = []


def address(x):
    return numpy.asarray(x).__array_interface__["data"][0]


def make():
    x = numpy.arange(float(N))
    made.append(address(x))
    return x


def is_taken(a):
    assert numpy.array_equal(numpy.asarray(a), numpy.arange(float(N)))
    return address(a) == made[-1]


def test_what_a_call_has_just_made_is_taken_over():
    # names for the results: pytest keeps what is made inside an `assert`
    of_dtype = np.array(make(), dtype=float)
    assert is_taken(of_dtype)
    by_name = array(make())
    assert is_taken(by_name)
    a = np.array(make())
    assert is_taken(a)
    assert a.flags.owndata
    assert a.flags.writeable
    assert a.base is None
    a[0] = 5
    a += np.array(make())
    assert float(a[0]) == 5
    assert float(a[1]) == 2


def test_of_an_operator_too():
    assert np.array(make() * 2.0).tolist() == (numpy.arange(float(N)) * 2).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.array(x),
        lambda x: np.array((lambda: x)()),
        lambda x: functools.partial(np.array, x)(),
        lambda x: np.array([x][0]),
        lambda x: np.array(*(x,)),
        lambda x: next(map(np.array, (x,))),
        lambda x: np.array(x.view()),
        lambda x: (np.array(y := x.view()), y)[0],
    ],
)
def test_what_somebody_holds_is_copied(call):
    x = make()
    a = call(x)
    x[:] = -1
    assert not is_taken(a)


def test_what_only_code_in_c_holds_is_copied():
    held = functools.partial(np.array, make())
    first = held()
    first[:] = 0
    assert not is_taken(held())

    arguments = [make()]
    first = np.array(*arguments)
    first[:] = 0
    assert not is_taken(np.array(*arguments))


def test_kept_names_are_copied():
    a = np.array(x := make())
    x[:] = -1
    assert not is_taken(a)


def test_inside_another_call_nothing_is_taken_over():
    kept = functools.partial(np.array, make())

    class Own:
        # code in C that passes an array of its own to `array` while the frame is at a call of it
        __array__ = staticmethod(functools.partial(lambda *_, **__: numpy.asarray(kept())))

    first = np.array(Own())
    first[:] = 0
    assert not is_taken(kept())


def test_another_dtype_or_layout_is_converted():
    assert np.array(make(), dtype="f4").dtype == "f4"
    assert np.array(numpy.ones((500, 500)).T).flags.f_contiguous


def test_the_frame_s_variables_are_not_kept():
    import gc
    import weakref

    held = numpy.ones(10)
    watch = weakref.ref(held)
    a = np.array(make())
    del held
    gc.collect()
    assert watch() is None
    assert is_taken(a)
