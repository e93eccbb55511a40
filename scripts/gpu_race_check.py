"""Run the tests of GPU kernels in Oclgrind, an OpenCL device that interprets kernels and checks each access.

In: Oclgrind (``apt install oclgrind``), and the number of random programs. Out: exit status 0 if all tests
pass and Oclgrind has reported neither a data race nor an access out of bounds; otherwise 1 and its first
reports. A kernel with both faults is run first, so that a device that finds nothing is noticed. No graphics
card is needed. Not run: matrix products, whose kernels are CLBlast's own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRIVERS = ("/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/local/lib/liboclgrind-rt-icd.so")
# two work-items set the first element, and the last work-items write behind the end
FAULTY = "kernel void faulty(global int *x) { x[0] = get_global_id(0); x[get_global_id(0) + 2] = 1; }"
# the file with the kernel, its name, the work-items in all and in a group, and an array of four elements
FAULTY_RUN = "faulty.cl\nfaulty\n4 1 1\n2 1 1\n<size=16 fill=0>\n"
FOUND = ("data race", "Invalid write")
TESTS = ("conformance", "operations", "reductions", "streams", "functions", "calls")


def environment(folder: Path, driver: str, programs: int) -> dict[str, str]:
    """Return the environment in which a process gets Oclgrind as its only OpenCL device."""
    drivers = folder / "drivers"
    drivers.mkdir()
    (drivers / "oclgrind.icd").write_text(driver + "\n")
    return os.environ | {
        "OCL_ICD_VENDORS": str(drivers),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_LOG": str(folder / "log"),
        # optimized code may contain functions of LLVM that Oclgrind cannot interpret (llvm.abs)
        "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",
        "NUMELT_CACHE_DIR": str(folder / "cache"),
        "NUMELT_TEST_ENGINE": "oclgrind",
        "NUMELT_TEST_PROGRAMS": str(programs),
    }


def reported(folder: Path) -> str:
    """Return what Oclgrind has reported since the last call."""
    log = folder / "log"
    text = log.read_text(errors="replace") if log.exists() else ""
    log.unlink(missing_ok=True)
    return text


def finds_faults(folder: Path, settings: dict[str, str]) -> bool:
    """Does Oclgrind report the race and the wrong access of the kernel `FAULTY`?"""
    (folder / "faulty.cl").write_text(FAULTY)
    (folder / "faulty.sim").write_text(FAULTY_RUN)
    subprocess.run(["oclgrind-kernel", "faulty.sim"], cwd=folder, env=settings, check=True)
    text = reported(folder)
    return all(kind in text for kind in FOUND)


def main() -> int:
    """Run the tests, and return the exit status."""
    parser = argparse.ArgumentParser(description="Find races and wrong accesses in GPU kernels.")
    parser.add_argument("--programs", type=int, default=500, help="number of random programs (500)")
    options = parser.parse_args()
    driver = next(filter(os.path.exists, DRIVERS), None)
    if driver is None:
        print("Oclgrind is not installed (apt install oclgrind)")
        return 1
    named = [argument for name in TESTS for argument in ("--test", name)]
    command = ["cargo", "test", "-p", "numelt-engine-gpu", *named]
    subprocess.run([*command, "--no-run"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        settings = environment(folder, driver, options.programs)
        if not finds_faults(folder, settings):
            print("Oclgrind does not report the faults of a faulty kernel")
            return 1
        start = time.perf_counter()
        shown = ["--no-fail-fast", "--", "--test-threads", "1", "--nocapture"]
        done = subprocess.run([*command, *shown], cwd=ROOT, env=settings)
        reports = reported(folder)
    seconds = f"{time.perf_counter() - start:.0f} s"
    ran = f"{options.programs} random programs and {len(TESTS) - 1} tests in {seconds}"
    print(f"Oclgrind: {ran}; {reports[:4000] or 'no race, no access out of bounds'}")
    return 1 if reports or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
