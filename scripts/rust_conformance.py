"""Compare the functions of the Rust API with NumPy's, and count the cases in which they agree.

The cases are passed to the program `crates/array/examples/conformance.rs`, one on each line. A case agrees if
both sides raise an error, or if the results have the same dtypes, shapes and values. Values are equal if they
have the same bits or are both NaN; the functions whose last bits differ between versions of NumPy (`exp`,
`sin`, powers and the like) may differ by 4 units in the last place.

Known disagreements are listed in `EXCEPTIONS`, each with its reason. Any other one is printed and makes the
script fail. With `--write`, the figures are written into docs/rust.md.
"""

import argparse
import collections
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np

from rust_cases import Window, cases

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/rust.md"
START, END = "<!-- conformance: begin -->", "<!-- conformance: end -->"

# functions that are computed by approximation, or in an order that depends on the BLAS library
ROUNDED = """
    arccos arccosh arcsin arcsinh arctan arctanh cbrt cos cosh exp exp2 expm1 log log1p log2 log10
    sin sinh tan tanh atan2 hypot logaddexp pow matmul vecdot tensordot
"""
APPROXIMATE = set(ROUNDED.split())

# the reasons why a case may differ, by function and a regular expression for the case
EXCEPTIONS = [
    ("abs", r"complex128.*[fl]\)", "NumPy's loop over numbers that lie backwards has another last place"),
    ("fmax", "", "of zeros of different signs, NumPy's result depends on the memory order"),
    ("fmin", "", "of zeros of different signs, NumPy's result depends on the memory order"),
    ("unique_values", "float", "NumPy keeps any of the zeros of different signs, by a hash"),
    ("unique_values", "complex", "NumPy keeps any of the zeros of different signs, by a hash"),
    (
        "prod",
        r"complex64\(3, 5, 7\)fl, \[0, 1\]",
        "numelt multiplies along two axes that run backwards in another order",
    ),
    ("clip", "complex", "of complex zeros of different signs, NumPy's loops keep now one and now the other"),
    ("tril", r"\(\d+,\)\w*,", "NumPy makes a matrix of a vector; the standard refuses it"),
    ("triu", r"\(\d+,\)\w*,", "NumPy makes a matrix of a vector; the standard refuses it"),
    ("full_like", "1j", "NumPy drops the imaginary part and warns"),
    (
        "arange",
        "2305843009213693952",
        "NumPy counts in floats, and loses an element of a distance beyond 2**53",
    ),
]


def argument(value):
    """Return an argument in the form that the program reads."""
    match value:
        case Window():
            return value.text()
        case None:
            return "n"
        case np.generic():
            return f"s{value.dtype.name}:{value.tobytes().hex()}"
        case bool():
            return f"?{int(value)}"
        case int():
            return f"i{value}"
        case float():
            return f"f{value!r}"
        case complex():
            return f"c{value.real!r},{value.imag!r}"
        case list():
            return "l" + ",".join(map(str, value))
    raise TypeError(type(value))


def expected(function, args):
    """Return NumPy's results as a list of arrays, or the exception that it raises."""
    plain = [value.array if isinstance(value, Window) else value for value in args]
    try:
        made = function(*plain)
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError, ZeroDivisionError) as error:
        return error
    return [np.asarray(one) for one in (made if isinstance(made, list) else [made])]


def answered(line):
    """Return the program's results, or its error message."""
    if line.startswith("refused"):
        return line
    results = []
    for part in line.split(";") if line else []:
        name, shape, data = part.split(" ")
        extents = [int(n) for n in shape.split(",") if n]
        results.append(np.frombuffer(bytes.fromhex(data), name).reshape(extents))
    return results


