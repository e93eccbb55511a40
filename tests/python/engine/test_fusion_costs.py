"""The costs of the papers' programs: launches, contracted arrays and bytes, stored in fusion_costs.txt.

`NUMELT_BLESS=1` writes the file again. A change that fuses less makes the test fail; after one that fuses
more, the file should be written again. The figures are those of the default settings.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import numelt

from ..support.compare import works_on_devices

ROOT = pathlib.Path(__file__).resolve().parents[3]
#: The folder from which this package is imported.
TOP = pathlib.Path(__file__).resolve().parents[__name__.count(".")]
EXPECTED = pathlib.Path(__file__).with_name("fusion_costs.txt")


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benches" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROGRAMS = {make.__name__: (make, sizes[0]) for make, sizes in load("programs").PROGRAMS.items()}
HEADER = """\
What the programs of benches/programs.py cost at their small size, once their input exists.
contracted: arrays without memory. bytes: what kernels and calls read and write, each operand once.
"""


def run(module, name):
    make, size = PROGRAMS[name]
    return make(module, size)


def cost(name):
    program = run(numelt, name)
    for _ in range(6):  # numelt learns which reductions follow each other
        program()
    numelt.flush()
    with numelt.inspect() as seen:
        result = program()
        numelt.flush()
    flushes = [r for r in seen.flushes if r["kernel_count"] or r["calls"]]
    calls = sum(r["calls"] if isinstance(r["calls"], int) else len(r["calls"]) for r in flushes)
    contracted = sum(r["contracted"] for r in flushes)
    del result
    return {
        "flushes": len(flushes),
        "kernels": seen.kernels,
        "calls": calls,
        "contracted": contracted,
        "bytes": seen.bytes_moved,
    }


def costs_in_a_new_process():
    """Return the costs of all programs. What numelt has learnt from other tests must not count."""
    code = (
        f"import json; from {__name__} import *; print(json.dumps({{name: cost(name) for name in PROGRAMS}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True, timeout=100
    )
    return json.loads(done.stdout)


def is_default():
    config = numelt.config
    return config.fuse == "greedy" and config.passes == "all"


def expected():
    lines = EXPECTED.read_text().splitlines() if EXPECTED.exists() else []
    rows = [line.split() for line in lines if " flushes " in line]
    return {row[0]: dict(zip(row[1::2], map(int, row[2::2]), strict=True)) for row in rows}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    numpy.testing.assert_allclose(run(numelt, name)(), run(numpy, name)(), rtol=1e-9, atol=1e-9)


def test_what_only_reads_and_writes_its_data_once():
    if not is_default():
        pytest.skip("the figures are those of default settings")
    n = PROGRAMS["poly"][1]
    bound = {"poly": 3, "pythagorean": 2, "leibnitz_pi": 1, "rosenbrock": 1}
    for name, arrays in bound.items():
        assert cost(name)["bytes"] <= 8 * n * arrays + 64, name


@pytest.mark.skipif(works_on_devices(), reason="the plans of the CPU are looked at")
def test_costs():
    if not is_default():
        pytest.skip("the figures are those of default settings")
    found = costs_in_a_new_process()
    if os.environ.get("NUMELT_BLESS") == "1":
        lines = [
            name + "".join(f" {key} {value}" for key, value in row.items()) for name, row in found.items()
        ]
        EXPECTED.write_text(HEADER + "\n" + "\n".join(lines) + "\n")
    limits = expected()
    worse = [
        f"{name}: {count} {key}, {limits[name][key]} expected"
        for name, row in found.items()
        for key, count in row.items()
        if key != "contracted" and count > limits[name][key]
    ]
    assert not worse, "\n".join([*worse, "NUMELT_BLESS=1 accepts what was found"])
