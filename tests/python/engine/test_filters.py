"""Filters get the program of each batch; their result runs instead; invalid ones are left out."""

import doctest
import os
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import hypothesis.strategies as st
import numpy
import pytest
from hypothesis import HealthCheck, given, settings

import numelt
from numelt import filters

from ..support.compare import as_numpy
from .test_random_programs import agree, statement

EXTENDING = Path(__file__).parents[3] / "docs" / "extending.md"


@contextmanager
def applied(*functions):
    """Apply filters to all batches inside a ``with`` block."""
    numelt.flush()
    for function in functions:
        filters.register(function)
    try:
        yield
    finally:
        for function in functions:
            if function in filters.registered():
                filters.remove(function)


def identity(program):
    return program


def operations(program):
    return [instruction.op for instruction in program.instructions]


def test_what_a_filter_sees():
    seen = []
    with applied(lambda program: seen.append((str(program), program)) or None):
        x = numelt.arange(12.0).reshape(3, 4)
        y = (x[:, ::-2] * 2.5).sum(axis=1)
        assert y.tolist() == [10.0, 30.0, 50.0]
    ((text, program),) = seen
    assert text == str(program)
    assert operations(program) == ["range", "multiply", "sum"]
    assert len(program) == 3
    _, product, total = program.instructions
    view, number = product.inputs
    assert (product.op, product.dtype, product.axes) == ("multiply", "f64", ())
    assert (view.base, view.dtype, view.shape, view.strides, view.offset) == (0, "f64", (3, 2), (32, -16), 24)
    assert number.dtype == "f64"
    assert number.value == 2.5
    assert number.text == f"${number.number}"
    assert program.literals[number.number].value == 2.5
    assert total.axes == (1,)
    assert total.inputs[0] == product.out
    assert product.text in text
    assert str(view) in product.text
    base = program.bases[product.out.base]
    assert (base.nbytes, base.input, base.output) == (48, False, False)
    assert [b.output for b in program.bases].count(True) == 2
    assert filters.Program(text) == program


def test_a_filter_is_called_for_each_batch_and_no_longer():
    calls = []

    def count(program):
        calls.append(len(program))
        return program

    with applied(count):
        assert filters.registered() == (count,)
        for n in range(6):
            assert float((numelt.arange(5.0) + n).sum()) == 10 + 5 * n
        a = numelt.ones((3, 3))
        assert float((a @ a)[0, 0]) == 3
        assert numelt.zeros(4).tolist() == [0.0] * 4
        assert numelt.cumsum(numelt.ones(4)).tolist() == [1, 2, 3, 4]
        assert a.max() == 1
        assert a.min() == 1
    assert sum(calls) >= 6 * 3 + 2 + 1 + 2 + 2
    before = len(calls)
    assert float((numelt.arange(5.0) + 1).sum()) == 15
    assert len(calls) == before
    assert filters.registered() == ()


def test_folding_constants():
    def fold(program):
        """x + a + b, whose intermediate result nobody holds, becomes x + (a + b)."""
        for at in range(len(program) - 1, 0, -1):
            first, second = program.instructions[at - 1 : at + 1]
            if first.op == second.op == "add" and first.out == second.inputs[0]:
                (x, a), (_, b) = first.inputs, second.inputs
                number = program.add_literal(a.value + b.value, "f64")
                program.replace(at, f"{second.out} = add.f64 {x}, ${number}")
                program.remove(at - 1)
        return program

    x = numelt.arange(5.0)
    numelt.flush()
    ran = []
    with applied(fold, lambda program: ran.append(operations(program))):
        y = x + 1.0 + 2.0 + 3.0
        assert y.tolist() == [6.0, 7.0, 8.0, 9.0, 10.0]
    assert ran == [["add"]]


def test_removing_a_dead_instruction():
    def remove_dead(program):
        for at in range(len(program) - 1, -1, -1):
            written = program.instructions[at].out.base
            later = program.instructions[at + 1 :]
            read = any(view.base == written for i in later for view in i.inputs if hasattr(view, "base"))
            if not read and not program.bases[written].output:
                program.remove(at)
        return program

    x = numelt.arange(5.0)
    numelt.flush()
    ran = []
    with applied(remove_dead, lambda program: ran.append(operations(program))):
        numelt.exp(x) * 2
        y = x + 1
        assert y.tolist() == [1, 2, 3, 4, 5]
    assert ran == [["add"]]


