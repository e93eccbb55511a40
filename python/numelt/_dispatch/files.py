"""Whose a source file is: the program's own, or an installed library's.

In: names of files, and frames of the interpreter. Out: answers. The files of the program see numelt where
they import numpy (`numelt.tools.importing`), and the others NumPy.
"""

from __future__ import annotations

import functools
import os
import site

__all__ = ["find_libraries", "is_installed", "is_users"]

_library_folders: tuple[str, ...] = ()


def _libraries() -> tuple[str, ...]:
    """Return the folders of the standard library and of installed packages."""
    # where a module of each lies: `sysconfig` knows more, but takes milliseconds
    import numpy

    folders = [os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(numpy.__file__))]
    folders += site.getsitepackages() if hasattr(site, "getsitepackages") else []
    if hasattr(site, "getusersitepackages"):
        folders.append(site.getusersitepackages())
    # this package
    folders.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return tuple({os.path.realpath(folder) + os.sep for folder in folders if folder})


def find_libraries() -> None:
    """Find the folders of libraries, before the first question about a file."""
    global _library_folders
    _library_folders = _libraries()
    _is_users_folder.cache_clear()


def is_users(filename: str | None) -> bool:
    """Is this source file the program's own, neither installed nor the standard library's?"""
    if not filename or filename.startswith("<"):
        return False
    if os.path.islink(filename):
        filename = os.path.realpath(filename)
    return _is_users_folder(os.path.dirname(os.path.abspath(filename)))


@functools.lru_cache(4096)
def _is_users_folder(folder: str) -> bool:
    """Do source files in this folder belong to the program?"""
    path = os.path.join(os.path.realpath(folder), "")
    parts = path.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return not path.startswith(_library_folders)


@functools.lru_cache(4096)
def _package(filename: str) -> str | None:
    """Return the package of an installed library's file."""
    parts = filename.split(os.sep)
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return parts[parts.index(folder) + 1]
    return None


def is_installed(filename: str) -> bool:
    """Is this a file of an installed library other than NumPy and numelt?"""
    return _package(filename) not in {None, "numpy", "numelt"}
