"""Check that the files of a crate do not import each other in circles.

In: the files under ``crates``. Out: exit status 0, or a line for each circle that is not listed below, and
for each listed one that is gone. A file may import from the module that it is part of (``use super::Batch``
in ``batch/calls.rs``), because that module's file says what all of its parts share.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from check_architecture import circles, imports

ROOT = Path(__file__).resolve().parent.parent


class Circle(NamedTuple):
    """Files that import each other, and why one direction will not do."""

    crate: str
    files: tuple[str, ...]
    reason: str


# The circles that stay. The list must not become longer.
STAY = [
    Circle(
        "array",
        ("api::any_array", "api::array"),
        "an array whose dtype is known when the program is compiled derefs to one whose dtype is not, "
        "which gives the former when it is asked for elements of a type",
    ),
    Circle(
        "python",
        ("functions::conversion", "functions::joining"),
        "a list of arrays is stacked to one array, and its items are converted first, which may be lists",
    ),
    Circle(
        "codegen",
        (
            "functions::ahead",
            "functions::emit",
            "functions::select",
            "functions::squares",
        ),
        "an instruction may hold instructions, whose code is written in the same way: branches that become "
        "selections, and iterations ahead with their squares",
    ),
    Circle(
        "python",
        (
            "functions",
            "functions::table",
            "ufunc",
            "ufunc::methods",
            "ufunc::ufunc_direct",
        ),
        "`np.add.reduce` is `np.sum`",
    ),
    Circle(
        "runtime",
        ("heap::cell", "heap::copies"),
        "a base knows on which devices it has copies, and a device which bases have copies there, "
        "of which it moves the one used longest ago to the host when it needs room",
    ),
]


def absolute(text, name):
    """Return a file's text with paths that begin with `super` written from the crate's root instead."""
    parts = name.split("::")

    def path(found):
        ups = found[0].count("super::")
        return "".join(f"{part}::" for part in ["crate", *parts[: max(0, len(parts) - ups)]])

    return re.sub(r"\b(?:super::)+", path, text)


def parts_used(text, name, modules):
    """Return the modules that are parts of this one and that its text names by paths from itself."""
    parts = (module for module in modules if module.rpartition("::")[0] == name)
    return {part for part in parts if re.search(rf"(?<![\w:]){part.rpartition('::')[2]}::", text)}


def without_tests(text):
    """Return a file's text up to its unit tests, which stand at its end and may use anything."""
    return text.partition("#[cfg(test)]\nmod tests {")[0]


def graph(source):
    """Return which files each file of a crate imports, by the names of their modules."""
    files = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        files["::".join(parts[:-1] if parts[-1] == "mod" else parts)] = path
    for name in ["lib", "main", *(name for name in files if name.split("::")[-1] == "tests")]:
        files.pop(name, None)
    edges = {}
    for name, path in files.items():
        text = absolute(without_tests(path.read_text()), name)
        named = imports(text, files) & set(files) | parts_used(text, name, files)
        edges[name] = {other for other in named if other != name and not name.startswith(f"{other}::")}
    return edges


def wrong_circles(stay, crates):
    """Return a line for each circle of a crate's files that is not listed, or that is listed without need."""
    left, lines = {(circle.crate, frozenset(circle.files)) for circle in stay}, []
    for crate in sorted(crates.iterdir()):
        for circle in circles(graph(crate / "src")):
            if (crate.name, frozenset(circle)) in left:
                left.discard((crate.name, frozenset(circle)))
            else:
                lines.append(f"crates/{crate.name}: {' and '.join(circle)} import each other")
    lines += [f"crates/{crate}: {' and '.join(sorted(names))} need not be listed" for crate, names in left]
    return sorted(lines)


def main():
    """Print all violations and return the exit status."""
    wrong = wrong_circles(STAY, ROOT / "crates")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
