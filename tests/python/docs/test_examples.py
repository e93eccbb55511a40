"""The example programs, unmodified, print and save under numelt what they print and save under NumPy."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


demo = load("demo")
rust_tables = load("rust_tables")


def report(run):
    return [line for line in run.output.splitlines() if not line.startswith("time:")]


@pytest.mark.core
@pytest.mark.parametrize("name", demo.PROGRAMS)
def test_program_under_numelt(name, tmp_path):
    want = demo.run_program(name, [], demo.QUICK[name], tmp_path)
    got, stats = demo.run_numelt(name, demo.QUICK[name], tmp_path)
    difference, equal = demo.compare(want.arrays, got.arrays)
    assert equal, f"differs by up to {difference}"
    assert report(got) == report(want)
    assert stats["kernels"] > 0
    assert stats["bytes_moved"] > 0


@pytest.mark.parametrize("name", demo.PROGRAMS)
def test_program_knows_nothing_of_numelt(name):
    text = (demo.EXAMPLES / f"{name}.py").read_text()
    assert "import numpy as np" in text
    assert "numelt" not in text.lower()


def test_every_program_is_in_the_demo():
    scripts = {path.stem for path in demo.EXAMPLES.glob("*.py")} - {"picture"}
    assert scripts == set(demo.PROGRAMS)


@pytest.mark.parametrize("name", demo.PICTURES)
def test_picture_is_the_same(name, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = []
    for prefix in ([], ["-m", "numelt"]):
        picture = tmp_path / f"picture{len(prefix)}.png"
        demo.run_program(name, prefix, [*demo.QUICK[name], "--picture", str(picture)], tmp_path)
        with image.open(picture) as opened:
            pixels.append(np.asarray(opened).astype(int))
    assert pixels[0].shape == pixels[1].shape
    assert pixels[0].std() > 10
    assert np.abs(pixels[0] - pixels[1]).max() <= 1


def test_compare_sees_a_wrong_result():
    want = {"a": np.array([1.0, 2.0, np.nan])}
    assert demo.compare(want, {"a": np.array([1.0, 2.0, np.nan])}) == (0.0, True)
    assert demo.compare(want, {"a": np.array([1.0, 2.0 + 1e-6, np.nan])})[1] is False
    assert demo.compare(want, {"a": np.array([1.0, 2.0, 3.0])})[1] is False
    assert demo.compare(want, {"a": np.array([1.0, 2.0], dtype=np.float64)})[1] is False
    assert demo.compare(want, {"a": np.array([1.0, 2.0, np.nan], dtype=np.float32)})[1] is False
    assert demo.compare(want, {})[1] is False


def test_the_programs_in_rust_are_compared_with_these_results(tmp_path):
    # examples/rust/tests compares the Rust programs with the same table
    assert list(rust_tables.results(tmp_path)) == rust_tables.RESULTS.read_text().splitlines()
