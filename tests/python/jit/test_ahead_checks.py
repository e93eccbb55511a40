"""What the code of iterations ahead need not look at in every iteration, and results where it must."""

import functools
import math
import re

import numpy
import pytest

import numelt as np
from numelt._jit import reporting

from .random_programs import outcome
from .test_random import load

pytestmark = pytest.mark.usefixtures("ahead")


def code_of_iterations(function):
    """Return the text of the iterations ahead of a compiled function's first loop."""
    variants = [variant for unit in reporting.units(function) for variant in unit.report()["variants"]]
    for variant in variants:
        lines = variant["code"].splitlines()
        depths = [len(line) - len(line.lstrip()) for line in lines]
        for number, line in enumerate(lines):
            if re.match(r" *ahead ", line):
                rest = range(number + 1, len(lines))
                end = next((k for k in rest if depths[k] <= depths[number]), len(lines))
                return "\n".join(lines[number + 1 : end])
    return ""


def checked(function, *makers):
    """Compare a compiled function with CPython for each kind of arguments; return its iterations' code."""
    compiled = np.jit(function)
    for make in makers:
        assert outcome(compiled, make()) == outcome(function, make())
    return code_of_iterations(compiled)


def around(grid, out):
    rows, columns = grid.shape
    for i in range(rows):
        for j in range(columns):
            below = grid[(i - 1) % rows, j] + grid[i, (j - 1) % columns]
            out[i, j] = below + grid[(i + 1) % rows, j] - grid[i, (j + 1) % columns]


def test_neighbours_that_wrap_around_need_no_division():
    def grids(rows, columns):
        grid = numpy.random.default_rng(4).random((rows, columns))
        return lambda: (grid, numpy.zeros((rows, columns)))

    sizes = [(60, 70), (1, 50), (50, 1), (2, 2), (3, 40), (0, 5), (5, 0)]
    code = checked(around, *(grids(*size) for size in sizes))
    assert code
    assert "remainder" not in code


def moved(x, out, by, n):
    for i in range(len(x)):
        out[i] = x[(i + by) % n] + x[(i - 3) % n] + x[(i + 2) % 5]


def test_indices_that_wrap_around_several_times():
    def arguments(by, n):
        return lambda: (numpy.arange(400.0), numpy.zeros(400), by, n)

    many = [(1, 400), (-1, 400), (900, 400), (-900, 400), (2, 100), (0, 1), (3, 2), (2**40, 400), (1, 401)]
    checked(moved, *(arguments(by, n) for by, n in many))
    for n in (0, -1, -400, -(2**63)):
        checked(moved, arguments(1, n))


def windows(image, out):
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            total = 0.0
            for a in range(i - 1, i + 2):
                for b in range(j - 1, j + 2):
                    total += image[a, b] * image[a, b]
            out[i, j] = total


def test_windows_do_not_end_iterations():
    def arguments(special=0.5):
        def make():
            points = numpy.random.default_rng(5).normal(size=(90, 80))
            points[60, 1] = special
            return points, numpy.zeros((90, 90))

        return make

    code = checked(windows, *(arguments(special) for special in (0.5, 1e200, math.inf, math.nan)))
    # a signal may end them, which is asked for once for many of them
    assert code.count("give up") <= 2 * code.count("poll")


def roots(x, out):
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])


def roots_of_some(x, out):
    for i in range(len(x)):
        if x[i] >= 0.0:
            out[i] = np.sqrt(x[i])


@pytest.mark.parametrize("function", [roots, roots_of_some])
@pytest.mark.parametrize("at", [0, 77, 19_999])
def test_roots_of_negative_numbers(function, at):
    def arguments(special):
        def make():
            x = numpy.random.default_rng(6).random(20_000)
            x[at] = special
            return x, numpy.zeros(20_000)

        return make

    for special in (-1.0, -0.0, -math.inf, math.inf, math.nan, 5e-324):
        checked(function, arguments(special))


def nearest(points, centers, labels):
    for i in range(points.shape[0]):
        best, least = 0, math.inf
        for c in range(centers.shape[0]):
            distance = 0.0
            for k in range(points.shape[1]):
                difference = points[i, k] - centers[c, k]
                distance += difference * difference
            if distance < least:
                best, least = c, distance
        labels[i] = best


def means(x, out):
    for i in range(len(x)):
        total = 0.0
        for k in range(max(0, i - 3), min(len(x), i + 4)):
            total += x[k]
        out[i] = total / (i + 1) if total >= 2 else 0.25


