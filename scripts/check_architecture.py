"""Check the rules of ARCHITECTURE.md: which crate may use which, the order of folders, code of certain files.

In: the workspace, as ``cargo metadata`` and the files under ``crates`` and ``python`` describe it. Out: exit
status 0, or a line for each violation of a rule. The rules are the tables below.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# Which crates of the workspace each crate may use. Dependencies for tests and builds are not counted.
MAY_USE = {
    "ir": [],
    "vecmath": [],
    "llvm": [],
    "opt": ["ir"],
    # the code of compiled loops, and how Python's loops are translated to it
    "func": ["ir"],
    "jit": ["ir", "func"],
    "runtime": ["ir", "opt"],
    # the runtime only for files (the store of compiled objects) and for memory that is returned to the system
    "codegen": ["ir", "func", "opt", "runtime", "vecmath", "llvm"],
    "engine-cpu": ["ir", "opt", "runtime", "vecmath", "codegen"],
    "engine-gpu": ["ir", "opt", "runtime", "vecmath"],
    "engines": ["ir", "runtime", "engine-cpu", "engine-gpu"],
    # crates/array: NumPy's rules, and arrays for Rust programs
    "numelt": ["ir", "runtime", "engines"],
    # llvm only to put its library into the package
    # codegen for compiled loops, which no engine runs, and vecmath to set the processor's flags around them
    "python": ["numelt", "ir", "func", "jit", "codegen", "runtime", "engines", "llvm", "vecmath"],
    "testing": ["ir", "opt", "runtime"],
    # examples/engine
    "example-engine": ["ir", "opt", "runtime"],
    # examples/rust
    "example-programs": ["numelt"],
}

# Which crates a crate may use in addition if a feature requests them; no package that is shipped has such a
# feature.
MAY_USE_IF_ASKED = {
    "engines": ["testing"],
}

# The folders of crates/python/src. The files of a folder may import those of the folders before it, and of
# their own.
FOLDERS = [
    "cpython", "object", "numpy", "record", "sharing", "array", "ufunc", "array_class", "random", "functions",
    "jit", "dispatch",
]  # fmt: skip


class Upward(NamedTuple):
    """An import against the order of the folders. The list must not become longer."""

    folder: str
    imported: str
    """A module of a later folder, or that folder itself."""
    importers: tuple[str, ...]
    """The modules of the folder that import it."""
    reason: str


UPWARD = [
    Upward("ufunc", "functions", ("methods",), "a list of arrays is joined to one, as `np.stack` does"),
    Upward("ufunc", "functions::reductions", ("methods",), "`np.add.reduce` is `np.sum`"),
]


# The folders of python/numelt, with the same rule. The compiled module `_core` comes before all of them, and
# the files outside folders (the public namespace) come after all of them.
PACKAGES = ["_dispatch", "_ufunc", "_jit", "_routines", "_array", "_random", "compat", "tools"]

PACKAGES_UPWARD = [
    Upward(
        "_dispatch",
        "numelt",
        ("composed",),
        "functions of NumPy's that run over our arrays look names up in the public namespace",
    ),
    Upward("_ufunc", "numelt", ("ufuncs",), "`reduceat` is composed of public functions"),
    Upward(
        "_jit",
        "numelt",
        ("collecting", "generalized", "operators", "vectorizing"),
        "operators that call functions of the user make arrays with public functions",
    ),
    Upward("_array", "numelt", ("methods",), "`__array_namespace__` returns the public namespace"),
    Upward(
        "tools",
        "numelt",
        ("extensions", "inspection", "launcher"),
        "the launcher, `show_config` and extension methods use what users use",
    ),
]


class Rule(NamedTuple):
    """A pattern that may occur in certain files only."""

    pattern: str
    looked_for_in: str
    """A glob, relative to the root of the repository."""
    allowed_in: tuple[str, ...]
    """Globs or names of files."""
    reason: str


RULES = [
    Rule(
        r"\bnumelt_engine_\w+",
        "crates/**/*.rs",
        ("crates/engine-*/**/*.rs", "crates/engines/**/*.rs"),
        "engines are made by name (crates/engines) and used through the runtime's traits",
    ),
    Rule(
        r"^\s*(pub(\([a-z]+\))? )?static ",
        "crates/runtime/**/*.rs",
        (
            # the default runtime
            "crates/runtime/src/runtime.rs",
            # the number of each thread
            "crates/runtime/src/heap/guards.rs",
            # a fork copies all runtimes of the process
            "crates/runtime/src/runtime/fork.rs",
            # numbers of temporary files, which other threads of the process must not use
            "crates/runtime/src/store.rs",
            "crates/runtime/src/store/secret.rs",
            # what the process has loaded, and the memory limit of its control group
            "crates/runtime/src/footprint.rs",
            "crates/runtime/src/heap/idle.rs",
            "crates/runtime/src/heap/pool/tests.rs",
        ),
        "runtimes work side by side, so that nothing of one may be the process's",
    ),
    Rule(
        r"\bunsafe\b(?! code)",
        "crates/engine-gpu/src/**/*.rs",
        (
            "crates/engine-gpu/src/library.rs",
            "crates/engine-gpu/src/cuda/api.rs",
            "crates/engine-gpu/src/cuda/api/pinned.rs",
            "crates/engine-gpu/src/cuda/cublas.rs",
            "crates/engine-gpu/src/cuda/cufft.rs",
            "crates/engine-gpu/src/cuda/cusolver.rs",
            "crates/engine-gpu/src/cuda/mod.rs",
            "crates/engine-gpu/src/cuda/nvrtc.rs",
            "crates/engine-gpu/src/cuda/toolkit.rs",
            "crates/engine-gpu/src/opencl/api.rs",
            "crates/engine-gpu/src/opencl/clblast.rs",
            "crates/engine-gpu/src/opencl/clfft.rs",
            "crates/engine-gpu/src/opencl/mod.rs",
            "crates/engine-gpu/src/opencl/signals.rs",
            "crates/engine-gpu/src/device/calls.rs",
            "crates/engine-gpu/src/device/driver.rs",
            "crates/engine-gpu/src/device/launch.rs",
            "crates/engine-gpu/src/device/products.rs",
            "crates/engine-gpu/src/device/routines.rs",
            # memory of other libraries
            "crates/engine-gpu/src/device/sharing.rs",
        ),
        "calls of each library stand in one file; drivers say what a launch touches, and three files launch",
    ),
    Rule(
        r"\bunsafe\b(?! code)",
        "crates/codegen/src/**/*.rs",
        (
            # LLVM's C interface
            "crates/codegen/src/builder.rs",
            "crates/codegen/src/builder/constants.rs",
            "crates/codegen/src/target.rs",
            # memory that is made executable
            "crates/codegen/src/image.rs",
            # calls of compiled code, and the contract with the driver
            "crates/codegen/src/kernels/mod.rs",
            "crates/codegen/src/kernels/tile.rs",
            "crates/codegen/src/functions/mod.rs",
            "crates/codegen/src/functions/ahead.rs",
            "crates/codegen/src/functions/library.rs",
            # copies of the memory that iterations ahead may write
            "crates/codegen/src/functions/undo.rs",
            # functions of the C library and loops over elements, which compiled code calls
            "crates/codegen/src/lower/math.rs",
            "crates/codegen/src/lower/calls.rs",
            # the processor's features
            "crates/codegen/src/host.rs",
        ),
        "what the code says is built by safe calls; addresses and calls stand in few files",
    ),
    Rule(
        r"\bnumelt_(runtime|llvm)::",
        "crates/codegen/src/**/*.rs",
        (
            "crates/codegen/src/lib.rs",
            "crates/codegen/src/builder.rs",
            "crates/codegen/src/builder/constants.rs",
            "crates/codegen/src/target.rs",
            "crates/codegen/src/cache.rs",
            "crates/codegen/src/host.rs",
        ),
        "code generation has files and memory from the runtime, no policy; LLVM: the builder and the target",
    ),
    Rule(
        r"\bunsafe\b(?! code)",
        "crates/python/src/**/*.rs",
        (
            # CPython's calling conventions and fields of our types
            "crates/python/src/cpython/calls.rs",
            "crates/python/src/cpython/frames.rs",
            "crates/python/src/cpython/given.rs",
            "crates/python/src/cpython/vectorcall.rs",
            "crates/python/src/cpython/versioned.rs",
            # memory of array objects
            "crates/python/src/object/fresh.rs",
            "crates/python/src/object/ndarray.rs",
            "crates/python/src/object/spare.rs",
            # NumPy's C interface
            "crates/python/src/numpy/blas.rs",
            "crates/python/src/numpy/convert.rs",
            "crates/python/src/numpy/coverage.rs",
            "crates/python/src/numpy/errors.rs",
            "crates/python/src/sharing/derived.rs",
            "crates/python/src/sharing/export.rs",
            "crates/python/src/sharing/loan.rs",
            "crates/python/src/sharing/real_array.rs",
            "crates/python/src/sharing/subclass.rs",
            # memory of devices that other libraries use, too
            "crates/python/src/sharing/device_arrays.rs",
            "crates/python/src/sharing/dlpack.rs",
            # calls of the runtime that rely on the GIL
            "crates/python/src/record/errstate.rs",
            "crates/python/src/record/run.rs",
            "crates/python/src/record/truths.rs",
            # few elements, read and written in memory
            "crates/python/src/array/advanced/few.rs",
            "crates/python/src/array/advanced/few_by_lookup.rs",
            "crates/python/src/array/basic.rs",
            "crates/python/src/array/operand.rs",
            "crates/python/src/array/sequence.rs",
            "crates/python/src/functions/dense.rs",
            "crates/python/src/functions/joining.rs",
            "crates/python/src/functions/solving.rs",
            "crates/python/src/random/mod.rs",
            "crates/python/src/random/random_sequence.rs",
            # functions that the interpreter calls without PyO3's code around them
            "crates/python/src/array_class/members.rs",
            "crates/python/src/array_class/methods.rs",
            "crates/python/src/array_class/protocols.rs",
            "crates/python/src/ufunc/quick.rs",
            "crates/python/src/ufunc/ufunc_direct.rs",
            "crates/python/src/dispatch/direct.rs",
            "crates/python/src/dispatch/module.rs",
            "crates/python/src/dispatch/unbound.rs",
            # calls of compiled loops
            "crates/python/src/jit/ahead.rs",
            "crates/python/src/jit/arguments.rs",
            "crates/python/src/jit/attributes.rs",
            "crates/python/src/jit/code.rs",
            "crates/python/src/jit/host_functions.rs",
            "crates/python/src/jit/unit.rs",
            "crates/python/src/jit/world.rs",
        ),
        "calls of CPython's and NumPy's C interfaces stand in few files",
    ),
    Rule(
        r"\bunsafe\b(?! code)",
        "crates/array/src/**/*.rs",
        (
            # arrays of Rust programs, and of other libraries
            "crates/array/src/api/dlpack.rs",
            "crates/array/src/api/memory.rs",
            # not code: the name of one of the casting rules
            "crates/array/src/rules/casting.rs",
        ),
        "NumPy's rules need no addresses",
    ),
    Rule(
        r"\bpyo3\b|\bPy(Result|Err|Any)\b|\bPython<",
        "crates/array/**/*.rs",
        (),
        "crate numelt holds NumPy's rules without Python",
    ),
    Rule(
        # C's own structures aside; `here` is the address of a base's host memory
        r"\*(mut|const) (?!libc::)|\bNonNull\b|\.here\(\)",
        "crates/{runtime,opt,ir}/src/**/*.rs",
        (
            "crates/runtime/src/heap/**/*.rs",
            # memory that front ends pass to be adopted
            "crates/runtime/src/runtime.rs",
            # addresses that are passed to engines: the traits, and four places where the host gets work
            "crates/runtime/src/engine.rs",
            "crates/runtime/src/host.rs",
            "crates/runtime/src/blas.rs",
            "crates/runtime/src/exec/memory.rs",
            "crates/runtime/src/at_once.rs",
            "crates/runtime/src/piecemeal.rs",
            "crates/runtime/src/runtime/recording.rs",
        ),
        "an array may live on a device: addresses of values are the heap's and the engines' business",
    ),
    Rule(
        r"->[^{;]*\*(mut|const) u8",
        "crates/runtime/src/**/*.rs",
        (
            # the address of a guard, which excludes other readers and writers
            "crates/runtime/src/heap/guards.rs",
            # the address of an export, which means that code outside can see the memory
            "crates/runtime/src/heap/base.rs",
            # addresses inside the heap
            "crates/runtime/src/heap/cell.rs",
            "crates/runtime/src/heap/pool.rs",
            # addresses that are passed to engines
            "crates/runtime/src/engine.rs",
        ),
        "an address of values leaves the runtime by a guard or an export only",
    ),
    Rule(
        r"\bbase\.(peek|poke)\(",
        "crates/python/src/**/*.rs",
        ("crates/python/src/record/run.rs",),
        "what may happen while somebody looks at values without a guard is said once, in run.rs",
    ),
    Rule(
        r"\bsetattr\(|\btype\.__setattr__\(|\bobject\.__setattr__\(",
        "python/numelt/**/*.py",
        (
            "python/numelt/compat/*.py",
            # our array class and its metaclass, while they are being completed
            "python/numelt/_array/methods.py",
            "python/numelt/_array/classes.py",
            # our functions, which get the attributes of NumPy's
            "python/numelt/_dispatch/native.py",
            # our modules, which have the names of NumPy's
            "python/numelt/_namespace.py",
            # methods of our classes, made when they are first used
            "python/numelt/_random/generators.py",
            "python/numelt/_dispatch/stacks.py",
            "python/numelt/_ufunc/ufuncs.py",
            # the parts of our complex arrays
            "python/numelt/_routines/mathematical/elementwise.py",
            # copies of syntax trees
            "python/numelt/_jit/rewriter.py",
            # functions that the module itself has made
            "python/numelt/_jit/source.py",
            # methods that protocols require, on classes of the program in files that contain `import numpy`
            "python/numelt/tools/importing.py",
        ),
        "objects that are not numelt's own are changed in compat only",
    ),
    Rule(
        r"^\s*(builtins|importlib|pickle|sys|warnings|numpy)(\.\w+)+ = ",
        "python/numelt/**/*.py",
        (
            "python/numelt/compat/*.py",
            # the arguments and the exception hook of the program that the launcher runs
            "python/numelt/tools/launcher.py",
        ),
        "modules that are not numelt's own are changed in compat only",
    ),
    Rule(
        r"__code__",
        "python/numelt/**/*.py",
        (
            "python/numelt/compat/*.py",
            # compared with the code that results from compiling the source again; the bytecode is never read
            "python/numelt/_jit/source.py",
            "python/numelt/_jit/lower.py",
            "python/numelt/_jit/twin.py",
            # keys of what is known about a function: if a function is defined inside another one, each call
            # of the outer one makes a new object with the same code
            "python/numelt/_jit/calling.py",
            "python/numelt/_jit/drivers.py",
            "python/numelt/_jit/reporting.py",
            "python/numelt/_jit/vectorizing.py",
            "python/numelt/_routines/functional.py",
        ),
        "code of functions that are not numelt's own is neither read nor changed",
    ),
    Rule(
        r"\bgc\.get_referents\b|\bimport ctypes\b|\bfrom ctypes\b|\bctypes\.pythonapi\b",
        "python/numelt/**/*.py",
        ("python/numelt/compat/compiled.py",),
        "only the methods of other people's compiled classes need this, which refuse to be set by name",
    ),
    Rule(
        r"\bmeta_path\b",
        "python/numelt/**/*.py",
        ("python/numelt/compat/watching.py",),
        "finders are added in one place",
    ),
]


def wrong_dependencies(metadata):
    """Return a line for each crate that depends on a crate of the workspace that it may not use."""
    lines = []
    ours = {package["name"] for package in metadata["packages"]}
    for package in metadata["packages"]:
        name = package["name"].removeprefix("numelt-")
        used = {d["name"]: d["optional"] for d in package["dependencies"] if d["kind"] is None}
        if name not in MAY_USE:
            lines.append(f"crates/{name} is missing from the table of scripts/check_architecture.py")
            continue
        for other in sorted(ours & set(used)):
            asked = MAY_USE_IF_ASKED.get(name, []) if used[other] else []
            if other.removeprefix("numelt-") not in MAY_USE[name] + asked:
                lines.append(f"crates/{name}/Cargo.toml: it may not depend on {other}")
    return lines


def expanded(tree):
    """Return the paths that the rest of a `use` after `crate::` stands for, as lists of names."""
    if "{" not in tree:
        return [tree.split(" as ")[0].strip().split("::")]
    head, rest = tree.split("{", 1)
    start = [name for name in head.strip().split("::") if name]
    paths, depth, item = [], 0, ""
    for character in rest[: rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            paths += [start + path for path in expanded(item)] if item.strip() else []
            item = ""
        else:
            item += character
    return paths


def imports(text, modules):
    """Return the modules of the crate that a file's text names by paths from the crate's root."""
    text = re.sub(r"//[^\n]*", "", text)
    use = r"\buse crate::([^;]*);"
    paths = [path for tree in re.findall(use, text) for path in expanded(tree)]
    paths += [path.split("::") for path in re.findall(r"\bcrate::(\w+(?:::\w+)*)", re.sub(use, "", text))]
    found = set()
    for path in paths:
        starts = ("::".join(path[:length]) for length in range(len(path), 0, -1))
        found.update([next((start for start in starts if start in modules), path[0])])
    return found


def wrong_imports(folders, upward, source):
    """Return a line for each import against the order, and for each exception that is not needed."""
    files = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        files["::".join(parts[:-1] if parts[-1] == "mod" else parts)] = path
    files.pop("lib", None)
    lines = [
        f"{path}: it stands in no folder of the table"
        for name, path in files.items()
        if name.split("::")[0] not in folders
    ]
    if lines:
        return sorted(lines)
    allowed = {(u.folder, u.imported, name) for u in upward for name in u.importers}
    used = set()
    for name, path in files.items():
        folder, _, inner = name.partition("::")
        for imported in imports(path.read_text(), files):
            later = imported.split("::")[0]
            if later in folders and folders.index(later) > folders.index(folder):
                exception = (folder, imported, inner or folder)
                used.add(exception)
                if exception not in allowed:
                    lines.append(
                        f"crates/python/src: {name} imports {imported}, which stands in a later folder"
                    )
    lines += [f"crates/python/src: nothing needs the exception {' '.join(e)}" for e in allowed - used]
    return sorted(lines)


def python_imports(text, modules):
    """Return the modules of the package that a Python file imports at run time, at any nesting depth."""
    found = set()
    for node in ast.walk(without_type_checking(ast.parse(text))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names if name.name.partition(".")[0] == "numelt")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numelt":
            dotted = (f"{node.module}.{name.name}" for name in node.names)
            found.update(name if name in modules else node.module for name in dotted)
    return found


def without_type_checking(tree):
    """Return a syntax tree without the imports that only type checkers read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return tree


