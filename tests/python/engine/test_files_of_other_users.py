"""Settings and cached kernels are read only from files that only the user can have put there."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import numelt as np
x = np.linspace(0.0, 1.0, 100_000)
print(float((np.sqrt(x) * x + 1.0).sum()) > 0, np.config.threads)
"""


@pytest.fixture
def run(tmp_path):
    """Run a program that compiles kernels; its settings, cache and key are in folders of its own."""
    folders = {name: tmp_path / name for name in ("config", "state", "cache", "work")}
    for folder in folders.values():
        folder.mkdir(mode=0o700)

    def run(**variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMELT_")}
        environment |= {"XDG_CONFIG_HOME": str(folders["config"]), "XDG_STATE_HOME": str(folders["state"])}
        environment |= {"XDG_CACHE_HOME": str(folders["cache"]), "NUMELT_JIT": "sync"}
        environment |= {"NUMELT_AT_ONCE": "0", "NUMELT_PIECEMEAL": "0"} | variables
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            cwd=folders["work"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("True ")
        return done.stdout.split()[1], done.stderr

    run.__dict__.update(folders)
    return run


def kernels(folder):
    return sorted(folder.glob("**/kernels/*/*.o"))


def test_objects_are_kept_with_a_key_of_the_user(run):
    assert run()[1] == ""
    kept = kernels(run.cache)
    assert kept
    (key,) = run.state.glob("numelt/*")
    assert key.name == "cache.key"
    assert key.stat().st_size == 32
    assert key.stat().st_mode & 0o777 == 0o600
    before = [path.stat().st_mtime_ns for path in kept]
    assert run()[1] == ""
    assert [path.stat().st_mtime_ns for path in kept] == before, "they are used"
    # the same files, as an archive would bring them to a user with another key
    shutil.rmtree(run.state / "numelt")
    assert run()[1] == ""
    assert all(now != then for now, then in zip([p.stat().st_mtime_ns for p in kept], before, strict=True))


def test_changed_bytes_are_not_run(run):
    run()
    for path in kernels(run.cache):
        content = bytearray(path.read_bytes())
        content[-len(content) // 3] ^= 1
        path.write_bytes(content)
        changed = bytes(content)
        run()
        assert path.read_bytes() != changed, "it was compiled again"


def test_the_working_directory_names_no_files(run):
    (run.work / "numelt.toml").write_text(f"threads = 3\ncache_dir = '{run.work}/brought'\n")
    threads, warning = run()
    assert threads == "3"
    assert warning.count("\n") == 1
    assert warning.startswith("numelt: numelt.toml: cache_dir is ignored")
    assert not (run.work / "brought").exists()
    assert kernels(run.cache)
    # the same in a folder of the user
    (run.config / "numelt").mkdir()
    shutil.move(run.work / "numelt.toml", run.config / "numelt/numelt.toml")
    assert run() == ("3", "")
    assert kernels(run.work / "brought")


def test_a_file_that_everybody_may_write_is_not_obeyed(run):
    path = run.work / "numelt.toml"
    path.write_text("threads = 3\n")
    path.chmod(0o666)
    (run.config / "numelt").mkdir()
    (run.config / "numelt/numelt.toml").write_text("threads = 2\n")
    threads, warning = run()
    assert threads == "2"
    assert "numelt.toml is ignored: all users may write to it" in warning


@pytest.mark.parametrize("which", ["cache", "state"])
def test_folders_that_others_may_write_keep_nothing(run, which):
    getattr(run, which).chmod(0o770)
    warning = run()[1]
    assert warning.count("\n") == 1
    assert "compiled kernels are not kept on disk" in warning
    assert f"/{which}: its group may write to it" in warning
    assert not kernels(run.cache)


def test_pipes_in_the_place_of_files_are_not_waited_for(run):
    run()
    path = kernels(run.cache)[0]
    path.unlink()
    os.mkfifo(path)
    assert run()[1] == ""
    assert path.is_file(), "the pipe has been replaced"
    os.mkfifo(run.work / "numelt.toml")
    assert "numelt.toml is ignored: it is no regular file" in run()[1]
    assert "is ignored: it is no regular file" in run(NUMELT_CONFIG=str(run.work / "numelt.toml"))[1]
    (run.work / "numelt.toml").unlink()
    key = run.state / "numelt/cache.key"
    key.unlink()
    os.mkfifo(key)
    warning = run()[1]
    assert "cache.key: it is no regular file" in warning
    assert warning.count("\n") == 1


def test_without_a_home_nothing_is_kept(run):
    warning = run(XDG_STATE_HOME="", HOME="", NUMELT_CACHE_DIR=str(run.cache))[1]
    assert "compiled kernels are not kept on disk: there is no home folder" in warning
    assert not kernels(run.cache)


def failure(**variables):
    environment = os.environ | variables
    done = subprocess.run(
        [sys.executable, "-c", "import numelt"], env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("engine", "gpu", "or auto"),
        ("threads", "many", "a number of threads"),
        ("jit", "maybe", "off, on or sync"),
        ("variants", "x", "dynamic, fixed or selected"),
        ("fuse", "x", "singleton, naive, greedy, unintrusive or optimal"),
        ("passes", "x", "all, none or some of"),
        ("plan_cache", "x", "0 or 1"),
        ("fallback", "x", "silent, warn or error"),
        ("memory_limit", "x", "a size such as"),
        ("trace", "x", "0 or 1"),
        ("block", "x", "a number of points"),
        ("max_pending", "0", "a positive number"),
        ("at_once", "x", "a number of elements"),
        ("piecemeal", "x", "a number of elements"),
        ("put_off", "x", "a number of bytes"),
    ],
)
def test_wrong_values_name_their_setting(tmp_path, key, value, allowed):
    text = failure(**{f"NUMELT_{key.upper()}": value})
    assert f"NUMELT_{key.upper()}: " in text
    assert f'"{value}"' in text
    assert allowed in text
    file = tmp_path / "some.toml"
    file.write_text(f"{key} = '{value}'\n")
    text = failure(NUMELT_CONFIG=str(file))
    assert f"some.toml: {key}: " in text
    assert f'"{value}"' in text
    assert allowed in text


def test_a_file_that_does_not_exist_is_named_with_its_variable(tmp_path):
    text = failure(NUMELT_CONFIG=str(tmp_path / "none.toml"))
    assert "NUMELT_CONFIG" in text
    assert "none.toml" in text


def test_a_wrong_value_for_an_attribute_names_it():
    import numelt

    with pytest.raises(ValueError, match=r"numelt\.config\.jit: .*off, on or sync"):
        numelt.config.jit = "maybe"
