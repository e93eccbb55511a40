"""The worked examples of docs/extending.md are the actual code, and no other file is involved."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "extending.md").read_text()

# files that may name an operation, but need not
MAY_NAME = {
    "crates/codegen/src/lower.rs", "crates/ir/src/warn.rs", "crates/ir/src/wire/tests.rs",
    # an operation that devices do not have runs on the host
    "crates/engine-gpu/src/render/ops.rs", "crates/engine-gpu/src/render/templates.rs",
}  # fmt: skip


def examples(heading):
    """Return the lines that a section of the page quotes, by file."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    quoted = {}
    for block in re.findall(r"```\w+\n\s*(?://|#) (\S+)\n(.*?)```", part, re.DOTALL):
        quoted[block[0]] = [line.strip() for line in block[1].splitlines() if line.strip()]
    return quoted


def lines(path):
    return [" ".join(line.split()) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("heading", "most"), [("A new elementwise operation", 5), ("A new composed function", 2)]
)
def test_examples_stand_in_the_files(heading, most):
    quoted = examples(heading)
    assert 2 <= len(quoted) <= most
    for name, wanted in quoted.items():
        found = lines(ROOT / name)
        for line in wanted:
            assert any(" ".join(line.split()) in other for other in found), f"{name}: {line}"


def naming(pattern, folders, suffixes):
    """Return the files below some folders that match a pattern."""
    found = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes and re.search(pattern, path.read_text()):
                found.add(path.relative_to(ROOT).as_posix())
    return found


def test_an_operation_stands_in_no_other_source_file():
    named = naming(r"\bHeaviside\b|\bheaviside\b", ["crates", "python/numelt"], {".rs", ".py"})
    assert named - MAY_NAME <= set(examples("A new elementwise operation"))


def test_a_composed_function_stands_in_no_other_source_file():
    named = naming(r"\bfliplr\b", ["crates", "python/numelt"], {".rs", ".py"})
    assert named == {"python/numelt/_routines/manipulation/shape.py"}