@pytest.mark.parametrize("function", [nearest, means])
def test_sums_that_are_compared_are_certainly_used(function):
    def arguments(special, columns=3):
        def make():
            rng = numpy.random.default_rng(7)
            points = rng.normal(size=(300, columns))
            points[200] = special
            if function is means:
                return points.reshape(-1), numpy.zeros(points.size)
            return points, rng.normal(size=(8, columns)), numpy.zeros(300, numpy.int64)

        return make

    code = checked(
        function,
        arguments(0.0),
        arguments(math.inf),
        arguments(1e308),
        arguments(math.nan),
        arguments(0.0, 0),
    )
    # `means` divides, where no divisor may be zero
    assert code.count("suspect") == (function is means)


def segmented(image, owners, strength, radius, out):
    height, width = image.shape
    for i in range(height):
        for j in range(width):
            best = 0.0
            for a in range(max(i - radius, 0), min(i + radius + 1, height)):
                for b in range(max(j - radius, 0), min(j + radius + 1, width)):
                    best = max(best, image[a, b] * strength[a, b] + owners[a, b])
            out[i, j] = best


def test_windows_of_several_arrays():
    def arguments(rows, columns, radius):
        rng = numpy.random.default_rng(8)
        inputs = [rng.random((40, 30)), rng.random((rows, columns)), rng.random((40, 30))]
        return lambda: (*inputs, radius, numpy.zeros((40, 30)))

    checked(segmented, *(arguments(*size) for size in [(40, 30, 2), (50, 60, 3), (40, 29, 2), (39, 30, 2)]))


