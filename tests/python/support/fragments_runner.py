"""Run the programs of a file of fragments; print the values of their bare expressions, and their warnings.

A fragment begins with a line ``### name``. Results are shown with class, dtype, strides and flags; exceptions
and warnings with the lines of the fragment to which they are attributed. `python fragments_runner.py
file.txt` shows NumPy's results, and `python -m numelt fragments_runner.py file.txt` shows numelt's.
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import warnings

FLAGS = ("c_contiguous", "f_contiguous", "writeable", "aligned")


def describe(value):
    """Show a value; for arrays, also their memory layout."""
    parts = [repr(type(value)), repr(value)]
    if hasattr(value, "dtype") and hasattr(value, "strides") and not isinstance(value, type):
        flags = "".join(name[0] for name in FLAGS if getattr(value.flags, name))
        parts.append(f"{value.dtype.char} {value.shape} {value.strides if value.size else ''} {flags}")
    return " | ".join(parts)


def lines(error, filename):
    """Return the lines of a fragment that a traceback names."""
    found, trace = [], error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == filename and trace.tb_lineno not in found:
            found.append(trace.tb_lineno)
        trace = trace.tb_next
    return found


class Shown(ast.NodeTransformer):
    """Passes every expression that is a statement to `show`."""

    def visit_Expr(self, node):
        kept = (ast.Yield, ast.Await, ast.YieldFrom, ast.NamedExpr)
        if isinstance(node.value, ast.Constant) or any(isinstance(n, kept) for n in ast.walk(node.value)):
            return node
        arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        call = ast.Call(ast.Name("show", ast.Load()), [ast.Lambda(arguments, node.value)], [])
        return ast.copy_location(ast.Expr(call), node)


def run(name, text):
    """Run one fragment."""
    filename = f"<fragment {name}>"
    caught = set()

    def show(expression):
        try:
            value = expression()
        except Exception as error:
            print(f"{type(error).__name__}: {error} @{lines(error, filename)}")
            return
        if value is not None:
            print(describe(value))

    def shown(message, category, where, line, file=None, text=None):
        if where == filename and category is not PendingDeprecationWarning:
            caught.add(f"{category.__name__}: {message} @{line}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = shown
        tree = ast.fix_missing_locations(Shown().visit(ast.parse(text, filename)))
        try:
            exec(compile(tree, filename, "exec"), {"__name__": "__main__", "show": show})
        except BaseException as error:
            print(f"ends with {type(error).__name__}: {error} @{lines(error, filename)}")
    print(*sorted(caught), sep="\n")


def main(path):
    """Run the fragments of a file, in a folder of their own."""
    with open(path) as file:
        parts = re.split(r"(?m)^### (.*)\n", file.read())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                run(name, text)
            print(f"### {name}")
            print(re.sub("0x[0-9a-f]{6,}", "0x", output.getvalue()).replace("numelt", "numpy"))
        os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1])
