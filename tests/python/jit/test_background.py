"""Loops that nobody asked to compile are compiled in the background, while CPython runs them."""

import os
import runpy
import subprocess
import sys
import threading
import time

import pytest

import numelt as np
from numelt import _core
from numelt._jit import loading
from numelt._jit.reporting import UNITS

pytestmark = pytest.mark.core

LONG = """
def f(n, k, log):
    s = 0.5
    for i in range(n):
        s = s * 0.999 + (i ^ 3)
        if i == k:
            log.append((i, s))
    return s
"""
# what the loop does in its iterations
SOURCES = {
    "range": (LONG, lambda n: n),
    "array": (LONG.replace("range(n)", "n"), lambda n: np.arange(n)),
    "view": (LONG.replace("range(n)", "n[::-2]"), lambda n: np.arange(2 * n)),
    "while": (LONG.replace("for i in range(n):", "i = -1\n    while i < n:\n        i += 1"), lambda n: n),
    "enumerate": (LONG.replace("i in range(n)", "i, _ in enumerate(n)"), lambda n: np.ones(n)),
    "nested": (LONG.replace("for i in range(n):", "for i in range(n // 100):\n      for j in range(100):")
               .replace("\n        ", "\n          "), lambda n: n),
}  # fmt: skip


def loaded(text):
    """Return the names of a file that is loaded as ``--jit-loops`` does."""
    namespace = {"np": np}
    exec(loading.code_of(text, "program.py", namespace), namespace)
    return namespace


def runs(namespace):
    reports = [unit.report() for unit in namespace[UNITS]]
    return sum(variant["runs"] for report in reports for variant in report["variants"])


def uncached(text):
    """Return the text with another constant, so that no code is kept on disk for its loops."""
    return text.replace("0.999", f"0.999{time.time_ns()}")


@pytest.mark.parametrize("kind", sorted(SOURCES))
@pytest.mark.parametrize("k", [0, 1, 2, 7000, 50_000])
def test_results_are_those_of_cpython_whenever_code_takes_over(kind, k):
    text, items = SOURCES[kind]
    text = uncached(text)
    plain, compiled, n = {}, loaded(text), items(60_000)
    exec(text, plain)
    wanted, got = [], []
    for log, names in ((wanted, plain), (got, compiled)):
        for _ in range(4):
            log.append(names["f"](n, k, log))
    assert repr(got) == repr(wanted)


def test_compiled_code_takes_over_during_the_first_run():
    text = uncached(LONG)
    compiled, plain = loaded(text), {}
    exec(text, plain)
    n = 4_000_000
    assert compiled["f"](n, -1, []) == plain["f"](n, -1, [])
    assert runs(compiled) == 1


def test_code_with_a_list_to_which_cpython_appends_does_not_stop_for_other_threads():
    compiled, over = loaded(uncached(LONG)), threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        compiled["f"](4_000_000, -1, [])
    finally:
        over.set()
        other.join()
    assert runs(compiled) == 1


def test_a_loop_whose_code_takes_long_to_compile():
    lines = [f"        s = s * 0.999{k} + (i ^ {k}) % {k + 2}\n" for k in range(60)]
    text = uncached(LONG.replace("        s = s * 0.999 + (i ^ 3)\n", "".join(lines)))
    compiled, plain = loaded(text), {}
    exec(text, plain)
    for n in (2000, 2000, 100_000, 3000):
        assert compiled["f"](n, n - 2, []) == plain["f"](n, n - 2, [])
    assert runs(compiled) > 0


def test_code_that_was_compiled_for_short_runs_is_used():
    compiled = loaded(uncached(LONG))
    deadline = time.monotonic() + 60
    while runs(compiled) == 0:
        compiled["f"](1000, -1, [])
        assert time.monotonic() < deadline


# From Python 3.12 on, a fork warns in any process that has other threads.
PROGRAM = """
import os, warnings
warnings.filterwarnings("ignore", ".* is multi-threaded", DeprecationWarning)
def f(n):
    s, child = 0.5, None
    for i in range(n):
        s = s * 0.999 + (i ^ 3)
        if i == n // 2 and fork:
            child = os.fork()
    return s, child
fork, child = False, 1
f(200_000)
fork = True
s, child = f(800_000)
if child:
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
print(s, flush=True)
os._exit(0)
"""


