"""Write tests/numpy_suite_known_failures.md from a run of NumPy's own test suite.

    python scripts/numpy_suite_failures.py RESULTS.json [MORE.json ...] --baseline BASELINE.json

The result files are those that numpy_suite.py writes; a later file replaces the results of an earlier one,
test by test. The classes and reasons of the failures come from tests/numpy_suite_reasons.toml. A failure that
is missing there is listed under "not yet classified", and the script then exits with status one. Tests that
are listed there and pass now are named.
"""

import argparse
import collections
import datetime
import json
import sys
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[1] / "tests" / "numpy_suite_known_failures.md"

REASONS = PAGE.with_name("numpy_suite_reasons.toml")
NO_CLASS = "not yet classified"


def outcomes(record):
    """Return the outcome of each test from the compact record of one file."""
    found = {}
    for key, count in record["n"].items():
        for index in record.get("ordinals", {}).get(key) or range(count):
            found[key, str(index)] = record["not_passed"].get(key, {}).get(str(index), "passed")
    return found


def merged(paths):
    """Return the outcomes by file, where later runs replace earlier ones."""
    files, runs = {}, []
    for path in paths:
        run = json.loads(Path(path).read_text())
        runs.append(run)
        for name, record in run["files"].items():
            files.setdefault(name, {}).update(outcomes(record))
    return files, runs


def main():
    """Write the page and print the figures."""
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
    text, unknown = page(failed, total, failures, runs, tomllib.loads(REASONS.read_text()))
    PAGE.write_text(text)
    print(f"{total - failures} of {total} pass: {100 * (total - failures) / total:.2f} %")
    return 1 if unknown else 0


def page(failed, total, failures, runs, reasons):
    """Return the text of the page, and the number of test functions without a class."""
    label_of = {test: label for label, table in reasons.items() for test in table["tests"]}
    groups = collections.defaultdict(list)
    for name in sorted(failed):
        for key, count in sorted(failed[name].items()):
            test = f"{name}::{key}"
            label = label_of.get(test, NO_CLASS)
            detail = reasons[label]["tests"][test] if label in reasons else ""
            line = f"- `{test}`" + (f" ({count})" if count > 1 else "")
            groups[label].append(line + (f": {detail}" if detail else ""))
    for test in sorted(label_of):
        name, _, key = test.partition("::")
        if key not in failed.get(name, {}):
            print(f"passes, or was not run: {test}")
    numpy = runs[0]["numpy"]
    lines = [
        "# NumPy's own test-suite: what fails",
        "",
        f"NumPy {numpy}, {datetime.date.today().isoformat()}: {total - failures} of the {total} tests "
        f"that pass with NumPy pass with numelt in its place, {100 * (total - failures) / total:.2f} %. "
        "Made by `scripts/numpy_suite_failures.py` of `numpy_suite_reasons.toml`; a number in "
        "parentheses counts parametrisations.",
        "",
    ]
    for label in [*reasons, NO_CLASS]:
        if groups[label]:
            lines += [f"## {label[0].upper()}{label[1:]}", ""]
            lines += [reasons[label]["reason"], ""] if label in reasons else []
            lines += [*groups[label], ""]
    return "\n".join(lines), len(groups[NO_CLASS])


if __name__ == "__main__":
    sys.exit(main())
