"""Polynomials that fit functions best, and constants, printed as Rust.

Each fit is a weighted minimax polynomial (Remez exchange) in one variable; the weight turns the error of the
polynomial into the error of the function relative to its value.
"""

import struct

import mpmath as mp

mp.mp.prec = 240


def remez(f, w, lo, hi, degree):
    """Return coefficients and log2 of the largest weighted error of the minimax fit."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    n = degree + 2
    mid, half = (lo + hi) / 2, (hi - lo) / 2
    xs = [mid - half * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]
    grid = [mid - half * mp.cos(mp.pi * i / (40 * n)) for i in range(40 * n + 1)]
    fw = [(g, f(g), w(g)) for g in grid]
    coeffs = []
    for _ in range(12):
        a = mp.matrix(n, n)
        b = mp.matrix(n, 1)
        for i, x in enumerate(xs):
            wx = w(x)
            for j in range(degree + 1):
                a[i, j] = wx * (x - 0) ** j
            a[i, degree + 1] = (-1) ** i
            b[i] = wx * f(x)
        sol = mp.lu_solve(a, b)
        coeffs = [sol[j] for j in range(degree + 1)]
        level = abs(sol[degree + 1])
        err = [(wv * (fv - mp.polyval(coeffs[::-1], g)), g) for g, fv, wv in fw]
        # largest error of each run of equal sign
        runs, current = [], err[0]
        for e in err[1:]:
            if (e[0] < 0) == (current[0] < 0):
                if abs(e[0]) > abs(current[0]):
                    current = e
            else:
                runs.append(current)
                current = e
        runs.append(current)
        while len(runs) > n:
            runs.pop(0 if abs(runs[0][0]) < abs(runs[-1][0]) else -1)
        worst = max(abs(e[0]) for e in err)
        if len(runs) < n:
            break
        xs = [e[1] for e in runs]
        if worst < level * mp.mpf("1.02"):
            break
    return coeffs, worst


def single_of(value):
    """The nearest f32."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def f32_text(c):
    """Shortest decimal that reads back as the nearest f32."""
    v = struct.unpack("f", struct.pack("f", float(c)))[0]
    for digits in range(1, 12):
        s = f"{v:.{digits}e}"
        if struct.unpack("f", struct.pack("f", float(s)))[0] == v:
            return s
    raise AssertionError(c)


def rounded_fit(f, w, hi, degree, coeffs):
    """Fit again, so that later coefficients make up for the rounding of the first ones to f32."""
    head, err = [], None

    def rest(x):
        return (f(x) - mp.polyval(head[::-1], x)) / x ** len(head)

    def weight(x):
        return w(x) * x ** len(head)

    while len(head) < min(3, degree - 1):
        head.append(single_of(coeffs[0]))
        coeffs, err = remez(rest, weight, mp.mpf(hi) / 10**6, hi, degree - len(head))
    return [*head, *coeffs], err


def emit(name, doc, ty, f, w, lo, hi, degree, refit=False):
    coeffs, err = remez(f, w, lo, hi, degree)
    if refit and lo == 0 and degree > 1:
        coeffs, err = rounded_fit(f, w, hi, degree, coeffs)
    text = [f32_text(c) if ty == "f32" else repr(float(c)) for c in coeffs]
    bits = "exact" if err == 0 else f"2^{mp.nstr(mp.log(err, 2), 4)}"
    print(f"/// {doc} Weighted error {bits}.")
    print(f"pub(crate) const {name}: [{ty}; {len(text)}] = [")
    for t in text:
        print(f"    {t},")
    print("];\n")


def scalar(name, doc, ty, value):
    text = f32_text(value) if ty == "f32" else repr(float(value))
    print(f"/// {doc}\npub(crate) const {name}: {ty} = {text};\n")


def rounded(value, bits):
    """`value` cut to `bits` significant bits."""
    m, e = mp.frexp(value)
    return mp.ldexp(mp.floor(mp.ldexp(m, bits)), e - bits)


def series(ratio, small, order):
    """`ratio` with its value at zero filled in by `small` (avoids 0/0)."""
    return lambda x: small if abs(x) < mp.mpf(2) ** -200 else ratio(x)
