"""Programs that use many installed libraries print under `python -m numelt` what they print under NumPy.

Each file of `libraries` is such a program; every bare expression in it is shown (`support/show.py`).
"""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
RUNNER = HERE.parent / "support" / "show.py"
PROGRAMS = sorted((HERE / "libraries").glob("*.py"))


def shown(program, *options):
    environment = os.environ | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *options, str(RUNNER), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_library_gives_the_same_with_numelt(program):
    want = shown(program)
    # a program that already fails under NumPy would test nothing
    assert len(want) > 5
    assert shown(program, "-m", "numelt") == want
