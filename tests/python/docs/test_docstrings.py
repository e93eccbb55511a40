"""The examples in the docstrings run, and every native function has one.

The functions show NumPy's own documentation to users; numelt's docstrings are in the source.
"""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil

import numpy
import pytest

import numelt
from numelt._dispatch.native import COMPILED, NATIVE

pytestmark = pytest.mark.quick


DOCS = pathlib.Path(__file__).parents[3] / "docs"
# pages whose examples other tests run
ELSEWHERE = ("engines", "extending")

ROUTINES = [m.name for m in pkgutil.walk_packages(numelt._routines.__path__, "numelt._routines.")]
MODULES = [
    *ROUTINES,
    "numelt.tools.coverage",
    "numelt.tools.inspection",
    "numelt.tools.lazy",
    "numelt.tools.profiling",
    "numelt.tools.starting",
    "numelt._dispatch.library",
]
PAGES = sorted(
    page for page in DOCS.glob("*.md") if ">>> " in page.read_text() and page.stem not in ELSEWHERE
)
MODULES += ["numelt._random.generators", "numelt.filters"]


def written(name):
    """Return the docstrings in a module's source by the names of the objects that have them."""
    tree = ast.parse(inspect.getsource(importlib.import_module(name)))
    texts = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text:
                texts.setdefault(node.name, text)
    return texts


def run(texts):
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with numpy.printoptions(legacy=False):
        for name, text in texts.items():
            runner.run(parser.get_doctest(text, {}, name, None, 0))
    return runner


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_pages(page):
    assert run({page.name: page.read_text()}).failures == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, recorded):
    assert run(written(name)).failures == 0


def test_documented():
    texts = {}
    for name in ROUTINES:
        texts |= written(name)
    # the docstrings of compiled functions are in the Rust source
    for function in set(NATIVE.values()) - set(COMPILED.values()):
        text = texts.get(function.__name__) or texts[function.__qualname__]
        assert ">>>" in text
        assert not text.startswith("\n")
