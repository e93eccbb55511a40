"""Check the wheel as a new user meets it: in a clean environment, without LLVM, with the oldest NumPy.

In: the folder that holds exactly one wheel. Out: exit status 0, or a message that states what is wrong. The
script checks the wheel's tags and size; that every shared library that it needs is inside it or part of any
Linux system; and that a program that compiles kernels runs in a virtual environment with nothing but NumPy
and the wheel. If the kernel of the system allows it, that program runs in a mount namespace in which the
machine's LLVM is hidden. In any case, it must have mapped only the wheel's own LLVM, and only to compile.
Then the program runs without the wheel's LLVM (with `--without-llvm`, for wheels that are built without it,
only that). The tests' device engine, which builds for development contain, must not be in the wheel.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 25_000_000
OLDEST_NUMPY = "2.2.0"
# The libraries that a Linux wheel may take from the system: the C and C++ runtimes, and zlib, as manylinux
# allows.
SYSTEM = re.compile(
    r"^(ld-linux.*|libc|libm|libdl|librt|libpthread|libutil|libgcc_s|libstdc\+\+|libz)\.so(\.\d+)*$"
)
HIDE = """
set -e
for place in /usr/lib/llvm-*; do
  [ ! -d "$place" ] || mount -t tmpfs none "$place"