def wrong_packages(packages, upward, source):
    """Return a line for each import against the order of the package's folders, or in a cycle of files."""
    files = {}
    for path in source.rglob("*.py"):
        parts = ("numelt", *path.relative_to(source).with_suffix("").parts)
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    files["numelt._core"] = None
    allowed = {(u.folder, u.imported, name) for u in upward for name in u.importers}
    lines, used, graph = [], set(), {}
    order = {"_core": -1} | {name: place for place, name in enumerate(packages)}
    for name, path in files.items():
        if path is None:
            continue
        folder, _, inner = name.removeprefix("numelt").removeprefix(".").partition(".")
        graph[name] = python_imports(path.read_text(), files) - {name}
        for imported in graph[name]:
            later = imported.removeprefix("numelt").removeprefix(".").partition(".")[0]
            if order.get(later, len(packages)) > order.get(folder, len(packages)):
                exception = (folder, imported, inner or folder)
                used.add(exception)
                if exception not in allowed:
                    lines.append(f"python/numelt: {name} imports {imported}, which stands in a later folder")
    lines += [f"python/numelt: nothing needs the exception {' '.join(e)}" for e in allowed - used]
    graph.pop("numelt", None)
    lines += [f"python/numelt: {' and '.join(circle)} import each other" for circle in circles(graph)]
    return sorted(lines)


