"""Compile kernels that numelt renders as CUDA C++ with NVRTC, which needs no graphics card.

Goes in: the number of random programs whose kernels are compiled beside those of each operation, and the
architectures. Comes out: exit status 0, or what the compiler says of the first kernel that it refuses. NVRTC
is the PyPI package ``nvidia-cuda-nvrtc-cu12``.
"""

import argparse
import ctypes
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = ["--fmad=false", "--std=c++17"]


def nvrtc():
    """Return the library of the installed package, or exit with a line that says what is missing."""
    found = importlib.util.find_spec("nvidia.cuda_nvrtc") if importlib.util.find_spec("nvidia") else None
    folders = list(found.submodule_search_locations) if found else []
    libraries = [path for folder in folders for path in Path(folder).glob("lib/libnvrtc.so*")]
    if not libraries:
        sys.exit("NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12")
    return ctypes.CDLL(str(libraries[0]))


def compiled(library, text, arch):
    """Return the size of the machine code of a text, and what the compiler says where it refuses it."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [option.encode() for option in [f"--gpu-architecture={arch}", *OPTIONS]]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if code == 0:
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        said = None
    else:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        said = log.value.decode()
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return size.value, said


def main():
    """Render the kernels, compile them, and print how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--arch", nargs="*", default=["sm_70", "sm_80", "sm_90"])
    parser.add_argument("--every", type=int, default=1, help="compile each last one of so many kernels")
    arguments = parser.parse_args()
    library = nvrtc()
    with tempfile.TemporaryDirectory() as folder:
        render = ["cargo", "run", "--quiet", "-p", "numelt-engine-gpu", "--example", "sources", "--"]
        subprocess.run([*render, folder, str(arguments.programs)], cwd=ROOT, check=True)
        files = sorted(Path(folder).glob("*.cu"))[:: arguments.every]
        for arch in arguments.arch:
            start, total = time.perf_counter(), 0
            for path in files:
                text = path.read_text()
                size, said = compiled(library, text, arch)
                if said is not None:
                    sys.exit(f"{arch} refuses {path.name}:\n{text}\n{said}")
                total += size
            seconds = time.perf_counter() - start
            print(f"{arch}: {len(files)} kernels, {total / len(files):,.0f} bytes each, {seconds:.0f} s")


if __name__ == "__main__":
    main()
