"""Which source files belong to the program, and which to installed libraries.

In: names of files. Out: whether they belong to the program. Files of the program get numelt where they import
numpy (`numelt.tools.importing`), all others get NumPy.
"""

from __future__ import annotations

import functools
import os
import site

__all__ = ["find_libraries", "is_installed", "is_users"]

_library_folders: tuple[str, ...] = ()


def _libraries() -> tuple[str, ...]:
    """Return the folders of the standard library and of installed packages."""
    # found by a module in each, because importing `sysconfig` would take milliseconds
    import numpy

    folders = [os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(numpy.__file__))]
    folders += site.getsitepackages() if hasattr(site, "getsitepackages") else []
    if hasattr(site, "getusersitepackages"):
        folders.append(site.getusersitepackages())
    # this package itself
    folders.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return tuple({os.path.realpath(folder) + os.sep for folder in folders if folder})


def find_libraries() -> None:
    """Find the folders of libraries. Called once, before `is_users`."""
    global _library_folders
    _library_folders = _libraries()
    _is_users_folder.cache_clear()
    _real.cache_clear()


def is_users(filename: str | None) -> bool:
    """Return whether this source file is neither installed nor in the standard library."""
    if not filename or filename.startswith("<"):
        return False
    if os.path.islink(filename):
        filename = os.path.realpath(filename)
    return _is_users_folder(os.path.dirname(os.path.abspath(filename)))


@functools.lru_cache(4096)
def _is_users_folder(folder: str) -> bool:
    """Return whether source files in this folder belong to the program."""
    path = os.path.join(_real(folder), "")
    parts = path.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return not path.startswith(_library_folders)


@functools.lru_cache(4096)
def _real(folder: str) -> str:
    """Return the path of a folder without symbolic links.

    `os.path.realpath` asks the system about each folder of the path. Here the answers for the folders above
    are kept, because a program that imports a large library asks about a hundred folders with a common
    beginning.
    """
    above, name = os.path.split(folder)
    if name in ("", ".", "..") or os.path.islink(folder):
        return os.path.realpath(folder)
    return os.path.join(_real(above), name)


@functools.lru_cache(4096)
def _package(filename: str) -> str | None:
    """Return the package of a file of an installed library, or None."""
    parts = filename.split(os.sep)
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return parts[parts.index(folder) + 1]
    return None


def is_installed(filename: str) -> bool:
    """Return whether this is a file of an installed library other than NumPy and numelt."""
    return _package(filename) not in {None, "numpy", "numelt"}
