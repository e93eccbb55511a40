"""The launcher: ``python -m numelt [options] script.py args...`` and ``-m module args...``.

In: a command line. Out: the program is run as Python would run it (``sys.argv``, ``sys.path``, the
``__main__`` module, exit codes, tracebacks), but its own files get numelt where they import numpy. Then the
reports that the options request are printed.
"""

from __future__ import annotations

import atexit
import importlib.util
import io
import os
import sys
import time
import types
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse

__all__ = ["main"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_USAGE = "python -m numelt [options] (script.py | -m module | -c code) [args ...]"


def _parser() -> argparse.ArgumentParser:
    import argparse  # takes milliseconds, and few command lines need it

    parser = argparse.ArgumentParser(
        prog="python -m numelt",
        usage=_USAGE,
        description="Run a Python program with numelt in NumPy's place. Only the program's own files see "
        "numelt where they import numpy; installed libraries keep NumPy.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the versions of numelt and NumPy")
    parser.add_argument(
        "--fallback", choices=("silent", "warn", "error"), help="what a call that runs in NumPy does"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="at exit, print what ran natively and what in NumPy"
    )
    parser.add_argument(
        "--profile", action="store_true", help="at exit, print kernels, bytes and time by line"
    )
    parser.add_argument(
        "--jit-loops", action="store_true", help="compile the Python loops in the program's own files"
    )
    parser.add_argument("--stats-json", metavar="FILE", help="at exit, write the counters to FILE")
    return parser


_FLAGS = {"--coverage": "coverage", "--profile": "profile", "--jit-loops": "jit_loops"}


def _options(own: list[str]) -> Any:
    """Parse the options. Importing the parser takes 5 milliseconds, so flags alone are read without it."""
    if not all(word in _FLAGS for word in own):
        return _parser().parse_args(own)
    flags = {name: flag in own for flag, name in _FLAGS.items()}
    return types.SimpleNamespace(version=False, fallback=None, stats_json=None, **flags)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split the command line into our options and the program with its arguments."""
    takes_value = {"--fallback", "--stats-json"}
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if word in ("-m", "-c") or not word.startswith("-") or word == "-":
            break
        position += 2 if word in takes_value else 1
    return arguments[:position], arguments[position:]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    own, program = _split(sys.argv[1:] if arguments is None else arguments)
    options = _options(own) if program else _parser().parse_args(own)
    if options.version:
        _print_version()
        return
    if not program:
        _parser().error("nothing to run: give a script, or -m module")
    _prepare(options)
    if program[0] in ("-m", "-c"):
        if len(program) < 2:
            _parser().error(f"argument expected for the {program[0]} option")
        (_run_module if program[0] == "-m" else _run_code)(program[1], program[2:])
    else:
        _run_script(program[0], program[1:])


def _print_version() -> None:
    import numpy

    import numelt

    print(f"numelt {numelt.__numelt_version__} (NumPy {numpy.__version__}, Python {sys.version.split()[0]})")


def _prepare(options: Any) -> None:
    """Import numelt, install the import hook, and arrange for the reports at exit."""
    import numelt
    from numelt.tools import importing

    if options.fallback:
        numelt.config.fallback = options.fallback
    if options.jit_loops:
        os.environ["NUMELT_JIT_LOOPS"] = "1"  # also for processes that the program starts
    importing.install()
    profile = numelt.profile() if options.profile else None
    report = profile.__enter__() if profile is not None else None
    start = time.perf_counter()
    program = os.getpid()

    def at_exit() -> None:
        if os.getpid() != program:
            return  # a forked child of the program
        numelt.flush()
        if profile is not None:
            profile.__exit__(None, None, None)
            print(report, file=sys.stderr)
        if options.coverage:
            print(numelt.coverage(), file=sys.stderr)
        if options.stats_json:
            _write_stats(options.stats_json, time.perf_counter() - start)

    # registered before the functions of the program, and therefore called after them
    atexit.register(at_exit)


def _write_stats(filename: str, seconds: float) -> None:
    import json  # takes milliseconds

    import numelt
    from numelt import _core

    report = numelt.coverage()
    stats: dict[str, Any] = {key: value for key, value in _core.stats().items() if key != "native"}
    stats.update(
        kernels=int(stats.get("kernels", 0)),
        bytes_moved=int(stats.get("bytes_moved", 0)),
        fallbacks=report.fallback_calls,
        seconds=seconds,
        native=report.native,
        fallback_calls=report.as_dict()["fallbacks"],
    )
    with open(filename, "w", encoding="utf-8") as file:
        json.dump(stats, file, indent=1, default=str)
        file.write("\n")


def _new_main(filename: str | None, spec: Any, loader: Any, package: str | None) -> types.ModuleType:
    """Make the program's ``__main__`` module and put it into `sys.modules`."""
    from numelt.tools import importing

    module = types.ModuleType("__main__")
    module.__dict__.update(
        __builtins__=importing.user_builtins(),
        __spec__=spec,
        __loader__=loader,
        __package__=package,
        __cached__=None,
    )
    if filename is not None:
        module.__file__ = filename
    sys.modules["__main__"] = module
    return module


def _die(message: str, status: int) -> NoReturn:
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
    raise SystemExit(status)


def _run_script(path: str, arguments: list[str]) -> None:
    if os.path.isdir(path) or path.endswith((".zip", ".pyz", ".whl")):
        _run_folder(path, arguments)
        return
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        text = f"[Errno {error.errno}] {os.strerror(error.errno or 0)}"
        _die(f"{sys.executable}: can't open file {os.path.abspath(path)!r}: {text}", 2)
    sys.argv = [path, *arguments]
    # as for `python script.py`, the folder of the script; ``-m`` has put the working directory there
    _replace_first_path(os.path.dirname(os.path.realpath(path)))
    loader = importlib.util.spec_from_file_location("__main__", path)
    module = _new_main(os.path.abspath(path), None, loader.loader if loader else None, None)
    _execute(module, source, os.path.abspath(path))


def _run_folder(path: str, arguments: list[str]) -> None:
    """Run ``__main__`` of a folder or a zip file."""
    sys.argv = [path, *arguments]
    _replace_first_path(path)
    own = sys.modules.pop("__main__", None)
    try:
        spec = importlib.util.find_spec("__main__")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.loader is None or not hasattr(spec.loader, "get_code"):
        if own is not None:
            sys.modules["__main__"] = own
        _die(f"{sys.executable}: can't find '__main__' module in {os.path.abspath(path)!r}", 1)
    code = spec.loader.get_code("__main__")
    _execute(_new_main(spec.origin, spec, spec.loader, ""), code, str(spec.origin))


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = ["-m", *arguments]
    _replace_first_path(os.getcwd())
    spec = _find_module(name)
    if spec.submodule_search_locations is not None:
        name += ".__main__"
        spec = _find_module(name, " is a package and cannot be directly executed")
    code = (
        spec.loader.get_code(name) if spec.loader is not None and hasattr(spec.loader, "get_code") else None
    )
    if code is None:
        _die(f"{sys.executable}: No code object available for {name}", 1)
    sys.argv[0] = str(spec.origin)
    _execute(_new_main(spec.origin, spec, spec.loader, spec.parent), code, str(spec.origin))


def _find_module(name: str, why: str = "") -> Any:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        text = f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})"
        _die(f"{sys.executable}: {text}", 1)
    if spec is None:
        if why:
            why = f"; {name.removesuffix('.__main__')!r}{why}"
        _die(f"{sys.executable}: No module named {name}{why}", 1)
    return spec