def test_replacing_a_function_by_a_polynomial():
    def cheap_sine(program):
        for at in range(len(program) - 1, -1, -1):
            instruction = program.instructions[at]
            if instruction.op == "sin":
                (x,), out = instruction.inputs, instruction.out
                base = program.add_base(program.bases[out.base].nbytes)
                square = str(out).replace(f"%{out.base}[", f"%{base}[")
                sixth, one = program.add_literal(-1 / 6, "f64"), program.add_literal(1, "f64")
                program.replace(at, f"{square} = square.f64 {x}")
                program.insert(at + 1, f"{square} = multiply.f64 {square}, ${sixth}")
                program.insert(at + 2, f"{square} = add.f64 {square}, ${one}")
                program.insert(at + 3, f"{out} = multiply.f64 {square}, {x}")
        return program

    x = numpy.linspace(-0.1, 0.1, 50)
    with applied(cheap_sine):
        y = numelt.sin(numelt.asarray(x)) + 1
        assert numpy.array_equal(as_numpy(y), (x * x * (-1 / 6) + 1) * x + 1)
    assert numpy.array_equal(as_numpy(numelt.sin(numelt.asarray(x))), numpy.sin(x))


def test_inserting_and_the_order_of_filters():
    def double_last(program):
        last = program.instructions[-1]
        two = program.add_literal(2, last.out.dtype)
        program.append(f"{last.out} = multiply.{last.out.dtype} {last.out}, ${two}")
        return program

    def increment_last(program):
        last = program.instructions[-1]
        one = program.add_literal(1.0, "f64")
        program.insert(len(program), f"{last.out} = add.f64 {last.out}, ${one}")
        return filters.Program(str(program))

    with applied(double_last, increment_last):
        assert (numelt.arange(3.0) - 1).tolist() == [-1.0, 1.0, 3.0]
    with applied(increment_last, double_last):
        assert (numelt.arange(3.0) - 1).tolist() == [0.0, 2.0, 4.0]


def test_lists_of_instructions():
    program = filters.Program("base %0 8 out\nconst $0 = f64 1.0\n%0[f64 (1)] = copy.f64 $0")
    line = program.instructions[0].text
    other = program.copy()
    program.insert(-1, line)
    program.insert(99, line)
    assert len(program) == 3
    assert len(other) == 1
    assert program != other
    program.remove(-1)
    program.replace(-2, line.replace("copy", "negative"))
    assert operations(program) == ["negative", "copy"]
    assert (program.add_base(24), program.add_literal(2 + 1j, "c128")) == (1, 1)
    assert program.literals[1].value == 2 + 1j
    assert repr(program.bases[1]) == "<Base of 24 bytes>"
    assert program.verify() is None
    for index in (2, -3):
        with pytest.raises(IndexError):
            program.remove(index)
    for text in ("", line + "\n" + line, "base %0 8"):
        with pytest.raises(ValueError, match="not one instruction"):
            program.append(text)
    for text in ("nonsense", "%0[f64 (1)] = nothing.f64 $0"):
        with pytest.raises(ValueError, match="line 1"):
            program.append(text)
    with pytest.raises(ValueError, match="float"):
        program.add_literal(1, "float")
    with pytest.raises(OverflowError):
        program.add_literal(300, "u8")
    program.append(line.replace("$0", "$7"))
    with pytest.raises(ValueError, match=r"\$7"):
        program.verify()
    with pytest.raises(ValueError, match=r"\$7"):
        _ = program.instructions[-1].inputs


def raising(program):
    raise LookupError("nothing found")


def unreturned(program):
    program.remove(0)


BAD = [
    (raising, "nothing found", LookupError),
    (unreturned, "changed, and not returned", ValueError),
    (lambda program: 3, "returns a Program or None, not int", TypeError),
    (lambda program: filters.Program(""), "recorded bases have changed", ValueError),
    (lambda program: program.remove(0) or program, "before anything is written", ValueError),
    (lambda program: program.remove(-1) or program, "nothing writes the output", ValueError),
    (
        lambda program: program.append("%0[f64 (9999999)] = copy.f64 $0") or program,
        "reaches bytes",
        ValueError,
    ),
    (lambda program: program.append("garbage"), "line 1", ValueError),
    (lambda program: program.append("%9[f64 (5)] = copy.f64 $0") or program, "does not exist", ValueError),
]


@pytest.mark.parametrize(("bad", "text", "cause"), BAD)
@pytest.mark.parametrize("n", [5, 300_000])
def test_a_bad_filter_is_named_and_left_out(bad, text, cause, n):
    calls = []
    with applied(bad, lambda program: calls.append(len(program))):
        x = numelt.arange(float(n)) + 1
        with pytest.raises(filters.FilterError, match=text) as caught:
            x.tolist()
        assert caught.value.filter == bad.__qualname__
        assert bad.__qualname__ in str(caught.value)
        assert isinstance(caught.value.__cause__, cause)
        assert calls == [2]
        # the batch has run, and nothing of it is lost
        assert x[:3].tolist() == [1.0, 2.0, 3.0]
        assert float(x[-1]) == n
    assert (x + 1)[:2].tolist() == [2.0, 3.0]


def test_several_bad_filters():
    def first(program):
        raise LookupError("one")

    def second(program):
        raise LookupError("two")

    with applied(first, second):
        x = numelt.arange(4.0) + 1
        with pytest.raises(filters.FilterError, match="two") as caught:
            numelt.flush()
        assert caught.value.__context__.filter == first.__qualname__
        assert x.tolist() == [1, 2, 3, 4]