done
for library in /usr/lib/*/libLLVM* /usr/lib/libLLVM*; do
  [ ! -f "$library" ] || mount --bind /dev/null "$library"
done
"""
OUR_LLVM = "libnumelt_llvm.so"
PROGRAM = f"""
import sys
from importlib.metadata import version
import numpy as real
import numelt as np

def mapped():
    with open("/proc/self/maps") as maps:
        files = {{line.split(None, 5)[5].strip() for line in maps if line.count("/")}}
    return [f.rsplit("/", 1)[1] for f in files if "LLVM" in f or "llvm" in f]

x, y = np.linspace(0.0, 1.0, 300_000), np.linspace(1.0, 2.0, 300_000)
z = np.sqrt(x * x + 2 * x * y + y * y) + np.exp(-x) * (x > 0.5)
a, b = real.linspace(0.0, 1.0, 300_000), real.linspace(1.0, 2.0, 300_000)
expected = real.sqrt(a * a + 2 * a * b + b * b) + real.exp(-a) * (a > 0.5)
assert real.allclose(real.asarray(z), expected, rtol=1e-14, atol=0.0)
assert abs(float(z.sum()) - float(expected.sum())) <= 1e-9
assert mapped() == (["{OUR_LLVM}"] if sys.argv[1] == "compiles" else []), mapped()
print("numelt", version("numelt"), "with NumPy", real.__version__, "on Python", sys.version.split()[0])
"""


# The name of the engine that only builds for development contain.
TESTS_ENGINE = "far"


class WheelError(Exception):
    """The wheel must not be published."""


def find_wheel(folder):
    """Return the only wheel in `folder`, after checking its tags and size."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise WheelError(f"expected one wheel in {folder}, found {[w.name for w in wheels]}")
    (wheel,) = wheels
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    if not re.match(rf"^numelt-[^-]+-{tag}-{tag}-\w+\.whl$", wheel.name):
        raise WheelError(f"{wheel.name}: not a wheel for the CPython that checks it ({tag})")
    size = wheel.stat().st_size
    if size > LARGEST:
        raise WheelError(f"{wheel.name}: {size} bytes, more than {LARGEST}")
    print(f"{wheel.name}: {size / 1e6:.1f} MB")
    return wheel


def needed(library):
    """Return the names of the shared libraries that an ELF file needs."""
    text = subprocess.run(["readelf", "-dW", str(library)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", text)


def check_libraries(wheel, folder, with_llvm):
    """Unpack the wheel and check that each library that it needs is inside, or on every Linux system."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        names = archive.namelist()
    for member in ("numelt/py.typed", "numelt/__main__.py"):
        if member not in names:
            raise WheelError(f"{member} is missing")
    libraries = {p.name: p for p in folder.rglob("*.so*") if p.read_bytes()[:4] == b"\x7fELF"}
    if brought := [name for name in libraries if "LLVM" in name]:
        raise WheelError(f"the wheel brings the system's {', '.join(brought)}")
    if (OUR_LLVM in libraries) != with_llvm:
        raise WheelError(f"{OUR_LLVM} {'is missing' if with_llvm else 'should not be there'}")
    if not any(name.startswith("_core.") for name in libraries):
        raise WheelError("the compiled module numelt/_core is missing")
    for name, path in libraries.items():
        for wanted in needed(path):
            if wanted not in libraries and not SYSTEM.match(wanted):
                raise WheelError(f"{name} needs {wanted}, which is neither in the wheel nor on every system")
        print(f"{name} needs {', '.join(needed(path))}")


def install(wheel, folder):
    """Make an environment that contains only NumPy and the wheel; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, f"numpy=={OLDEST_NUMPY}", str(wheel)], check=True)
    linked = subprocess.run(
        ["ldd", *map(str, (folder / "lib").rglob("numelt/_core*.so"))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if "LLVM" in linked or "not found" in linked:
        raise WheelError(f"ldd of the installed module:\n{linked}")
    return python


def hiding_prefix():
    """Return a command that runs the rest with LLVM hidden, or an empty list if none can."""
    for flags in (["--mount"], ["--mount", "--map-root-user"]):
        prefix = ["unshare", *flags, "--propagation", "private", "sh", "-c", f'{HIDE}\nexec "$@"', "sh"]
        if shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
            return prefix
    return []


def run_programs(python, folder, with_llvm):
    """Run a small program and an example in the clean environment, with synchronous compilation."""
    hide = hiding_prefix()
    print(
        "LLVM is hidden by a mount namespace"
        if hide
        else "no mount namespace here: only mapped files are checked"
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "NUMELT_JIT": "sync"}
    environment["NUMELT_CACHE_DIR"] = str(folder / "cache")
    example = shutil.copy(ROOT / "examples" / "game_of_life.py", folder)

    def run(*arguments):
        command = [*hide, str(python), *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, check=True, timeout=120, capture_output=True, text=True
        )
        print(done.stdout, end="")
        return done.stderr.count("not compiled")

    command = [str(python), "-c", "import numelt"]
    chosen = environment | {"NUMELT_ENGINE": TESTS_ENGINE}
    done = subprocess.run(command, cwd=folder, env=chosen, timeout=120, capture_output=True, text=True)
    if done.returncode == 0 or f'NUMELT_ENGINE: "{TESTS_ENGINE}" is not' not in done.stderr:
        raise WheelError(f"the wheel does not refuse the tests' engine {TESTS_ENGINE!r}:\n{done.stderr}")

    if with_llvm:
        warned = run("-c", PROGRAM, "compiles") + run("-c", PROGRAM, "finds its kernels on disk")
        warned += run("-m", "numelt", example, "--size", "200", "--generations", "20")
        if warned:
            raise WheelError("LLVM is there, but a warning says that nothing is compiled")
        for library in (folder / "venv" / "lib").rglob(OUR_LLVM):
            library.unlink()
    environment["NUMELT_CACHE_DIR"] = str(folder / "another cache")
    if run("-c", PROGRAM, "does without") != 1:
        raise WheelError("without LLVM there should be one warning")


def main():
    """Check the wheel; returns the exit status."""
    parser = argparse.ArgumentParser(description="Check the wheel in a clean environment without LLVM.")
    parser.add_argument("folder", type=Path, help="folder with the one wheel")
    parser.add_argument("--without-llvm", action="store_true", help="the wheel was built without LLVM")
    options = parser.parse_args()
    with_llvm = not options.without_llvm
    # With an inherited import path, the checkout would be imported instead of the wheel.
    for name in ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="numelt-wheel-") as name:
        folder = Path(name)
        try:
            wheel = find_wheel(options.folder).resolve()
            check_libraries(wheel, folder / "unpacked", with_llvm)
            run_programs(install(wheel, folder / "venv"), folder, with_llvm)
        except WheelError as error:
            print(f"wheel check failed: {error}", file=sys.stderr)
            return 1
        except subprocess.SubprocessError as error:
            print(f"wheel check failed: {error}\n{getattr(error, 'stderr', None) or ''}", file=sys.stderr)
            return 1
    print("the wheel works without any other LLVM, and without its own")
    return 0


if __name__ == "__main__":
    sys.exit(main())
