"""Compile kernels that numelt renders as CUDA C++ with NVRTC, which needs no graphics card.

In: the architectures, and the number of random programs whose kernels are compiled in addition to those of
each operation. Out: exit status 0 and a line for each architecture with the registers and spills that the
assembler reports; or the compiler's message about the first kernel that it rejects. ``--table`` also writes
the lines into a file, with the kernels that spill. NVRTC is the PyPI package ``nvidia-cuda-nvrtc-cu12``.
"""

import argparse
import ctypes
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = ["--fmad=false", "--std=c++17", "--minimal", "--ptxas-options=-v"]

# With this many registers for each, 1,024 work-items fit on a multiprocessor, which has 65,536 registers:
# half of its maximum of 2,048 work-items.
HALF_OCCUPANCY = 64


class Compiled(NamedTuple):
    """The result of compiling a text."""

    size: int
    """Size of the machine code in bytes."""
    registers: int
    """The most registers that one function uses."""
    spills: int
    """The bytes that its functions spill to memory because they need more registers."""
    refused: str | None
    """The compiler's message if it rejects the text."""


def nvrtc():
    """Return the library of the installed package, or exit with a message that states what is missing."""
    found = importlib.util.find_spec("nvidia.cuda_nvrtc") if importlib.util.find_spec("nvidia") else None
    folders = list(found.submodule_search_locations) if found else []
    libraries = [path for folder in folders for path in Path(folder).glob("lib/libnvrtc.so*")]
    if not libraries:
        sys.exit("NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12")
    return ctypes.CDLL(str(libraries[0]))


def compiled(library, text, arch):
    """Compile a text for an architecture."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [option.encode() for option in [f"--gpu-architecture={arch}", *OPTIONS]]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if code == 0:
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    log_size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(log_size))
    log = ctypes.create_string_buffer(log_size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    said = log.value.decode()
    registers = max(map(int, re.findall(r"Used (\d+) registers", said)), default=0)
    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", said)))
    return Compiled(size.value, registers, spills, said if code else None)


def summary(arch, all_compiled, seconds):
    """Return the line that describes an architecture."""
    registers = sorted(one.registers for one in all_compiled.values())
    count = len(registers)
    full = sum(number <= HALF_OCCUPANCY for number in registers)
    spilling = sum(one.spills > 0 for one in all_compiled.values())
    mean = sum(one.size for one in all_compiled.values()) / count
    return (
        f"{arch}: {count} kernels, {mean:,.0f} bytes each, registers {registers[count // 2]} in the median "
        f"and {registers[-1]} at most, {full} with at least half occupancy, {spilling} spill, {seconds:.0f} s"
    )


def details(all_compiled):
    """Return a line for each kernel that spills or has less than half of the occupancy."""
    return [
        f"    {name}: {one.registers} registers, {one.spills} bytes spilled"
        for name, one in all_compiled.items()
        if one.spills or one.registers > HALF_OCCUPANCY
    ]


def main():
    """Render the kernels, compile them, and print how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--arch", nargs="*", default=["sm_70", "sm_80", "sm_90", "sm_100"])
    parser.add_argument("--every", type=int, default=1, help="compile each last one of so many kernels")
    parser.add_argument("--table", type=Path, help="the file into which figures are written")
    arguments = parser.parse_args()
    library = nvrtc()
    with tempfile.TemporaryDirectory() as folder:
        render = ["cargo", "run", "--quiet", "-p", "numelt-engine-gpu", "--example", "sources", "--"]
        subprocess.run([*render, folder, str(arguments.programs)], cwd=ROOT, check=True)
        files = sorted(Path(folder).glob("*.cu"))[:: arguments.every]
        for arch in arguments.arch:
            start, done = time.perf_counter(), {}
            for path in files:
                text = path.read_text()
                done[path.stem] = compiled(library, text, arch)
                if done[path.stem].refused is not None:
                    sys.exit(f"{arch} refuses {path.name}:\n{text}\n{done[path.stem].refused}")
            line = summary(arch, done, time.perf_counter() - start)
            print(line, flush=True)
            if arguments.table:
                with arguments.table.open("a") as table:
                    table.writelines(f"{each}\n" for each in [line, *details(done)])


if __name__ == "__main__":
    main()