def parts(array):
    """Return complex numbers as pairs of floats, and other numbers as they are."""
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def agree(name, mine, theirs):
    """Return whether two arrays have the same dtype, shape and values."""
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        return False
    a, b = (parts(np.ascontiguousarray(one).ravel()) for one in (mine, theirs))
    if a.dtype.kind != "f":
        return bool((a == b).all())
    missing = np.isnan(a) & np.isnan(b)
    same = missing | (a.view(f"u{a.itemsize}") == b.view(f"u{a.itemsize}"))
    if name in APPROXIMATE:
        wide = np.abs(a.astype(np.longdouble) - b.astype(np.longdouble))
        scale = np.spacing(np.maximum(np.abs(a), np.abs(b))).astype(np.longdouble)
        if mine.dtype.kind == "c":
            # the two parts of a complex number are compared on one scale
            scale = np.repeat(np.nanmax(scale.reshape(-1, 2), axis=1), 2) if scale.size else scale
        same |= wide <= 4 * scale
    return bool(same.all())


def verdict(name, wanted, got):
    """Return whether an answer agrees with NumPy's, and how to print it."""
    if isinstance(wanted, Exception) or isinstance(got, str):
        return isinstance(wanted, Exception) and isinstance(got, str), (wanted, got)
    same = len(wanted) == len(got) and all(agree(name, a, b) for a, b in zip(got, wanted, strict=True))
    return same, (wanted, got)


def reason(name, case):
    """Return why a case may differ, or None if it may not."""
    return next(
        (why for function, text, why in EXCEPTIONS if function == name and re.search(text, case)), None
    )


def report(figures):
    """Yield the lines for the guide: the functions that always agree, then a table of the others."""
    total, agreeing = (sum(column) for column in zip(*figures.values(), strict=True))
    yield f"{agreeing:,} of {total:,} cases agree. All cases (their number) of these functions do:"
    always = [f"`{name}` ({count})" for name, (count, same) in sorted(figures.items()) if count == same]
    yield textwrap.fill(", ".join(always) + ".", width=150, break_on_hyphens=False)
    yield ""
    yield "| function | cases | agree | the others |"
    yield "| --- | --- | --- | --- |"
    for name, (count, same) in sorted(figures.items()):
        if count != same:
            reasons = dict.fromkeys(why for function, _, why in EXCEPTIONS if function == name)
            yield f"| `{name}` | {count} | {same} | {'; '.join(reasons)} |"


def main():
    """Run the cases, print the disagreements, and write the figures on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the figures into docs/rust.md")
    parser.add_argument("--only", help="compare one function alone")
    parser.add_argument(
        "--show", type=int, default=3, help="how many disagreements of a function are printed"
    )
    options = parser.parse_args()
    chosen = [case for case in cases() if options.only in (None, case[0])]
    lines = ["|".join([name, *map(argument, args)]) for name, _, args in chosen]
    # of the whole workspace, so that nothing is compiled that its tests have not
    build = ["cargo", "build", "--quiet", "--workspace", "--example", "conformance"]
    subprocess.run(build, cwd=ROOT, check=True)
    program = ROOT / "target/debug/examples/conformance"
    answers = subprocess.run(
        [program], input="\n".join(lines), capture_output=True, text=True, check=True
    ).stdout
    figures, shown, failed = {}, collections.Counter(), collections.Counter()
    for (name, function, args), line in zip(chosen, answers.splitlines(), strict=True):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            same, (wanted, got) = verdict(name, expected(function, args), answered(line))
        count, agreeing = figures.get(name, (0, 0))
        figures[name] = (count + 1, agreeing + same)
        case = f"{name}({', '.join(map(repr, args))})"
        if not same and reason(name, case) is None:
            failed[name] += 1
            if shown[name] < options.show:
                shown[name] += 1
                print(f"{case}\n  NumPy: {wanted!r}\n  Rust:  {got!r}")
    print(
        next(report(figures)).split(".")[0],
        f"({len(figures)} functions); without a reason differ:",
        dict(failed),
    )
    if options.write:
        text = GUIDE.read_text()
        head, tail = text.split(START)[0], text.split(END)[1]
        GUIDE.write_text(head + START + "\n" + "\n".join(report(figures)) + "\n" + END + tail)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
