"""Measures what each fusion algorithm saves and costs: tables and a plot for docs/fusion.md.

For the programs that paper 003 measures (section 7.7), the tables show the bytes that the plans of each
algorithm move, which is what the partition minimizes, and the time of a run with plans that earlier runs have
found (warm), with plans that are found in the first iteration and then kept (cold), and without keeping
plans.
"""

import argparse
import statistics
import sys

import numpy

import numelt
import programs
import timing

DOCUMENT = timing.ROOT / "docs" / "fusion.md"
# the most seconds that one figure may take after its first run
MOST_SECONDS = 1.5
ALGORITHMS = ("singleton", "naive", "greedy", "unintrusive", "optimal")
CACHES = ("warm", "cold", "none")
PAPER = (
    programs.black_scholes,
    programs.game_of_life,
    programs.heat_equation,
    programs.leibnitz_pi,
    programs.gauss,
    programs.lu,
    programs.monte_carlo_pi,
    programs.stencil27,
    programs.shallow_water,
    programs.rosenbrock,
    programs.sor,
    programs.nbody,
    programs.nbody_nice,
    programs.lattice_boltzmann,
)


def bytes_of(make, size, algorithm):
    """Return the bytes that one run moves."""
    numelt.config.fuse = algorithm
    program = make(numelt, size)
    numelt.flush()
    with numelt.inspect() as seen:
        timing.force(program())
        numelt.flush()
    return seen.bytes_moved


def seconds_of(make, size, algorithm, cache, rounds):
    """Return the median time of a run."""
    numelt.config.plan_cache = 0 if cache == "none" else 1
    numelt.config.fuse = algorithm
    program = make(numelt, size)
    if cache == "cold":
        timing.force(program())  # the kernels are in the disk cache already; this run maps the memory
    else:
        timing.settle(program, 1)
    times = []
    while len(times) < rounds and sum(times) < MOST_SECONDS:
        if cache == "cold":
            numelt.config.fuse = algorithm  # changing a setting empties the caches
        times.append(timing.once(program))
    numelt.config.plan_cache = 1
    return statistics.median(times)


def measure(small, rounds):
    """Return bytes and milliseconds: one row per program."""
    rows = []
    for make in PAPER:
        size = programs.PROGRAMS[make][0 if small else 1]
        moved = {a: bytes_of(make, size, a) for a in ALGORITHMS}
        spent = {(a, c): 1e3 * seconds_of(make, size, a, c, rounds) for a in ALGORITHMS for c in CACHES}
        rows.append((make.__name__, size, moved, spent))
        print(make.__name__, {a: f"{b / 1e6:.1f} MB" for a, b in moved.items()}, flush=True)
    numelt.config.fuse = "greedy"
    return rows


def tables(rows):
    """Render two tables in Markdown."""
    bytes_moved = [
        (name, f"{size:,}", *(f"{moved[a] / 1e6:,.1f}" for a in ALGORITHMS)) for name, size, moved, _ in rows
    ]
    times = [
        (name, *(" / ".join(f"{spent[a, c]:.1f}" for c in CACHES) for a in ALGORITHMS))
        for name, _, _, spent in rows
    ]
    return "\n\n".join(
        [
            "Megabytes moved by one run:",
            timing.table(("program", "size", *ALGORITHMS), bytes_moved),
            "Milliseconds of one run with warm / cold / no plan cache:",
            timing.table(("program", *ALGORITHMS), times),
        ]
    )


def plot(rows, path):
    """Draw bytes and times, each relative to no fusion."""
    pyplot = timing.plotter()
    panels = [("bytes moved", lambda row, a: row[2][a] / max(row[2]["singleton"], 1))]
    for cache in CACHES:
        label = f"time, {'no' if cache == 'none' else cache} plan cache"
        panels.append((label, lambda row, a, c=cache: row[3][a, c] / row[3]["singleton", c]))
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(10, 11), sharex=True)
    places = numpy.arange(len(rows))
    for ax, (title, value) in zip(axes, panels, strict=True):
        for at, algorithm in enumerate(ALGORITHMS):
            heights = [value(row, algorithm) for row in rows]
            ax.bar(places + (at - 2) * 0.16, heights, 0.15, label=algorithm)
        ax.set_title(f"{title} (no fusion is 1)", loc="left", fontsize=10)
        ax.set_ylim(0, 2)  # finding an optimal partition again in each run can cost more than everything else
    axes[0].legend(ncols=len(ALGORITHMS), fontsize=8, loc="upper right")
    axes[-1].set_xticks(places, [row[0].replace("_", "\n") for row in rows], fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def write(rows):
    """Write the tables into the document, the plot next to it, and the figures into the history."""
    about = timing.circumstances()
    plot(rows, DOCUMENT.with_suffix(".svg"))
    where = f"{about['cpu']}, {about['cores']} cores, {about['date'][:10]}"
    body = (
        f"{where}, commit {about['versions']['commit']}.\n\n{tables(rows)}\n\n![bytes and times](fusion.svg)"
    )
    timing.replace(DOCUMENT, "report", body)
    figures = [
        {"name": name, "size": size, "bytes": moved, "ms": {f"{a}, {c}": t for (a, c), t in spent.items()}}
        for name, size, moved, spent in rows
    ]
    print(f"written to {timing.keep('fusion', about | {'figures': figures})}")


def main():
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dry", action="store_true", help="print the tables, write nothing")
    args = parser.parse_args()
    rows = measure(args.small, args.rounds)
    if args.dry:
        print(tables(rows))
    else:
        write(rows)


if __name__ == "__main__":
    sys.exit(main())
