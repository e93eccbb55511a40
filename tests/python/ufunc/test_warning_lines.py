"""Warnings of recorded work are attributed to the operation's line, and warnings filters apply to them."""

import os
import subprocess
import sys
import textwrap

import pytest

SETTINGS = [
    {},
    {"NUMELT_AT_ONCE": "0"},
    {"NUMELT_JIT": "off"},
    {"NUMELT_PIECEMEAL": "0", "NUMELT_AT_ONCE": "0"},
]

LINES = """
import numpy as np
import warnings
warnings.simplefilter("always")
a = np.array([1.0, 0.0, -1.0])
b = 1 / a
c = np.log(a)
d = np.sqrt(a)

e = (a / 0).sum()
print(b, c, d, e)
f = np.arange(3) // 0
g = np.array([1.5, np.nan]).astype(int)
h = np.array([1e308]) * 10
print(f, g, h)


def function(x):
    y = x * 2
    z = np.log(y)
    return z + 1


print(function(np.array([-1.0, 2.0])), [function(np.array([-1.0 * k])) for k in range(3)])
for i in range(20):
    q = 1 / np.zeros(5)
    if i % 7 == 0:
        print(q.sum())
big = np.zeros(100_000)
print((1 / big).sum())
print((1 / big).sum())
print((1 / big).sum())
u = big * 2 / 3
v = u / big
w = np.log(big - 1)
print(w[:2], v[:2])
m = big.copy()
m /= 0
print(m[:2])
exec(compile("k = 1 / big\\nprint(k[0])", "made", "exec"))
print(np.mean([1.0 / big[:3]]))
"""

CAUGHT = """
import numpy as np
import warnings
big = np.zeros(50_000)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = 1 / big
    print(len(caught))
    y = np.log(big)
    print([(str(w.message), w.lineno) for w in caught], bool(caught), isinstance(caught, list))
    caught.clear()
    z = np.sqrt(big - 1)
    print(caught[0].message, caught == [], caught.pop().lineno, caught)
    x = np.log(np.zeros(3))
    for w in caught:
        print(w.message, w.filename == __file__)
print(len(caught))
x = 1 / big
warnings.simplefilter("ignore")
print(x[0])
y = 1 / big
warnings.resetwarnings()
print(y[0])
"""

ERRORS = """
import numpy as np
import warnings
big = np.zeros(50_000)
late = np.ones(3) / 4
warnings.filterwarnings("error", category=RuntimeWarning)


def say(call):
    try:
        print(call(), "and after")
    except RuntimeWarning as warning:
        print("raised", warning)


def store():
    x = np.zeros(3, int)
    x[:] = np.full(3, np.nan)


def update():
    x = np.zeros(3)
    x /= 0


for array in (big, np.zeros(3)):
    say(lambda: (1 / array)[0])
    say(lambda: np.log(array).shape)
    say(lambda: np.sqrt(array - 1).size)
say(lambda: np.ones(3).sum() / 0)
say(lambda: np.full(3, 1e308).sum())
say(lambda: np.full(3, 1e308) @ np.full(3, 1e308))
say(lambda: np.array([np.nan]).astype(int))
say(store)
say(update)
print(late, (np.arange(5.0) * 2).sum())
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print((1 / big)[0])
say(lambda: (1 / big)[0])
"""


def outcome(path, *lead, **settings):
    result = subprocess.run(
        [sys.executable, *lead, path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **settings},
    )
    return result.returncode, result.stdout, sorted(result.stderr.splitlines())


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("program", [LINES, CAUGHT, ERRORS], ids=["lines", "caught", "errors"])
def test_as_numpy_says(tmp_path, program, settings):
    path = tmp_path / "main.py"
    path.write_text(textwrap.dedent(program))
    assert outcome(path, "-m", "numelt", **settings) == outcome(path)


@pytest.mark.parametrize("filters", ["error", "error::RuntimeWarning", "ignore"])
def test_filters_of_the_command_line(tmp_path, filters):
    path = tmp_path / "main.py"
    path.write_text("import numpy as np\nx = 1 / np.zeros(9)\nprint('after')\ny = x.sum()\nprint(y)\n")
    ours, theirs = outcome(path, "-W", filters, "-m", "numelt"), outcome(path, "-W", filters)
    assert ours == theirs
