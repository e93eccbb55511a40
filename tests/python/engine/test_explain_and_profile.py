"""Ways to see what numelt does: explanations by line, profiles, traces, and the progress of a long flush."""

import json
import os
import pty
import subprocess
import sys

import pytest

import numelt
from numelt import _core


def here():
    return sys._getframe(1).f_lineno


def test_explain_opens_with_the_lines(recorded):
    x = numelt.linspace(0, 1, 1000)
    numelt.flush()
    y = numelt.sqrt(x * 2 + 1)
    first = here() - 1
    i = numelt.arange(1000) + 1  # integers cannot warn, but have positions nevertheless
    second = here() - 1
    text = numelt.explain([y, i])
    assert text.startswith("5 operations recorded on 2 lines")
    assert f"test_explain_and_profile.py:{first}  y = numelt.sqrt(x * 2 + 1)" in text
    assert f"test_explain_and_profile.py:{second}  i = " in text
    assert "records multiply of 1,000 f64, add of 1,000 f64, sqrt of 1,000 f64" in text
    assert "kernel 0: " in text
    assert "partition (" not in text
    assert "recorded:" not in text
    assert "partition (" in numelt.explain(y, kernels=True)
    assert "recorded:" not in numelt.explain(y, kernels=True)
    assert "multiply.f64" in numelt.explain(y, bytecode=True)
    assert "partition (" not in numelt.explain(y, bytecode=True)
    numelt.flush()
    assert "nothing" in numelt.explain()


@pytest.mark.parametrize("reads", ["all", "one"])
def test_explain_knows_the_lines_of_repeated_programs(recorded, reads):
    x = numelt.linspace(0, 1, 1000)
    numelt.flush()
    for _ in range(4):
        y = numelt.exp(x) * 3
        if reads == "one":
            text = numelt.explain(y)
        numelt.flush()
    y = numelt.exp(x) * 3
    line = here() - 1
    text = numelt.explain(y if reads == "one" else None)
    assert f"test_explain_and_profile.py:{line}" in text or "test_explain_and_profile.py" in text
    assert "line not known" not in text


def test_profile_of_a_block_and_of_the_process():
    x = numelt.linspace(0, 1, 1000)
    numelt.profile(reset=True)
    numelt.flush()
    with numelt.profile() as report:
        float(numelt.sum(x * 2))
        numelt.busday_count("2024-01", "2024-02")
    ((_, lineno, name),) = report.fallbacks
    assert (lineno, name) == (here() - 2, "busday_count")
    assert f"test_explain_and_profile.py:{lineno} (busday_count)" in str(report)
    assert "<table>" in report._repr_html_()
    assert "busday_count" in report._repr_html_()
    text = str(numelt.profile())
    assert text.startswith("since numelt was imported")
    assert "busday_count" in text
    assert "contextmanager" not in text.lower()
    assert "<pre>" in numelt.profile()._repr_html_()
    numelt.profile(reset=True)
    assert "busday_count" not in str(numelt.profile())
    assert _core.stats()["kernels"] == 0


def test_policies_hold_while_a_profile_hears_of_fallbacks():
    with numelt.profile() as report:
        numelt.config.fallback = "error"
        try:
            with pytest.raises(numelt.FallbackError):
                numelt.busday_count("2024-01", "2024-02")
        finally:
            numelt.config.fallback = "silent"
        numelt.busday_count("2024-01", "2024-02")
    assert sum(report.fallbacks.values()) == 2


def test_trace(tmp_path, recorded):
    x = numelt.linspace(0, 1, 1000)
    numelt.flush()
    with numelt.profile() as report:
        float(numelt.sum(x * 2))
        numelt.sort(x)
        numelt.busday_count("2024-01", "2024-02")
    report.perfetto(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace == json.loads(json.dumps(report.to_trace()))
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    assert {"flush", "kernel", "library call", "fallback"} <= {event["cat"] for event in events}
    for event in events:
        assert event["ts"] >= 0
        assert event["pid"] == os.getpid()
        assert event["tid"]
        assert "test_explain_and_profile.py:" in event["args"]["line"]
        assert ("dur" in event) == (event["ph"] == "X")
    flush = next(event for event in events if event["cat"] == "flush")
    kernels = [event for event in events if event["cat"] == "kernel"]
    inside = [k for k in kernels if flush["ts"] - 1 <= k["ts"] <= flush["ts"] + flush["dur"] + 1]
    assert inside
    assert inside[0]["args"]["bytes"] > 0


LONG = """
import numelt as np
x = np.ones(20_000_000)
for _ in range(6):
    x = np.cumsum(np.sin(x))
np.flush()
"""


def on_terminal(program, **settings):
    """Return what a program writes to the terminal that is its standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=theirs, stderr=theirs, env={**os.environ, **settings}
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        out += more
    os.close(ours)
    assert process.wait() == 0
    return out.decode()


def test_a_long_flush_shows_a_line_that_goes_again():
    text = on_terminal(LONG, NUMELT_PROGRESS="0.01", NUMELT_CACHE_DIR="")
    assert "numelt: running, step " in text
    assert text.endswith("\r\x1b[K")


def test_progress_can_be_told_not_to():
    assert "running" not in on_terminal(LONG, NUMELT_PROGRESS="0")
    quiet = "import numelt\nnumelt.config.progress = False" + LONG
    assert "running" not in on_terminal(quiet, NUMELT_PROGRESS="0.01")
    run = subprocess.run(
        [sys.executable, "-c", LONG],
        stderr=subprocess.PIPE,
        env={**os.environ, "NUMELT_PROGRESS": "0.01"},
        check=True,
    )
    assert run.stderr == b""  # no terminal


def test_import_loads_no_tool_before_it_is_used():
    program = "import sys, numpy; before = set(sys.modules); import numelt; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    late = ("explaining", "magics", "perfetto", "progress", "report")
    assert loaded.isdisjoint({"json", "html", "IPython", *(f"numelt.tools.{name}" for name in late)})
