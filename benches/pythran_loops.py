"""Compiles a program of benches/loops with Pythran, which translates Python functions to C++ ahead of time.

In: a function, and arguments for which it is to be compiled. Out: a function of a compiled module, which has
been loaded. Pythran gets the function, the functions of its file that it calls, and the imports. It compiles
with ``-O3 -march=native``, without ``-ffast-math``.
"""

import ast
import importlib.util
import inspect
import logging
import tempfile
from pathlib import Path

import numpy

OPTIONS = ["-O3", "-march=native", "-w"]


def compiled(function, made):
    """Return the function compiled for arguments of the types of `made`.

    Raises
    ------
    Exception
        Pythran's, for what it does not support.
    """
    import pythran

    logging.getLogger("pythran").setLevel(logging.ERROR)
    types = ", ".join(_type(value) for value in made)
    code = f"# pythran export {function.__name__}({types})\n{_source(function)}"
    name = f"pythran_{function.__name__}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.so"
        pythran.compile_pythrancode(name, code, output_file=str(path), extra_compile_args=OPTIONS)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(module, function.__name__)


def _type(value):
    """Return Pythran's name for the type of an argument."""
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype.name}[{', '.join(':' * value.ndim)}]"
    return type(value).__name__


def _source(function):
    """Return the code of a function, of those of its file that it calls, and of the file's imports."""
    tree = ast.parse(Path(inspect.getfile(function)).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    wanted, found = [function.__name__], []
    while wanted:
        node = functions[wanted.pop()]
        found.append(node)
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        wanted += [name for name in names if name in functions and functions[name] not in found]
    kept = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) or node in found]
    return "\n".join(map(ast.unparse, kept))
