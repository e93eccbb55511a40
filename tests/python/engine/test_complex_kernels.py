"""Compiled complex arithmetic."""

import os
import subprocess
import sys


def test_compiled_complex_arithmetic_raises_no_flags_of_its_own():
    """Needless flags would cost a second evaluation, and a guess if that is not possible."""
    code = """if True:
        import warnings, numpy, numelt
        def newton(np, z, turns):
            count = np.zeros(z.shape, int)
            for _ in range(turns):
                step = (z**3 - 1) / (3 * z**2)
                z = z - step
                count += np.abs(step) > 1e-6
            return z, count
        line = numpy.linspace(-2, 2, 120)
        grid = line[None, :] + 1j * line[:, None]
        zeros = grid * (numpy.abs(grid) > 1)
        edge = zeros.copy(); edge[0] = complex(numpy.inf, numpy.inf); edge[1] = complex(numpy.inf, numpy.nan)
        calls = [
            lambda np: newton(np, np.array(grid), 20),
            lambda np: (np.abs(np.array(zeros)) + 1.0,),
            lambda np: (np.abs(np.array(edge)) + 1.0,),
            lambda np: (np.array(zeros) / (1j * np.array(grid.imag)) + 1,),
            lambda np: (np.array(grid) / np.array(grid.real) + 1,),
            lambda np: (np.array(grid.astype("c8")) / np.array(zeros.astype("c8")) + 1,),
            lambda np: (np.abs(np.array(zeros.astype("c8"))) * 2,),
        ]
        for number, call in enumerate(calls):
            for _ in range(3):
                said = []
                for np in (numelt, numpy):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        made = [numpy.asarray(part) for part in call(np)]
                    said.append((sorted({str(w.message) for w in caught}), made))
                (ours, mine), (theirs, other) = said
                assert ours == theirs, (number, ours, theirs)
                assert all(numpy.array_equal(a, b, equal_nan=True) for a, b in zip(mine, other)), number
    """
    env = {**os.environ, "NUMELT_JIT": "sync"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
