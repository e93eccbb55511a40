"""Files of the program whose loops are compiled: ``python -m numelt --jit-loops``, ``NUMELT_JIT_LOOPS=1``.

In: the text of a file. Out: its code. `numelt.tools` decides which files are loaded so.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from numelt._jit.twin import module_twin

__all__ = ["code_of"]


def code_of(text: bytes | str, filename: str, namespace: dict[str, Any]) -> types.CodeType:
    """Return the code of a file, with loops that ask the compiled core.

    Parameters
    ----------
    text : bytes or str
        What the file holds.
    filename : str
        Its name, for tracebacks.
    namespace : dict
        The namespace that the code will run in. It gets what the code needs.
    """
    try:
        return module_twin(ast.parse(text, filename), filename, namespace)
    except (SyntaxError, RecursionError):
        # nested too deeply with what is added, or an error of the file itself, which is raised now
        pass
    return compile(text, filename, "exec", dont_inherit=True)
