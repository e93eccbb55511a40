"""Fragments of programs from many fields print under numelt what they print under NumPy, with warnings."""

import functools
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
RUNNER = HERE.parent / "support" / "fragments_runner.py"
FILES = sorted((HERE / "fragments").glob("*.txt"))
SETTINGS = [{}, {"NUMELT_AT_ONCE": "0"}]


def output(path, *lead, **settings):
    env = {**os.environ, "PYTHONHASHSEED": "0", **settings}
    command = [sys.executable, *lead, str(RUNNER), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=env)
    parts = result.stdout.split("\n### ")
    return {name: rest for name, _, rest in (part.partition("\n") for part in parts)}


expected = functools.cache(output)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_as_numpy(path, settings):
    theirs = expected(path)
    ours = output(path, "-m", "numelt", **settings)
    assert list(ours) == list(theirs)
    for name, said in theirs.items():
        assert ours[name].splitlines() == said.splitlines(), name
