"""Each public function of NumPy has a record, returns NumPy's results, and runs where docs/coverage.md
says."""

from pathlib import Path

import numpy
import pytest

import numelt

from ..support import surface
from ..support.compare import assert_same
from ..support.surface_records import RECORDS, calls

pytestmark = pytest.mark.quick


COVERAGE = Path(__file__).parents[3] / "docs" / "coverage.md"
CASES = [
    pytest.param(module, name, call, id=f"{module}.{name}-{i}")
    for module in RECORDS
    for name, examples in calls(module).items()
    for i, call in enumerate(examples)
]
# LAPACK and FFT return the same bits only if the memory layout is the same
LOOSE = {"numpy.linalg": 1e-10, "numpy.fft": 1e-12}


@pytest.mark.parametrize("module", RECORDS)
def test_every_name_has_a_record(module):
    missing = set(surface.public_names(module)) - set(calls(module))
    assert not missing, f"add records for {sorted(missing)} to tests/python/support/surface_records.py"


@pytest.mark.parametrize(("module", "name", "call"), CASES)
def test_same_as_numpy(module, name, call):
    if name not in surface.public_names(module):
        pytest.skip("this NumPy does not have it")
    kind, theirs = surface.run(numpy, call)
    our_kind, ours = surface.run(numelt, call)
    if our_kind == "error" and kind == "value":
        raise AssertionError(call) from ours
    assert our_kind == kind, f"{call}: {ours!r}, NumPy {theirs!r}"
    if kind == "error":
        assert type(ours) is type(theirs), f"{call}: {ours!r}, NumPy {theirs!r}"
        assert str(ours) == str(theirs), call
        assert not isinstance(theirs, (NameError, SyntaxError)), f"the record is wrong: {theirs!r}"
        return
    assert_same(ours, theirs, ulp=4, rtol=LOOSE.get(module, 0.0), context=call, norm=4)


def test_coverage_page_is_what_runs(recorded):
    surface.refresh()
    expected, found = COVERAGE.read_text().splitlines(), surface.table().splitlines()
    changed = [line for line in found if line not in expected]
    assert not changed, "run `python scripts/coverage_table.py`; new lines:\n" + "\n".join(changed)
    assert found == expected, "run `python scripts/coverage_table.py`"
