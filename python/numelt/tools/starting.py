"""`numelt.install` and ``%load_ext numelt``: an unedited script or notebook gets numelt for ``import numpy``.

In: a program that is running already. Out: the import hook of ``python -m numelt`` is installed
(`numelt.tools.importing`), and the main module is prepared as the launcher prepares it.
"""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any

__all__ = ["install", "load_ipython_extension"]


def _bound(namespace: dict[str, Any]) -> list[str]:
    """Return the names in a namespace that are bound to NumPy or to objects that it defines."""
    import numpy

    def is_numpys(value: Any) -> bool:
        if isinstance(value, types.ModuleType):
            return value.__name__.partition(".")[0] == "numpy"
        return type(value) in (numpy.ndarray, numpy.ufunc) or (
            callable(value) and str(getattr(value, "__module__", None)).partition(".")[0] == "numpy"
        )

    return sorted(name for name, value in namespace.items() if not name.startswith("_") and is_numpys(value))


def _message(names: list[str]) -> str:
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return (
        f"numpy was imported before numelt was installed: {shown} stay NumPy's. Import numpy again to use "
        "numelt, or put this before the first import of numpy; arrays that exist are taken as they are."
    )


def _prepare(namespace: dict[str, Any]) -> list[str]:
    """Let code of a namespace import numelt for numpy; return its names that are bound to NumPy already."""
    from numelt.tools import importing

    importing.install()
    namespace["__builtins__"] = importing.user_builtins()
    return _bound(namespace)


def install() -> None:
    r"""Use numelt wherever the program's own code imports numpy from now on.

    Call it before the first ``import numpy`` of the program. It concerns the calling module, the main module,
    and each module of the program that is imported later. Installed libraries keep NumPy, as with
    ``python -m numelt``.

    Names that are bound to NumPy already stay so, and so do modules of the program that have been imported.
    `install` warns of such names in the calling module. Functions that were defined before the call keep
    importing NumPy.

    Examples
    --------
    >>> import subprocess, sys
    >>> program = "import numelt; numelt.install(); import numpy; print(numpy.ones(3).sum(), numpy.__name__)"
    >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    '3.0 numelt\n'
    """
    from numelt.compat import running  # few programs need it
    from numelt.tools import importing

    caller = sys._getframe(1)
    names = _prepare(vars(sys.modules["__main__"]))
    if caller.f_globals is not vars(sys.modules["__main__"]):
        names = _prepare(caller.f_globals)
    running.redirect_import(importing.import_for_users, caller)
    if names:
        warnings.warn(_message(names), RuntimeWarning, stacklevel=2)


def load_ipython_extension(shell: Any) -> None:
    """Prepare IPython or a notebook: ``%load_ext numelt``."""
    from numelt.tools import magics

    names = _prepare(shell.user_global_ns)
    magics.register(shell)
    if names:
        print(_message(names))