def circles(graph):
    """Return the groups of names that lead to each other (cycles), in a graph that its edges describe."""

    def reachable(start):
        seen, left = set(), [start]
        while left:
            for name in graph.get(left.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    left.append(name)
        return seen

    reach = {name: reachable(name) for name in graph}
    groups = {frozenset(o for o in reach[name] if name in reach.get(o, ())) for name in graph}
    return sorted(sorted(group) for group in groups if group)


def alternatives(glob):
    """Return the globs that one with a list in braces stands for."""
    if "{" not in glob:
        return [glob]
    before, rest = glob.split("{", 1)
    names, after = rest.split("}", 1)
    return [before + name + after for name in names.split(",")]


def wrong_places(rules, root):
    """Return a line for each match of a pattern in a file in which it is not allowed."""
    lines = []
    for rule in rules:
        pattern = re.compile(rule.pattern)
        allowed = {path for glob in rule.allowed_in for path in root.glob(glob)}
        looked_for = {path for glob in alternatives(rule.looked_for_in) for path in root.glob(glob)}
        for path in sorted(looked_for - allowed):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if found := pattern.search(line):
                    lines.append(f"{path.relative_to(root)}:{number}: {found[0]}: {rule.reason}")
    return lines


def main():
    """Print all violations and return the exit status."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    wrong = wrong_dependencies(metadata) + wrong_places(RULES, ROOT)
    wrong += wrong_imports(FOLDERS, UPWARD, ROOT / "crates/python/src")
    wrong += wrong_packages(PACKAGES, PACKAGES_UPWARD, ROOT / "python/numelt")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