def printed(program, *arguments):
    command = [sys.executable, "-m", "numelt", "--jit-loops", program, *arguments]
    environment = {**os.environ, "NUMELT_CACHE_DIR": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)


def test_programs_fork_while_a_loop_is_compiled(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    plain = {}
    exec(LONG, plain)
    got = printed(tmp_path / "program.py")
    assert got.stderr == ""
    assert got.stdout.splitlines() == [repr(plain["f"](800_000, -1, []))] * 2


@pytest.mark.parametrize("n", [60_000, 90_000, 120_000, 160_000])
def test_programs_end_while_a_loop_is_compiled(n, tmp_path):
    (tmp_path / "program.py").write_text(LONG + f"print(f({n}, -1, []))\n")
    plain = {}
    exec(LONG, plain)
    got = printed(tmp_path / "program.py")
    assert (got.stdout, got.stderr, got.returncode) == (f"{plain['f'](n, -1, [])}\n", "", 0)


def test_threads_run_a_loop_while_it_is_compiled():
    text = uncached(LONG)
    compiled, plain = loaded(text), {}
    exec(text, plain)
    got = []
    threads = [threading.Thread(target=lambda: got.append(compiled["f"](300_000, -1, []))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [plain["f"](300_000, -1, [])] * 4


@pytest.fixture(params=["error", "panic"])
def broken_compiler(request, capfd):
    """Each compilation fails. The message of a panic goes to the error stream of the process."""
    _core.jit_break_compiler(request.param == "panic")
    yield "the compiler has failed" if request.param == "panic" else "an instruction that cannot be selected"
    _core.jit_break_compiler()


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_cpython_runs_a_loop_for_which_the_compiler_fails(kind, broken_compiler):
    text, items = SOURCES[kind]
    text = uncached(text.replace("def f", f"def fails_{kind}"))
    plain, compiled, n = {}, loaded(text), items(60_000)
    exec(text, plain)
    wanted, got = [], []
    for log, names in ((wanted, plain), (got, compiled)):
        for _ in range(6):
            log.append(names[f"fails_{kind}"](n, 7000, log))
    assert repr(got) == repr(wanted)
    function = compiled[f"fails_{kind}"]
    deadline = time.monotonic() + 60
    while broken_compiler not in np.explain(function):
        function(n, 7000, [])
        assert time.monotonic() < deadline
    assert runs(compiled) == 0
    assert broken_compiler in [gap.reason for gap in np.coverage().loops if gap.function == f"fails_{kind}"]


def test_code_goes_on_as_it_is_if_optimizing_it_fails():
    text = uncached(LONG)
    compiled, plain = loaded(text), {}
    exec(text, plain)
    deadline = time.monotonic() + 60
    while runs(compiled) < 3:
        compiled["f"](60_000, -1, [])
        assert time.monotonic() < deadline
    n = 3_000_000
    wanted, before = plain["f"](n, -1, []), runs(compiled)
    _core.jit_break_compiler(False)
    try:
        assert [compiled["f"](n, -1, []) for _ in range(12)] == [wanted] * 12
    finally:
        _core.jit_break_compiler()
    assert runs(compiled) == before + 12


@pytest.mark.parametrize("panics", [False, True])
def test_a_function_that_was_to_be_compiled_runs_in_cpython_if_the_compiler_fails(panics, tmp_path, capfd):
    (tmp_path / "program.py").write_text(uncached(LONG))
    total = runpy.run_path(str(tmp_path / "program.py"))["f"]
    _core.jit_break_compiler(panics)
    try:
        compiled = np.jit(total)
        assert [compiled(3000, -1, []) for _ in range(3)] == [total(3000, -1, [])] * 3
    finally:
        _core.jit_break_compiler()
    assert "compiler has failed" in np.explain(compiled) or "cannot be selected" in np.explain(compiled)
