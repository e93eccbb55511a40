"""The script that checks dependencies of crates and files, on workspaces that break its rules."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check", ROOT / "scripts" / "check_architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def workspace(**crates):
    def dependency(name, kind, optional=False):
        return {"name": name, "kind": kind, "optional": optional}

    return {
        "packages": [
            {"name": f"numelt-{crate}", "dependencies": [dependency(*used) for used in uses]}
            for crate, uses in crates.items()
        ]
    }


def test_a_crate_uses_only_what_the_table_says(check):
    allowed = workspace(ir=[], python=[("numelt-ir", None), ("libc", None)])
    assert check.wrong_dependencies(allowed) == []
    crates = {"engine-cpu": [], "python": [("numelt-engine-cpu", None)]}
    wrong = check.wrong_dependencies(workspace(**crates))
    assert wrong == ["crates/python/Cargo.toml: it may not depend on numelt-engine-cpu"]


def test_what_only_tests_use_is_not_counted(check):
    assert check.wrong_dependencies(workspace(ir=[("numelt-testing", "dev")], testing=[])) == []


def test_some_crates_are_used_only_if_a_feature_asks_for_them(check):
    crates = {"engines": [("numelt-testing", None, True)], "testing": []}
    assert check.wrong_dependencies(workspace(**crates)) == []
    crates["engines"] = [("numelt-testing", None, False)]
    (line,) = check.wrong_dependencies(workspace(**crates))
    assert line == "crates/engines/Cargo.toml: it may not depend on numelt-testing"


def test_a_new_crate_has_to_be_in_the_table(check):
    (line,) = check.wrong_dependencies(workspace(cluster=[]))
    assert line.startswith("crates/cluster is missing")


def test_patterns_stand_in_their_files_only(check, tmp_path):
    for name in ["engine-cpu/src/lib.rs", "engines/src/lib.rs", "python/src/random.rs"]:
        path = tmp_path / "crates" / name
        path.parent.mkdir(parents=True)
        path.write_text("//! Text.\nuse numelt_engine_cpu::truths;\n")
    (line,) = check.wrong_places(check.RULES, tmp_path)
    assert line.startswith("crates/python/src/random.rs:2: numelt_engine_cpu: ")


@pytest.mark.parametrize(
    "line",
    [
        "setattr(pandas.DataFrame, 'sum', ours)",
        "function.__code__ = code",
        "(namespace,) = gc.get_referents(vars(cls))",
        "import ctypes",
        "    builtins.__import__ = ours",
        "numpy._core.numeric._frombuffer = ours",
        "sys.meta_path.insert(0, Finder)",
    ],
)
def test_other_peoples_objects_are_changed_in_compat_only(check, tmp_path, line):
    for name in ["compat/compiled.py", "compat/watching.py", "_ufunc/reductions.py", "_routines/sorting.py"]:
        path = tmp_path / "python" / "numelt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{line}\n")
    wrong = check.wrong_places(check.RULES, tmp_path)
    outside = [text for text in wrong if "/compat/" not in text]
    assert [text.partition(":")[0] for text in outside] == [
        "python/numelt/_routines/sorting.py", "python/numelt/_ufunc/reductions.py",
    ]  # fmt: skip


def test_the_rules_hold_here(check):
    assert check.wrong_places(check.RULES, ROOT) == []


def test_imports_between_folders_run_one_way(check, tmp_path):
    texts = {
        "low/a.rs": "use crate::{high::{b, c::Item}, low::d};",
        "low/d.rs": "fn f() { crate::high::b::g(); } // crate::high::c",
        "high/b.rs": "use crate::low::a;",
        "high/c.rs": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    exceptions = [check.Upward("low", "high::b", ("a", "e"), "for the test")]
    assert check.wrong_imports(["low", "high"], exceptions, tmp_path) == [
        "crates/python/src: low::a imports high::c, which stands in a later folder",
        "crates/python/src: low::d imports high::b, which stands in a later folder",
        "crates/python/src: nothing needs the exception low high::b e",
    ]
    assert check.wrong_imports(["low"], [], tmp_path)[0].endswith("it stands in no folder of the table")


def test_folders_of_the_front_end_keep_their_order(check):
    assert check.wrong_imports(check.FOLDERS, check.UPWARD, ROOT / "crates/python/src") == []


def test_imports_of_the_package_run_one_way(check, tmp_path):
    texts = {
        "__init__.py": "from numelt.high import b",
        "low/__init__.py": "",
        "low/a.py": "def f():\n    from numelt.high import b\n    import numelt",
        "low/c.py": "from numelt import _core\nfrom numelt.low import d",
        "low/d.py": "import numelt.low.c\nif TYPE_CHECKING:\n    from numelt.high import b",
        "high/__init__.py": "",
        "high/b.py": "from numelt.low.a import f",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    exceptions = [check.Upward("low", "numelt", ("a",), "for the test")]
    assert check.wrong_packages(["low", "high"], exceptions, tmp_path) == [
        "python/numelt: numelt.high.b and numelt.low.a import each other",
        "python/numelt: numelt.low.a imports numelt.high.b, which stands in a later folder",
        "python/numelt: numelt.low.c and numelt.low.d import each other",
    ]


def test_folders_of_the_package_keep_their_order(check):
    assert check.wrong_packages(check.PACKAGES, check.PACKAGES_UPWARD, ROOT / "python/numelt") == []


@pytest.fixture(scope="module")
def circles_check():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("check_circles")


def test_files_that_import_each_other_are_found(circles_check, tmp_path):
    texts = {
        "low.rs": "use crate::high::Item;\n#[cfg(test)]\nmod tests {\n    use crate::alone::f;\n}",
        "high/mod.rs": "mod part;\nuse part::g;\npub struct Item;",
        "high/part.rs": "use super::Item;\nuse super::super::low::h; // crate::alone",
        "alone.rs": "use crate::low::h;",
    }
    for name, text in texts.items():
        path = tmp_path / "one" / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = circles_check.wrong_circles([], tmp_path)
    assert found == ["crates/one: high and high::part and low import each other"]
    listed = circles_check.Circle("one", ("high", "high::part", "low"), "for the test")
    assert circles_check.wrong_circles([listed], tmp_path) == []
    (tmp_path / "one" / "src" / "low.rs").write_text("")
    assert circles_check.wrong_circles([listed], tmp_path) == [
        "crates/one: high and high::part and low need not be listed"
    ]


def test_no_other_files_import_each_other_here(circles_check):
    assert circles_check.wrong_circles(circles_check.STAY, ROOT / "crates") == []
