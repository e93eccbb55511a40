"""``python -m numelt``: the program runs as under Python, and its own files get numelt for NumPy."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from numelt._dispatch import files


@pytest.fixture
def program(tmp_path):
    """Return a function that writes files, and runs one of them under Python and under numelt."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def run(*arguments, numelt=True, **options):
        lead = [sys.executable, "-m", "numelt"] if numelt else [sys.executable]
        return subprocess.run(
            [*lead, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=60, **options
        )

    run.write, run.folder = write, tmp_path
    return run


def test_users_files_get_numelt_and_libraries_do_not(program):
    program.write("helper.py", "import numpy as np\ndef kind(): return np.__name__\n")
    program.write("pack/__init__.py", "from numpy import zeros\n")
    program.write("pack/deep.py", "import numpy.linalg as la\nfrom numpy.fft import fft\n")
    program.write(
        "main.py",
        """
        import importlib
        import sys
        import numpy as np
        import numpy.linalg
        from numpy import arange, linalg
        import helper, pack, pack.deep
        import scipy.ndimage

        assert np.__name__ == "numelt", np
        assert helper.kind() == "numelt"
        assert type(arange(3)) is np.ndarray is not sys.modules["numpy"].ndarray
        assert type(pack.zeros(2)) is np.ndarray
        assert pack.deep.la is np.linalg is linalg
        assert importlib.import_module("numpy.fft") is np.fft
        assert sys.modules["numpy"].__name__ == "numpy"
        assert vars(scipy.ndimage._filters)["np"].__name__ == "numpy"

        def inside():
            import numpy
            return numpy

        assert inside() is np
        assert isinstance(scipy.ndimage.gaussian_filter(np.eye(4), 1.0), np.ndarray)
        print("done")
        """,
    )
    result = program("main.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "done\n"


SAME = """
import sys
print(sys.argv, __name__, __file__, sys.path[0], __package__, __spec__ is None)
print(sys.modules["__main__"].__dict__ is globals())
"""


def test_same_surroundings(program):
    program.write("folder/main.py", SAME)
    for arguments in (["folder/main.py", "a", "-b"], ["folder/main.py"]):
        assert program(*arguments).stdout == program(*arguments, numelt=False).stdout


def test_module_and_code(program):
    program.write(
        "tool.py", "import sys, numpy\nprint(sys.argv[1:], __name__, numpy.__name__, __spec__.name)\n"
    )
    program.write("package/__init__.py", "")
    program.write(
        "package/__main__.py", "from . import other\nprint(__name__, __package__, other.np.__name__)\n"
    )
    program.write("package/other.py", "import numpy as np\n")
    assert program("-m", "tool", "x").stdout == "['x'] __main__ numelt tool\n"
    assert program("-m", "package").stdout == "__main__ package numelt\n"
    assert program("-c", "import numpy; print(numpy.__name__)").stdout == "numelt\n"


@pytest.mark.parametrize(
    "body",
    [
        "import sys; sys.exit(3)",
        "import sys; sys.exit('bye')",
        "raise SystemExit",
        "raise ValueError('no')",
        "import numpy as np\nnp.ones(2) + np.ones(3)",
        "def f():\n    1 / 0\nf()",
        "x = (",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
        "import nothing_of_that_name",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError",
        "import atexit\natexit.register(print, 'late')\nprint('early')",
    ],
)
def test_ends_as_python_does(program, body):
    program.write("main.py", body)
    ours, theirs = program("main.py"), program("main.py", numelt=False)
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout
    if "np.ones" in body:
        assert "line 2, in <module>" in ours.stderr
        assert ours.stderr.splitlines()[-1] == theirs.stderr.splitlines()[-1]
    else:
        assert ours.stderr == theirs.stderr


@pytest.mark.parametrize("arguments", [["missing.py"], ["-m", "missing_module"], ["."], ["-m", "json"]])
def test_nothing_to_run(program, arguments):
    ours, theirs = program(*arguments), program(*arguments, numelt=False)
    assert ours.returncode == theirs.returncode
    if "json" not in arguments:
        assert ours.stderr == theirs.stderr


def test_interrupt(program):
    body = (
        "import os, signal, time\n"
        # a shell that starts this in the background makes it ignore interrupts
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "time.sleep(5)\n"
    )
    program.write("main.py", body)
    ours, theirs = program("main.py"), program("main.py", numelt=False)
    assert ours.returncode == theirs.returncode == -signal.SIGINT
    assert ours.stderr.splitlines()[-1].startswith("KeyboardInterrupt")
    assert "numelt" not in ours.stderr


def test_reports(program):
    program.write(
        "main.py",
        """
        import numpy as np
        x = np.arange(1000.0)
        print(float(np.sum(x * 2 + 1)))
        print(np.busday_count("2024-01", "2024-02"))
        """,
    )
    result = program("--stats-json", "stats.json", "--coverage", "--profile", "main.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "1000000.0\n23\n"
    stats = json.loads((program.folder / "stats.json").read_text())
    assert stats["kernels"] >= 1
    assert stats["bytes_moved"] > 0
    assert stats["fallbacks"] == 1
    assert stats["fallback_calls"][0]["function"] == "busday_count"
    assert stats["fallback_calls"][0]["lineno"] == 5
    assert "main.py:5" in result.stderr
    assert "main.py:4" in result.stderr


def test_fallback_policies(program):
    program.write("main.py", "import numpy as np\nnp.busday_count('2024-01', '2024-02')\nprint('after')\n")
    assert program("main.py").stdout == "after\n"
    failed = program("--fallback=error", "main.py")
    assert failed.returncode == 1
    assert "FallbackError: busday_count is not native here" in failed.stderr
    assert "main.py:2" in failed.stderr
    warned = program("--fallback", "warn", "main.py")
    assert "main.py:2: FallbackWarning" in warned.stderr
    assert program("main.py", env={**os.environ, "NUMELT_FALLBACK": "error"}).returncode == 1


def test_help_and_version(program):
    assert "usage: python -m numelt" in program("--help").stdout
    assert program("--version").stdout.startswith("numelt ")
    assert program().returncode == 2
    assert program("--nonsense", "main.py").returncode == 2


def test_pickle_of_main(program):
    program.write(
        "main.py",
        """
        import pickle
        import numpy as np

        class Held:
            def __init__(self):
                self.x = np.arange(3)

        again = pickle.loads(pickle.dumps(Held()))
        assert type(again) is Held
        assert type(again.x) is np.ndarray and again.x.tolist() == [0, 1, 2]
        assert pickle.loads(pickle.dumps(np.sum)) is np.sum
        """,
    )
    result = program("main.py")
    assert result.returncode == 0, result.stderr


def test_programs_that_others_run(program):
    program.write("test_own.py", "import numpy\nimport helper\ndef test(): assert numpy is helper.numpy\n")
    program.write("conftest.py", "import numpy\nassert numpy.__name__ == 'numelt'\n")
    program.write("helper.py", "import numpy\nassert numpy.__name__ == 'numelt'\n")
    program.write("shows.py", "import numpy\nprint(numpy.__name__)\n")
    result = program("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py")
    assert "1 passed" in result.stdout, result.stdout
    run = "import runpy\nrunpy.run_path('shows.py')\nrunpy.run_module('shows')\n"
    assert program("-c", run).stdout == "numelt\nnumelt\n"
    for tool in ("cProfile", "pdb", "trace"):
        lead = ("-t",) if tool == "trace" else ("-c", "c") if tool == "pdb" else ()
        assert "numelt\n" in program("-m", tool, *lead, "shows.py", input="q\n").stdout, tool


def test_classes_derived_from_arrays_may_have_metaclasses(program):
    program.write(
        "main.py",
        """
        import abc
        import numpy as np

        class Meta(type):
            def __new__(meta, name, bases, namespace, unit="m"):
                made = super().__new__(meta, name, bases, namespace)
                made.unit = unit
                return made

            def __call__(cls, values):
                return np.asarray(values).view(cls)

        class Tagged(np.ndarray, metaclass=Meta, unit="s"):
            def total(self):
                return super().sum(), __class__.unit

        class Derived(Tagged):
            pass

        class Total(np.ndarray, abc.ABC):
            @abc.abstractmethod
            def total(self): ...

        x = Derived(np.arange(3.0))
        print(x.total(), type(x + 1), type(Tagged), type(Total), Tagged.__bases__, isinstance(x, np.ndarray))
        """,
    )
    want, got = program("main.py", numelt=False), program("main.py")
    assert want.returncode == 0, want.stderr
    assert got.stdout == want.stdout, got.stderr


def test_classes_that_turn_into_arrays_reach_libraries(program):
    program.write(
        "main.py",
        """
        import numpy as np
        from scipy import signal

        class Series:
            def __init__(self, n):
                self.values = np.arange(float(n))
            def __array__(self, dtype=None, copy=None):
                return self.values
            def name(self):
                return __class__.__name__

        class Meta(type):
            def __new__(meta, name, bases, namespace, **options):
                return super().__new__(meta, name, bases, namespace)

        class Twice(Series, metaclass=Meta, option=1):
            def __array__(self, dtype=None, copy=None):
                return super().__array__() * 2

        series = Series(4)
        print(signal.detrend(series).round(9), signal.lfilter([1.0], [1.0, -0.5], Twice(3)))
        array = np.asarray(series)
        array[0] = 5
        print(array is series.values, series.values, np.sin(series), series.name())
        """,
    )
    want, got = program("main.py", numelt=False), program("main.py")
    assert want.returncode == 0, want.stderr
    assert got.stdout == want.stdout, got.stderr


def modules_after(tmp_path, program, *launcher):
    """Return the names of the modules that a program has loaded."""
    path = tmp_path / "program.py"
    path.write_text(f"{program}\nimport sys\nprint(*sys.modules)\n")
    run = subprocess.run(
        [sys.executable, *launcher, path], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("options", [[], ["--jit-loops"], ["--coverage", "--jit-loops"]])
@pytest.mark.parametrize("library", ["numpy", "scipy.sparse"])
def test_nothing_is_loaded_that_a_program_does_without(tmp_path, library, options):
    """Command lines with flags alone load no parser; adapting a library loads no other module of NumPy."""
    if library != "numpy":
        pytest.importorskip(library)
    program = f"import numpy\nimport {library}"
    alone = modules_after(tmp_path, program)
    under = modules_after(tmp_path, program, "-m", "numelt", *options)
    more = {name for name in under - alone if name.partition(".")[0] != "numelt"}
    assert more.isdisjoint({"argparse", "json", "numpy.random", "sysconfig", "gettext", "locale"})
    if library == "numpy":
        assert "numelt.compat.wrapping" not in under


def test_modules_are_looked_for_once(tmp_path):
    """Python's own finder is not called for modules that ours has found."""
    (tmp_path / "own.py").write_text("import numpy as np\nname = np.__name__\n")
    program = """
import sys, importlib.machinery
looked = []
class Last:
    @staticmethod
    def find_spec(name, path=None, target=None):
        looked.append(name)
finders = sys.meta_path
finders.insert(finders.index(importlib.machinery.PathFinder), Last)
import own, wave, xml.dom, nothing_of_that_name
"""
    program = program.replace(
        "import own, wave, xml.dom, nothing_of_that_name",
        "import own, wave, xml.dom\nassert own.name == 'numelt', own.name\n"
        "try:\n    import nothing_of_that_name\nexcept ImportError:\n    pass\n"
        "assert set(looked) == {'nothing_of_that_name'}, looked",
    )
    modules_after(tmp_path, program, "-m", "numelt")


@pytest.mark.parametrize("options", [[], ["-m", "numelt"]], ids=["import", "launcher"])
def test_finders_may_be_wrapped(tmp_path, options):
    """A program may wrap all finders: it runs a module once, and numelt still changes libraries."""
    (tmp_path / "own.py").write_text("import numpy as np\nname = np.__name__\n")
    program = f"""
import sys
import numelt
ran = []
class Loader:
    def __init__(self, loader):
        self.loader = loader
    def create_module(self, spec):
        return self.loader.create_module(spec)
    def exec_module(self, module):
        ran.append(module.__name__)
        self.loader.exec_module(module)
class Wrapper:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        spec = self.finder.find_spec(name, path=path, target=target)
        if name == "own" and spec is not None:
            spec.loader = Loader(spec.loader)
        return spec
sys.meta_path[:] = [Wrapper(finder) for finder in sys.meta_path]
import own
assert own.name == {"numelt" if options else "numpy"!r}, own.name
assert ran == ["own"], ran
try:
    import nothing_of_that_name
except ImportError:
    pass
from scipy.spatial import ConvexHull
hull = ConvexHull(numelt.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.2]]))
assert sorted(hull.vertices) == [0, 1, 2]
"""
    pytest.importorskip("scipy")
    (tmp_path / "wrapped.py").write_text(program)
    subprocess.run([sys.executable, *options, "wrapped.py"], check=True, cwd=tmp_path)


def test_files_that_are_links_belong_to_what_they_point_at(tmp_path):
    """A link to an installed module is not a file of the program; a link from there to one of its files
    is."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "installed.py").write_text("import numpy\nname = numpy.__name__\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "owned.py").write_text("import numpy\nname = numpy.__name__\n")
    (tmp_path / "linked.py").symlink_to(tmp_path / "site-packages" / "installed.py")
    (tmp_path / "site-packages" / "developed.py").symlink_to(tmp_path / "elsewhere" / "owned.py")
    program = """
import sys
sys.path.insert(0, "site-packages")
import installed, linked, developed
assert (installed.name, linked.name, developed.name) == ("numpy", "numpy", "numelt")
"""
    modules_after(tmp_path, program, "-m", "numelt")


def test_folders_that_are_links_belong_to_what_they_point_at(tmp_path):
    """A package below a link is where the link leads; so are the packages below that one."""
    for folder in ("site-packages/installed/part", "elsewhere/owned/part"):
        (tmp_path / folder).mkdir(parents=True)
        for package in (tmp_path / folder, (tmp_path / folder).parent):
            (package / "__init__.py").write_text("import numpy\nname = numpy.__name__\n")
    (tmp_path / "linked").symlink_to(tmp_path / "site-packages" / "installed")
    (tmp_path / "site-packages" / "developed").symlink_to(tmp_path / "elsewhere" / "owned")
    program = """
import sys
sys.path.insert(0, "site-packages")
import installed.part, linked.part, developed.part
for package, name in (installed, "numpy"), (linked, "numpy"), (developed, "numelt"):
    assert (package.name, package.part.name) == (name, name), package
"""
    modules_after(tmp_path, program, "-m", "numelt")


def test_folders_with_dots_are_those_that_they_point_at(tmp_path):
    (tmp_path / "site-packages").mkdir()
    for path in (f"{tmp_path}/site-packages/../own", f"{tmp_path}/./own/..", ".", "..", ""):
        assert files._real(path) == os.path.realpath(path)