def doubled(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * 2.0


@pytest.mark.parametrize("at", [(0, 0), (500, 999), (1999, 999)])
def test_much_that_was_written_is_written_back(at):
    def make():
        x = numpy.ones((2000, 1000))
        x[at] = 1e308
        return x, numpy.full(x.shape, 7.0)

    assert checked(doubled, make)  # compiled code warns there, by leaving the iteration to CPython


def columns_and_rows(x, out):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            out[j, i] = out[i, j] = x[i] / x[j]


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i2"])
def test_columns_are_written_back(dtype):
    def make():
        x = numpy.arange(1.0, 161.0)
        x[150] = 0.0
        return x, numpy.full((160, 160), 7, dtype)

    code = checked(columns_and_rows, make)
    assert bool(code) == (dtype != "f2")  # CPython runs loops that write float16


def parts_of_rows(kind):
    """Return the text of a function that writes a part of each row and column, which depends on the row."""
    ranges = {
        "above": "range(i + 1, n)",
        "below": "range(i)",
        "backwards": "range(n - 1, i, -1)",
        "in steps": "range(2 * i, n, 3)",
        "around": "range(max(0, i - 2), min(n, i + 3))",
        "across": "range(n - i, n)",
    }
    return f"""import math

def f(x, out):
    n = len(x)
    for i in range(n):
        for j in {ranges[kind]}:
            out[i, j] = math.sqrt(x[i] + x[j])
            out[j, i] = x[j] - i
"""


# what is written along the first array's second axis, in the text of the iterations
WRITTEN = {
    "above": r"\.\(v\d+\+1\.\.v\d+\+0\)",
    "below": r"\.\(v\d+\+0\.\.v\d+\+1\)",
    "backwards": r"\.\(v\d+\+1\.\.v\d+\+0\)",
    "in steps": r"\.\(v\d+\+2\.\.v\d+\+0\)",
    "around": r"\.\(v\d+\+1\.\.v\d+\+1\)",
    "across": r"\.\(v\d+\+-1\.\.v\d+\+0\)",
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_parts_of_rows_and_columns_are_written_back(kind, tmp_path):
    function = load(tmp_path / "parts.py", parts_of_rows(kind))

    def make(at):
        x = numpy.arange(1.0, 161.0)
        x[at] = -1e6
        return x, numpy.full((160, 160), 7.0)

    compiled = np.jit(function)
    for at in [150, 80, 159, 0]:
        assert outcome(compiled, make(at)) == outcome(function, make(at))
    code = "\n".join(v["code"] for u in reporting.units(compiled) for v in u.report()["variants"])
    writes = " ".join(re.findall(r"writes \S+", code))
    assert re.search(WRITTEN[kind], writes), writes


def assigned_in_each(x, out):
    for i in range(len(x)):
        y = x[i] * 2.0
        out[i] = y


def read_before(x, out):
    total = 0
    for i in range(len(x)):
        total += x[i]
        out[i] = total


def assigned_in_some(x, out):
    for i in range(len(x)):
        if x[i] > 0.5:
            y = x[i]
        out[i] = y


@pytest.mark.parametrize(
    ("function", "tests"), [(assigned_in_each, False), (read_before, True), (assigned_in_some, False)]
)
def test_types_of_variables_that_no_iteration_reads_do_not_matter(function, tests):
    compiled = np.jit(function)
    for value in [0.0, 0.75]:
        x = numpy.full(1000, value)
        assert outcome(compiled, (x, x.copy())) == outcome(function, (x, x.copy()))
    code = "\n".join(v["code"] for u in reporting.units(compiled) for v in u.report()["variants"])
    before, _, _ = code.partition("ahead ")
    # the variables' types are tested before the first iterations
    assert ("equal.i8" in before) == tests


def roots(x):
    z = None
    try:
        for i in range(len(x)):
            y = x[i]
            z = math.sqrt(y)
    except ValueError:
        del z
    return i, y, z


def unbound_roots(x):
    try:
        for i in range(len(x)):
            y = math.sqrt(x[i])
    except ValueError:
        pass
    return y


@pytest.mark.parametrize("function", [roots, unbound_roots])
@pytest.mark.parametrize("at", [0, 1, 2, 700])
def test_variables_are_unbound_until_an_iteration_has_ended(function, at):
    def make():
        x = numpy.arange(1000.0)
        x[at] = -1.0
        return (x,)

    checked(function, make)


def one_step(x, out):
    for i in range(len(x)):
        number = int(x[i])
        if number % 2 == 0:
            number //= 2
        else:
            number = 3 * number + 1
        out[i] = number


def guarded_product(x, out):
    for i in range(len(x)):
        number = int(x[i])
        if number < 2**61:
            number = number * 4 - 3
        out[i] = number


def nine_times(x, out):
    for i in range(len(x)):
        out[i] = 9 * int(x[i])


@pytest.mark.parametrize("function", [one_step, guarded_product, nine_times])
def test_integers_that_are_too_large_in_one_branch(function):
    third, ninth = (2**63 - 1) // 3, (2**63 - 1) // 9
    edges = [third - 1, third, third + 1, ninth, ninth + 1, 2**61 - 1, 2**61, 2**63 - 1, 2**63 - 2, 0]
    edges += [-edge - offset for edge in edges for offset in (0, 1)]

    def make(values):
        x = numpy.arange(1000)
        x[700 : 700 + len(values)] = values
        return x, numpy.zeros(len(x), numpy.int64)

    several = [[edge] for edge in edges] + [[2**62, 2**61], [2**62] * 200]
    checked(function, *(functools.partial(make, values) for values in several))


def divided_by_truths(b, out):
    for i in range(len(b)):
        out[i] = 0.5 / b[i]


def test_divisions_by_false_warn():
    def make():
        b = numpy.ones(20_000, bool)
        b[15_000] = False
        return b, numpy.zeros(20_000)

    checked(divided_by_truths, make)


def overwritten(x, out):
    for i in range(len(x)):
        out[i] = x[i] * x[i]
        out[i] = 1.0


def of_last(x, out):
    for i in range(len(x)):
        out[0] = x[i] * x[i]


def of_last_in_rows(x, out):
    for i in range(len(x)):
        for j in range(i % 7):
            out[i] = x[j] * x[i]


def moved_on(x, out):
    for i in range(len(x)):
        for j in range(3):
            out[i + j] = x[i] * x[i]


@pytest.mark.parametrize("function", [overwritten, of_last, of_last_in_rows, moved_on])
def test_overflows_are_reported_where_the_element_is_overwritten(function):
    def arguments(special):
        def make():
            x = numpy.ones(3000)
            x[1234] = special
            return x, numpy.zeros(3002)

        return make

    checked(function, *(arguments(special) for special in (1.0, 1e300, math.nan, -math.inf)))


def added(x, out):
    for i in range(x.shape[0]):
        out[i] = 0.0
        for j in range(x.shape[1]):
            out[i] += x[i, j] * x[i, j]


def test_elements_to_which_a_loop_adds_are_not_checked_one_by_one():
    def arguments(special):
        def make():
            x = numpy.ones((60, 70))
            x[55, 66] = special
            return x, numpy.zeros(60)

        return make

    code = checked(added, *(arguments(special) for special in (1.0, 1e300, math.nan, math.inf)))
    assert code
    assert "suspect" not in code


@pytest.mark.parametrize("end", ["    return t", "        out[0] = t"])
def test_long_chains_of_products_are_compiled_in_time(end, tmp_path):
    # each value is an operand twice: a search that follows both would take 2**40 steps
    squares = "        t = t * t\n" * 40
    text = f"def f(x, out):\n    t = 0.0\n    for i in range(len(x)):\n        t = x[i]\n{squares}{end}\n"
    function = load(tmp_path / "chains.py", text)
    checked(function, lambda: (numpy.ones(50), numpy.zeros(1)), lambda: (numpy.full(50, 1.5), numpy.zeros(1)))


def rotated(tensors, rotation, out):
    for n in range(len(tensors)):
        for i in range(3):
            for j in range(3):
                total = 0.0
                for a in range(3):
                    for b in range(3):
                        factor = rotation[i, a] * rotation[j, b]
                        total += factor * tensors[n, a, b]
                out[n, i, j] = total


def spread(x, out):
    for i in range(len(x) - 1):
        rest = x[i + 1] - x[i] * x[i]
        out[i] += 3.0 * rest
        out[i + 1] -= 2.0 * rest


def attracted(position, velocity):
    n = len(position)
    for i in range(n):
        for j in range(i + 1, n):
            dx = position[i, 0] - position[j, 0]
            dy = position[i, 1] - position[j, 1]
            pull = 1.0 / (dx * dx + dy * dy + 0.5)
            velocity[i, 0] -= dx * pull
            velocity[i, 1] -= dy * pull
            velocity[j, 0] += dx * pull
            velocity[j, 1] += dy * pull


@pytest.mark.parametrize("function", [rotated, spread, attracted])
@pytest.mark.parametrize("special", [0.0, 1e308, math.inf, math.nan])
def test_sums_over_inner_loops_and_elements_that_are_added_to_twice_need_no_checks(function, special):
    def make(at):
        rng = numpy.random.default_rng(9)
        if function is rotated:
            tensors = rng.random((400, 3, 3))
            tensors[at, 1, 2] = special
            return tensors, 2.0 + rng.random((3, 3)), numpy.full((400, 3, 3), 7.0)
        if function is spread:
            x = rng.random(4000)
            x[at] = special
            return x, rng.random(4000)
        position = rng.random((400, 2))
        position[at, 0] = special
        return position, rng.random((400, 2))

    code = checked(function, *(functools.partial(make, at) for at in [0, 250, 399]))
    assert "suspect" not in code


def overwritten(x, out):
    for i in range(len(x) - 1):
        out[i + 1] = x[i] * x[i]
        out[i] = x[i]


def swapped(x, out):
    for i in range(len(x)):
        out[0], out[0] = x[i] * x[i], out[0] + 1.0


@pytest.mark.parametrize("function", [overwritten, swapped])
@pytest.mark.parametrize("at", [0, 1, 2500, 3998])
def test_conditions_are_met_where_a_number_is_overwritten(function, at):
    def make():
        x = numpy.ones(4000)
        x[at] = 1e200
        return x, numpy.full(4000, 7.0)

    checked(function, make)
    with numpy.errstate(over="raise"):
        checked(function, make)


def read_before_the_inner_loop(x, out):
    for i in range(len(x)):
        before = out[i, 0]
        for k in range(3):
            out[i, 0] = before + x[i, k]
            out[i, k] = x[i, k] * x[i, k]


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_condition_is_met_where_only_an_earlier_number_is_read(column):
    def make():
        x = numpy.ones((4000, 3))
        x[2000, column] = 1e200
        return x, numpy.full((4000, 3), 7.0)

    checked(read_before_the_inner_loop, make)
    with numpy.errstate(over="raise"):
        checked(read_before_the_inner_loop, make)


def mirrored(x, out):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            near = x[j] * x[j] - x[i] * 1e160
            size = math.sqrt(near * near + x[i])
            out[i, j] = size
            out[j, i] = size


def chosen(x, out):
    for i in range(len(x)):
        rest = x[i] * 4.0 - 1.0
        out[i, 0] = math.sqrt(rest) if rest > 0.5 else rest**2
        out[i, 1] = math.sqrt(rest + 1e3)


@pytest.mark.parametrize(("function", "most"), [(mirrored, 1), (chosen, 2)])
def test_roots_need_no_checks_of_what_they_are_made_of(function, most):
    def arguments(at, value):
        x = numpy.random.default_rng(5).random(90)
        x[at] = value
        return lambda: (x, numpy.zeros((90, 90)))

    # no condition, a negative operand, an overflow, and operands that are not finite themselves
    values = [0.25, -2e3, -1e9, 1e155, 1e200, -1e200, math.inf, -math.inf, math.nan, -0.0]
    code = checked(function, *(arguments(at, value) for value in values for at in (0, 1, 44, 88, 89)))
    assert code
    # the processor's flags tell the rest; only polls end an iteration early
    assert code.count("suspect") <= most
    assert code.count("give up") == code.count("poll")
