"""`numelt.install` and ``%load_ext numelt``: unmodified scripts and notebooks use numelt."""

import subprocess
import sys

import nbclient
import nbformat


def run(program, folder):
    (folder / "main.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "main.py"], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_install_before_numpy(tmp_path):
    (tmp_path / "helper.py").write_text("import numpy\nfrom numpy import linalg\nname = numpy.__name__\n")
    program = """
import numelt
numelt.install()
import numpy as np
import numpy.linalg
import helper, importlib, sys
def inner():
    import numpy
    return numpy.__name__
print(np.__name__, inner(), helper.name, helper.linalg.__name__, numpy.linalg.__name__)
imported = importlib.import_module("numpy")
print(type(np.ones(3)) is numelt.ndarray, sys.modules["numpy"].__name__, imported.__name__)
"""
    done = run(program, tmp_path)
    assert done.stdout.splitlines() == [
        "numelt numelt numelt numelt.linalg numelt.linalg",
        "True numpy numelt",
    ]
    assert done.stderr == ""


def test_install_after_numpy_says_what_stays(tmp_path):
    program = """
import numpy as np
import numelt
numelt.install()
print(np.__name__)
import numpy as np
print(np.__name__)
"""
    done = run(program, tmp_path)
    assert done.stdout.split() == ["numpy", "numelt"]
    assert "RuntimeWarning: numpy was imported before numelt was installed: np stay NumPy's" in done.stderr
    assert "main.py:4" in done.stderr


def test_the_import_statement_is_pythons_again_afterwards(tmp_path):
    (tmp_path / "helper.py").write_text(
        "import numelt\nnumelt.install()\nimport numpy\nname = numpy.__name__\n"
    )
    program = """
import builtins
original = builtins.__import__
import helper
assert helper.name == "numelt" and builtins.__import__ is not original
import colorsys
assert builtins.__import__ is not original  # this frame, of the main module, is still running
"""
    run(program, tmp_path)
    program = """
import builtins, sys, types
import numelt
original = builtins.__import__
def work():
    import helper
    assert helper.name == "numelt"
sys.modules["__main__"] = types.ModuleType("other")
work()
import colorsys
assert builtins.__import__ is original
"""
    run(program, tmp_path)


def test_libraries_keep_numpy(tmp_path):
    program = """
import numelt
numelt.install()
import numpy as np, scipy.special
print(np.__name__, scipy.special.np.__name__ if hasattr(scipy.special, "np") else "numpy")
"""
    assert run(program, tmp_path).stdout.split() == ["numelt", "numpy"]


def outputs(*cells):
    """Run cells as a notebook; return the text and the HTML that each cell displays."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [
        "\n".join(
            output.get("text", "") + "\n".join(str(text) for text in output.get("data", {}).values())
            for output in cell.outputs
        )
        for cell in notebook.cells
    ]


def test_a_notebook():
    loaded, name, profiled, lines, total = outputs(
        "%load_ext numelt",
        "import numpy as np\nx = np.ones(10_000)\nprint(np.__name__)",
        "%%numelt_profile\ny = x * 2 + 1\nfloat(y.sum())",
        "%%numelt_line_profile\ny = x * 2\nfor i in range(3):\n    t = float(y.sum())\n"
        "np.busday_count('2024-01', '2024-02');",
        "import numelt\nnumelt.profile()",
    )
    assert (loaded, name) == ("", "numelt\n")
    assert "1 flushes, 1 kernels" in profiled
    assert "<table>" in profiled
    assert "30000.0" in profiled
    assert "IPython" not in profiled
    (row,) = [
        line for line in lines.splitlines() if line.endswith("  t = float(y.sum())") and "<" not in line
    ]
    assert row.split()[0] == "3"
    assert row.split()[2:4] == ["3", "3"]
    (row,) = [line for line in lines.splitlines() if "busday_count" in line and "<" not in line]
    assert row.split()[2] == "1"
    assert "since numelt was imported" in total


def test_a_notebook_that_has_numpy_already():
    _, told, name = outputs("import numpy as np", "%load_ext numelt", "import numpy as np\nnp.__name__")
    assert "np stay NumPy's" in told
    assert "numelt" in name