def _run_code(code: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    _replace_first_path("")
    _execute(_new_main(None, None, None, None), code.encode(), "<string>")


def _replace_first_path(folder: str) -> None:
    if getattr(sys.flags, "safe_path", False):
        return
    if sys.path:
        sys.path[0] = folder
    else:
        sys.path.append(folder)


def _execute(module: types.ModuleType, code: Any, filename: str) -> None:
    """Run the program; tracebacks of exceptions do not show frames of numelt."""
    try:
        if isinstance(code, bytes):
            code = _compiled(code, filename, module.__dict__)
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _report(error)


def _compiled(text: bytes, filename: str, namespace: dict[str, Any]) -> types.CodeType:
    from numelt.tools.importing import jits_loops

    if jits_loops():
        from numelt._jit import loading

        return loading.code_of(text, filename, namespace)
    return compile(text, filename, "exec", dont_inherit=True)


def _without_package(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Return a traceback without the frames of numelt, which are C code in NumPy."""
    if traceback is None:
        return None
    rest = _without_package(traceback.tb_next)
    if traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return rest
    return types.TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


def _clean(error: BaseException | None, seen: set[int]) -> None:
    """Remove the frames of numelt from the traceback of an exception, its cause and its context."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    try:
        error.__traceback__ = _without_package(error.__traceback__)
    except RecursionError:
        return  # thousands of frames: all are shown
    _clean(error.__cause__, seen)
    _clean(error.__context__, seen)


def _report(error: BaseException) -> NoReturn:
    _clean(error, set())
    sys.stdout.flush()
    sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        # Python ends the process as it does for interrupted programs, but does not print the traceback again
        sys.excepthook = lambda *_: None
        raise error
    raise SystemExit(1)
