"""Write tests/numpy_suite_known_failures.md from a run of NumPy's own test-suite.

    python scripts/numpy_suite_failures.py RESULTS.json [MORE.json ...] --baseline BASELINE.json

The result files are those of numpy_suite.py; a later one replaces an earlier one test by test. A failure that
no row of `CLASSES` explains is listed under "not yet classified".
"""

import argparse
import collections
import datetime
import json
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "tests" / "numpy_suite_known_failures.md"

# pattern of "file::Class::test", class, reason; the first match counts
CLASSES = [
    (
        r"test_array_scalar_method_signatures|test_array_wrap|__array_wrap__",
        "methods of NumPy's scalars",
        "The scalar types are NumPy's own; their `__array_wrap__` takes only NumPy's array class, and their "
        "`__array_namespace__` is NumPy.",
    ),
    (
        r"test_scalar_ctors|test_extended|longlong|TestArrayFromScalar",
        "`longlong` beside `long`",
        "Two C types of one size are one dtype here; NumPy keeps two dtype objects that compare equal.",
    ),
    (
        r"test_casting_floatingpoint_errors|[Ww]arn|errstate|floating_?overflow|fpe|FloatingPoint|test_nan_",
        "floating-point warnings",
        "Warnings that a conversion between dtypes raises while values are assigned or cast.",
    ),
    (
        r"refcount|Refcount|holds_reference|test_gc|leak|_refs|test_dlpack_.*destr",
        "reference counts",
        "The tests count references to NumPy's array objects; ours keep other ones.",
    ),
    (
        r"TestTextSignatures|ignature|test_add_doc|test_override_sum|module_name|ArrayFunctionDispatcher|numpy_funcs",
        "introspection",
        "Functions here are Python functions of the module numelt; NumPy has compiled dispatchers.",
    ),
    (
        r"TestDevice",
        "name of the class",
        "Python words the exception with the class's full name, numelt.ndarray.",
    ),
    (
        r"WarnOnWrite|warnonwrite|readonly_flag_protocols|stored_buffer_info|user_dtype|TestMemPolicy|alignment_update",
        "NumPy's C internals",
        "The test sets a private flag or corrupts private data of NumPy's array structure.",
    ),
    (
        r"TestImplementation|_arena_",
        "NumPy's strings in C",
        "The test calls C functions that look into the memory of one of NumPy's own arrays.",
    ),
    (
        r"test_memmap|test_records|TestSubclasses|recarray",
        "classes derived from NumPy's array",
        "NumPy's own subclasses give plain arrays of NumPy's class, which are instances of ours.",
    ),
    (
        r"TestBroadcast|busdaycalendar|(datetime|timedelta)_scalar|nat_casting|shape_sequence|newdoc_ufunc",
        "arrays as arguments of NumPy's classes",
        "Constructors written in C (broadcast, busdaycalendar, datetime64, dtype) take only NumPy's arrays.",
    ),
    (
        r"test_concatenate$|TestFFTShift|test_wrap|test_failing_wrap|test_none_wrap|test_priority|function_like",
        "numelt._core is not numpy._core",
        "The test takes a function from NumPy's private module, where ours of that name is another.",
    ),
    (
        r"random/tests|test_shuffle",
        "frames of warnings",
        "A warning of the generators points at the frame of our wrapper.",
    ),
    (
        r"test_api|test_regression|test_deprecations|test_nditer|test_overrides|test_array_coercion|test_mem_overlap",
        "corners of the front end",
        "Rare forms of arguments whose handling differs in detail; see the test.",
    ),
]


def outcomes(record):
    """Return outcome by test of one file's compact record."""
    found = {}
    for key, count in record["n"].items():
        for index in record.get("ordinals", {}).get(key) or range(count):
            found[key, str(index)] = record["not_passed"].get(key, {}).get(str(index), "passed")
    return found


def merged(paths):
    """Return outcomes by file of several runs, later ones first."""
    files, runs = {}, []
    for path in paths:
        run = json.loads(Path(path).read_text())
        runs.append(run)
        for name, record in run["files"].items():
            files.setdefault(name, {}).update(outcomes(record))
    return files, runs


def main():
    """Write the page and print the figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--baseline", required=True)
    args = parser.parse_args()
    baseline = json.loads(Path(args.baseline).read_text())
    files, runs = merged(args.results)
    total, failed = 0, collections.defaultdict(collections.Counter)
    for name, ours in files.items():
        if name not in baseline["files"]:
            continue
        for (key, index), outcome in outcomes(baseline["files"][name]).items():
            if outcome != "passed":
                continue
            total += 1
            if ours.get((key, index)) != "passed":
                failed[name][key] += 1
    failures = sum(sum(keys.values()) for keys in failed.values())
    PAGE.write_text(page(failed, total, failures, runs))
    print(f"{total - failures} of {total} pass: {100 * (total - failures) / total:.2f} %")


def page(failed, total, failures, runs):
    """Return the text of the page."""
    groups = collections.defaultdict(list)
    for name in sorted(failed):
        for key, count in sorted(failed[name].items()):
            label = next((c for p, c, _ in CLASSES if re.search(p, f"{name}::{key}")), "not yet classified")
            groups[label].append(f"- `{name}::{key}`" + (f" ({count})" if count > 1 else ""))
    numpy = runs[0]["numpy"]
    lines = [
        "# NumPy's own test-suite: what fails",
        "",
        f"NumPy {numpy}, {datetime.date.today().isoformat()}: {total - failures} of the {total} tests "
        f"that pass with NumPy pass with numelt in its place, {100 * (total - failures) / total:.2f} %. "
        "Made by `scripts/numpy_suite_failures.py`; a number in parentheses counts parametrisations.",
        "",
    ]
    reasons = {label: reason for _, label, reason in CLASSES}
    for label in [*dict.fromkeys(c for _, c, _ in CLASSES), "not yet classified"]:
        if groups[label]:
            lines += [f"## {label[0].upper()}{label[1:]}", ""]
            lines += [reasons[label], ""] if label in reasons else []
            lines += [*groups[label], ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