def test_a_filter_that_removes_itself_and_fails():
    def once(program):
        filters.remove(once)
        raise LookupError("once")

    with applied(once):
        x = numelt.arange(4.0) + 1
        with pytest.raises(filters.FilterError, match="once"):
            numelt.flush()
        assert x.tolist() == [1, 2, 3, 4]


def test_exceptions_of_signals_go_on():
    def interrupted(program):
        signal.raise_signal(signal.SIGINT)
        return program

    reached = []
    # a shell makes its background jobs ignore SIGINT
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with applied(raising, interrupted, lambda program: reached.append(program)):
            x = numelt.arange(4.0) + 1
            with pytest.raises(KeyboardInterrupt) as caught:
                x.tolist()
            assert caught.value.__context__.filter == "raising"
            assert x.tolist() == [1, 2, 3, 4]
            assert not reached
    finally:
        signal.signal(signal.SIGINT, before)


def test_registering():
    with pytest.raises(TypeError):
        filters.register(3)
    with pytest.raises(ValueError, match="identity"):
        filters.remove(identity)
    with applied(identity), pytest.raises(ValueError, match="identity"):
        filters.register(identity)

    class Holder:
        def method(self, program):
            return program

    holder = Holder()
    filters.register(holder.method)
    filters.remove(holder.method)
    assert filters.registered() == ()


def test_warnings_keep_their_lines():
    x = numelt.arange(3.0)
    with applied(identity), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = 1 / x
        z = numelt.log(x - 5)
        numelt.flush()
    lines = sorted({warning.lineno for warning in caught})
    start = test_warnings_keep_their_lines.__code__.co_firstlineno
    assert [line - start for line in lines] == [4, 5]
    assert y.tolist()[1:] == [1.0, 0.5]
    assert numpy.isnan(as_numpy(z)).all()
    with applied(identity), numelt.errstate(divide="raise"), pytest.raises(FloatingPointError):
        _ = 1 / x


def test_a_filter_that_computes():
    """Operations that run because of a filter are not filtered: the batch has run when it returns."""
    totals = []

    def total(program):
        totals.append(float(numelt.arange(4.0).sum()))
        return program

    with applied(total):
        x = numelt.arange(4.0) + 1
        assert x.tolist() == [1, 2, 3, 4]
    assert totals[:1] == [6.0]


def test_values_that_are_left_out_are_made():
    with applied(identity):
        x = numelt.arange(100_000.0)
        numelt.flush()
        for _ in range(3):
            y = x + 1
            total = float((y * y).sum())
            assert total == numpy.square(numpy.arange(100_000.0) + 1).sum()
            x += 1
            assert float(y[5]) == float(x[5])
            x -= 1


def test_in_place_views_and_shared_memory():
    own = numpy.arange(10.0)
    with applied(identity):
        x = numelt.asarray(own)
        x[2:] += x[:-2]
        x[::-1] *= 2
        expected = numpy.arange(10.0)
        expected[2:] += expected[:-2]
        expected *= 2
        assert numpy.array_equal(own, expected) or numpy.array_equal(as_numpy(x), expected)
        memory = memoryview(numelt.ones(3) * 2)
        assert memory.tolist() == [2.0] * 3
        assert numelt.empty((0, 3)).sum() == 0
        assert float(numelt.asarray(2.0) + 1) == 3


@pytest.mark.core
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=st.lists(statement, min_size=3, max_size=20), scale=st.sampled_from([1, 1, 23]))
@pytest.mark.parametrize(
    "filter_", [identity, lambda program: None, lambda program: filters.Program(str(program))]
)
def test_random_programs(filter_, program, scale):
    with applied(filter_):
        agree(program, scale)


def test_threads():
    calls = []

    def slow(program):
        calls.append(len(program))
        return program

    failures = []

    def work(k):
        for n in (10, 200_000):
            for turn in range(15):
                x = numelt.arange(float(n)) * 2 + k + turn
                if float(x.sum()) != n * (n - 1) + n * (k + turn):
                    failures.append((k, n, turn))

    with applied(slow):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    assert calls


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forks():
    calls = []
    with applied(lambda program: calls.append(os.getpid())):
        x = numelt.arange(1000.0) + 1
        child = os.fork()
        if child == 0:
            code = 1
            try:
                right = float(x.sum()) == 500_500 and float((x * 2)[3]) == 8 and calls[-1] == os.getpid()
                code = 0 if right else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert calls
        assert set(calls) == {os.getpid()}
        assert float(x[1]) == 2


def test_a_bad_filter_at_exit_is_told():
    program = """
import numelt as np
x = np.arange(4.0)
np.flush()
np.filters.register(lambda program: program.missing)
x += 1
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0
    assert "FilterError: filter <lambda>: AttributeError" in done.stderr


def test_examples_of_the_document():
    text = EXTENDING.read_text()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(text, {}, EXTENDING.name, str(EXTENDING), 0))
    assert runner.failures == 0
    assert runner.tries > 10
    assert filters.registered() == ()
