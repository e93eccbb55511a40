"""Derive the polynomial coefficients of numelt-vecmath and print them as Rust.

Run as `python3 scripts/coefficients.py > src/coeffs.rs`; needs mpmath only.
Each fit is a weighted minimax (Remez exchange) polynomial in one variable; the
weight turns the error of the polynomial into the error of the function relative
to its value. The achieved error is printed in the doc comment of each table.
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


def exponential(ty, suffix, deg):
    one = mp.mpf(1)
    emit(
        "EXP" + suffix,
        "(e^r - 1 - r) / r^2 for |r| < 0.348.",
        ty,
        series(lambda r: (mp.expm1(r) - r) / r**2, one / 2, 0),
        lambda r: r**2 / mp.exp(r),
        "-0.348",
        "0.348",
        deg["exp"],
    )


def fits(ty, suffix, deg):
    exponential(ty, suffix, deg)
    trig_and_erf(ty, suffix, deg)


def trig_and_erf(ty, suffix, deg):
    one = mp.mpf(1)

    def sin_ratio(z):
        r = mp.sqrt(z)
        return (mp.sin(r) / r - 1) / z

    emit(
        "SIN" + suffix,
        "(sin(r)/r - 1) / z, z = r^2 < 0.62.",
        ty,
        series(sin_ratio, -one / 6, 0),
        lambda z: z + mp.mpf(2) ** -60,
        0,
        "0.62",
        deg["sin"],
    )
    emit(
        "COS" + suffix,
        "(cos(r) - 1 + z/2) / z^2, z = r^2 < 0.62.",
        ty,
        series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, one / 24, 0),
        lambda z: z**2 + mp.mpf(2) ** -60,
        0,
        "0.62",
        deg["cos"],
    )
    split = mp.mpf("0.84375")
    emit(
        "ERF_SMALL" + suffix,
        "erf(x)/x - 1, z = x^2 < 0.712.",
        ty,
        series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1, 0),
        lambda z: one,
        0,
        split**2,
        deg["erf_small"],
    )
    emit(
        "ERF_LARGE" + suffix,
        "log(erfc(u + 0.84375)), u >= 0.",
        ty,
        lambda u: mp.log(mp.erfc(u + split)),
        lambda u: mp.erfc(u + split),
        0,
        deg["erf_end"] - split,
        deg["erf_large"],
    )


def atan_ratio(z):
    return (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def f64_only():
    one = mp.mpf(1)

    for name, ty, degree in (("POW_LOG", "f64", 9), ("POW_LOG_F32", "f32", 3)):
        emit(
            name,
            "(log(1 + f) - f + f^2/2) / f^3, -0.036 < f < 0.048.",
            ty,
            series(lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, one / 3, 0),
            lambda f: f**2 + mp.mpf(2) ** -70,
            "-0.036",
            "0.048",
            degree,
        )
    emit(
        "ATAN",
        "(atan(t)/t - 1) / z, z = t^2 < 0.098.",
        "f64",
        series(atan_ratio, -one / 3, 0),
        lambda z: z + mp.mpf(2) ** -60,
        0,
        "0.098",
        9,
    )
    emit(
        "ASIN",
        "(asin(x)/x - 1) / z, z = x^2 <= 0.25.",
        "f64",
        series(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, one / 6, 0),
        lambda z: z + mp.mpf(2) ** -60,
        0,
        "0.2501",
        12,
    )
    odd = (
        ("TAN", "tan(r)", mp.tan, one / 3, "0.62", 14),
        ("TAN_SHORT", "tan(r)", mp.tan, one / 3, "0.0098", 4),
        ("TANH", "tanh(r)", mp.tanh, -one / 3, "1.001", 15),
        ("SINH", "sinh(r)", mp.sinh, one / 6, "0.1215", 4),
        ("ASINH", "arcsinh(r)", mp.asinh, -one / 6, "0.2501", 11),
    )
    for name, text, f, at_zero, end, degree in odd:
        emit(
            name,
            f"({text}/r - 1) / z, z = r^2 < {end}.",
            "f64",
            series(lambda z, f=f: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, at_zero, 0),
            lambda z: z + mp.mpf(2) ** -60,
            0,
            end,
            degree,
        )
    emit(
        "COSH",
        "(cosh(r) - 1) / z, z = r^2 < 0.1215.",
        "f64",
        series(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, one / 2, 0),
        lambda z: z + mp.mpf(2) ** -60,
        0,
        "0.1215",
        4,
    )


def single():
    """Fits of the f32 functions that have algorithms of their own."""
    one, ln2 = mp.mpf(1), mp.log(2)
    tiny = mp.mpf(2) ** -60

    def fit(name, doc, f, at_zero, w, lo, hi, degree):
        emit(name, doc, "f32", series(f, at_zero, 0), w, lo, hi, degree, refit=True)

    fit(
        "EXP2_F32",
        "(2^f - 1 - f ln 2) / f^2 for |f| <= 1/2.",
        lambda f: (mp.expm1(f * ln2) - f * ln2) / f**2,
        ln2**2 / 2,
        lambda f: f**2 / mp.mpf(2) ** f + tiny,
        "-0.5",
        "0.5",
        4,
    )
    fit(
        "EXPM1_F32",
        "(e^r - 1 - r) / r^2 for |r| < 0.348.",
        lambda r: (mp.expm1(r) - r) / r**2,
        one / 2,
        lambda r: r**2 + tiny,
        "-0.348",
        "0.348",
        5,
    )
    odd = (
        ("TAN_SHORT_F32", "tan(r)", mp.tan, one / 3, "0.0098", 1),
        ("SINH_F32", "sinh(r)", mp.sinh, one / 6, "0.1215", 2),
        ("ASIN_F32", "arcsin(r)", mp.asin, one / 6, "0.2501", 4),
        ("ATAN_F32", "arctan(r)", mp.atan, -one / 3, "0.098", 3),
        ("ASINH_F32", "arcsinh(r)", mp.asinh, -one / 6, "0.2501", 4),
    )
    for name, text, f, at_zero, end, degree in odd:
        fit(
            name,
            f"({text}/r - 1) / z, z = r^2 < {end}.",
            lambda z, f=f: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
            at_zero,
            lambda z: z + tiny,
            0,
            end,
            degree,
        )
    fit(
        "COSH_F32",
        "(cosh(r) - 1) / z, z = r^2 < 0.1215.",
        lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z,
        one / 2,
        lambda z: z + tiny,
        0,
        "0.1215",
        2,
    )


def log_table(name, doc, ty, base, grid, terms):
    """Print 1/m and log m for sixteen parts of an octave.

    Each inverse is such that its logarithm is nearly short: the sum of a multiple of the octave's logarithm
    and an entry is exact, and no entry needs a second part.
    """
    single = ty == "f32"
    nearest = single_of if single else lambda x: mp.mpf(float(x))
    show = f32_text if single else lambda x: repr(float(x))
    scale = 1 / mp.log(base)
    spread = mp.mpf(2) ** -9
    inverses, logarithms = [], []
    for part in range(16):
        low, high = part_of_octave(part)
        if low < 1 < high:
            inverses.append(mp.mpf(1))
            logarithms.append(mp.mpf(0))
            continue
        middle = 2 / (low + high)
        # next to one, where logarithms are small, f has to be, too: its last place is rounded
        if part == 7:
            middle = (1 + mp.mpf(2) ** -7) / high - 2 * spread
        if part == 9:
            middle = (1 - mp.mpf(2) ** -6) / low + 2 * spread
        # of short logarithms near to that of the middle, the one whose inverse is nearly a number of the type
        first = int(mp.nint(-mp.log(middle) * scale * grid))
        reach = int(spread * scale * grid)
        best = None
        for short in range(first - reach, first + reach, max(1, reach // 4000 | 1)):
            inverse = nearest(mp.exp(-mp.mpf(short) / grid / scale))
            off = abs(-mp.log(inverse) * scale - mp.mpf(short) / grid)
            if best is None or off < best[0]:
                best = (off, inverse, mp.mpf(short) / grid)
        inverses.append(best[1])
        logarithms.append(best[2])
    for suffix, what, entries in (
        ("INVERSE", "1/m of each part of the octave, nearly", inverses),
        ("LOG", f"log m {doc}", logarithms),
    ):
        print(f"/// {what}.")
        show_table(f"{name}_{suffix}", ty, map(show, entries))

    def rest(f):
        return (mp.log1p(f) * scale / f - scale) / f

    coeffs, err = remez(series(rest, -scale / 2, 0), lambda f: f, "-0.036", "0.048", terms - 1)
    bits = mp.nstr(mp.log(err, 2), 4)
    print(f"/// The rest of log(1 + f)/f {doc}, -0.036 < f < 0.048. Weighted error 2^{bits}.")
    print(f"pub(crate) const {name}_REST: [{ty}; {terms}] = [{', '.join(show(c) for c in coeffs)}];\n")


def pow_table(suffix, ty, grid):
    """Print 1/m and log m for sixteen parts of an octave.

    The inverses have so few bits that m times an inverse, less 1, is exact. The logarithm has two parts. Sums
    of a multiple of the octave's logarithm and the first part are exact.
    """
    single = ty == "f32"
    nearest = single_of if single else lambda x: mp.mpf(float(x))
    show = f32_text if single else lambda x: repr(float(x))
    inverses = []
    for part in range(16):
        low, high = part_of_octave(part)
        choices = []
        for bits in range(7):
            # the last place of m, that of the inverse, and that of a number below `limit`
            limit = mp.mpf(2 if low >= 1 else 1) / 2**bits
            for times in range(1, 2 ** (bits + 1)):
                inverse = mp.mpf(times) / 2**bits
                largest = max(abs(low * inverse - 1), abs(high * inverse - 1))
                if largest <= limit:
                    choices.append((largest, inverse))
        inverses.append(mp.mpf(1) if low < 1 < high else min(choices)[1])
    logarithms = [mp.nint(-mp.log(inverse) * grid) / grid for inverse in inverses]
    lacking = [nearest(-mp.log(r) - t) for r, t in zip(inverses, logarithms, strict=True)]
    for name, what, entries in (
        ("INVERSE", "1/m of each part of the octave, in few bits", inverses),
        ("LOG_HI", "log m, its first part", logarithms),
        ("LOG_LO", "log m, its second part", lacking),
    ):
        print(f"/// {what}.")
        show_table(f"POW_{name}{suffix}", ty, map(show, entries))


def show_table(name, ty, entries):
    """Print a table of sixteen entries."""
    print(f"pub(crate) const {name}: Table<{ty}> = Table([{', '.join(entries)}]);\n")


def part_of_octave(part):
    """Return the bounds of a sixteenth of the octave: 1/32 long below one, 1/16 above, one in the middle."""
    return (mp.mpf(at) / 64 if at < 64 else mp.mpf(at - 32) / 32 for at in (47 + 2 * part, 49 + 2 * part))


def tanh_table():
    """Print what tanh is made of in each part of the line.

    It is tanh b + (x - b) P(x - b), in the first part x + x P(x). The parts are quarters of octaves of x + 1.
    An entry's place in the table is given by the last four bits of the number that the exponent and the first
    two bits of x + 1 are. Each b is such that tanh b is nearly an f32.
    """
    terms = 6
    centers, values, *polynomials = ([mp.mpf(0)] * 16 for _ in range(terms + 2))
    worst = mp.mpf(0)
    for part in range(14):
        octave, quarter = divmod(part, 4)
        low, high = ((1 + mp.mpf(q) / 4) * 2**octave - 1 for q in (quarter, quarter + 1))
        # what comes after is 1
        high = min(high, mp.mpf("9.25"))
        at = (127 * 4 + part) % 16
        if part == 0:
            first = series(lambda x: (mp.tanh(x) / x - 1) / x, mp.mpf(0), 0)
            found, error = remez(first, lambda x: x, mp.mpf(10) ** -9, high, terms - 2)
            found = [mp.mpf(0), *found]
        else:
            middle = single_of((low + high) / 2)
            last = mp.mpf(2) ** (mp.floor(mp.log(middle, 2)) - 23)
            near = [middle + step * last for step in range(-3000, 3000)]
            center = min(
                near, key=lambda b: abs(mp.tanh(b) - single_of(mp.tanh(b))) + abs(b - middle) / 10**7
            )
            centers[at], values[at] = center, single_of(mp.tanh(center))

            def slope(d, b=center):
                return (mp.tanh(b + d) - mp.tanh(b)) / d

            found, error = remez(
                series(slope, 1 - mp.tanh(center) ** 2, 0),
                lambda d, b=center: d / mp.tanh(b + d) + mp.mpf(2) ** -30,
                low - center,
                high - center,
                terms - 1,
            )
        worst = max(worst, error)
        for power, coefficient in enumerate(found):
            polynomials[power][at] = coefficient
    print("/// b in each part, which is taken from the argument.")
    show_table("TANH_F32_CENTER", "f32", map(f32_text, centers))
    print("/// tanh b.")
    show_table("TANH_F32_VALUE", "f32", map(f32_text, values))
    tables = ", ".join(f"Table([{', '.join(map(f32_text, p))}])" for p in polynomials)
    print(f"/// P, by powers. Weighted error 2^{mp.nstr(mp.log(worst, 2), 4)}.")
    print(f"pub(crate) static TANH_F32: [Table<f32>; {terms}] = [{tables}];\n")


def root_table(name, ty, terms):
    """Print cube roots of the parts of an octave, what 1/m is for them, and those of the powers of two."""
    single = ty == "f32"
    nearest = single_of if single else lambda x: mp.mpf(float(x))
    show = f32_text if single else lambda x: repr(float(x))
    # near to the middle of the part, and numbers of the type
    spacing = mp.mpf(2) ** (-24 if single else -21)
    third = mp.mpf(1) / 3
    inverses, roots = [], []
    for part in range(16):
        low, high = part_of_octave(part)
        if low < 1 < high:
            inverses.append(mp.mpf(1))
            roots.append(mp.mpf(1))
            continue
        # of numbers near to the middle's root, the one whose inverse cube is nearly a number of the type
        first = nearest(((low + high) / 2) ** third)
        best = None
        for step in range(-2000, 2000):
            root = nearest(first + step * spacing)
            inverse = nearest(1 / root**3)
            off = abs(inverse * root**3 - 1)
            if best is None or off < best[0]:
                best = (off, inverse, root)
        inverses.append(best[1])
        roots.append(best[2])
    for suffix, what, entries in (
        ("INVERSE", "1/m of each part of the octave, nearly", inverses),
        ("ROOT", "The cube root of the inverse's inverse", roots),
    ):
        print(f"/// {what}.")
        show_table(f"{name}_{suffix}", ty, map(show, entries))
    # -1 is the last entry
    powers = [
        mp.mpf(2) ** (third * (n if n < 8 else n - 16)) if n in (0, 1, 15) else mp.mpf(0) for n in range(16)
    ]
    short = [nearest(power) for power in powers]
    for suffix, what, entries in (
        ("POWER", "2^(n/3) for n of -1, 0, 1, where -1 is the last entry", short),
        ("POWER_LO", "What these lack", [p - s for p, s in zip(powers, short, strict=True)]),
    ):
        print(f"/// {what}.")
        show_table(f"{name}_{suffix}", ty, map(show, entries))

    def rest(f):
        return mp.expm1(mp.log1p(f) * third) / f

    coeffs, err = remez(series(rest, third, 0), lambda f: f, "-0.033", "0.034", terms - 1)
    error = mp.nstr(mp.log(err, 2), 4)
    print(f"/// ((1 + f)^(1/3) - 1)/f for -0.033 < f < 0.034. Weighted error 2^{error}.")
    print(f"pub(crate) const {name}_REST: [{ty}; {terms}] = [{', '.join(show(c) for c in coeffs)}];\n")


def angle_tables(suffix, ty):
    """Print numbers in parts of the numbers and of quotients below one whose arctan is of the type."""
    single = ty == "f32"
    nearest = single_of if single else lambda x: mp.mpf(float(x))
    show = f32_text if single else lambda x: repr(float(x))
    # the last two bits of the exponent and two of the mantissa, from a quarter to four
    numbers = [
        (mp.mpf(4 + i % 4) / 4 * mp.mpf(2) ** e, mp.mpf(5 + i % 4) / 4 * mp.mpf(2) ** e)
        for e in (1, -2, -1, 0)
        for i in range(4)
    ]
    # a bit of the exponent and three of the mantissa, from a quarter to one, of what the quotient nearly is
    quotients = [
        (
            mp.mpf(8 + i) / 8 * mp.mpf(2) ** e * mp.mpf("0.887"),
            mp.mpf(9 + i) / 8 * mp.mpf(2) ** e * mp.mpf("1.0615"),
        )
        for e in (-2, -1)
        for i in range(8)
    ]
    for name, doc, parts, first in (
        ("ARCTAN", "a part of the numbers", numbers, 4),
        ("ARCTAN2", "a part of the quotients", quotients, 0),
    ):
        tangents, angles = [], []
        for part, (low, high) in enumerate(parts):
            best = (None, mp.mpf(0), mp.mpf(0))
            if name == "ARCTAN" and part == 3:
                # all large numbers: next to the right angle
                angle = nearest(mp.pi / 2)
                if angle > mp.pi / 2:
                    angle -= mp.mpf(2) ** -23
                best = (0, nearest(mp.tan(angle)), angle)
            elif part != first:
                middle = (low + min(high, 1 if name == "ARCTAN2" else high)) / 2
                for step in range(-1500, 1500):
                    tangent = nearest(middle * (1 + step * mp.mpf(2) ** -18))
                    off = abs(mp.atan(tangent) - nearest(mp.atan(tangent)))
                    if best[0] is None or off < best[0]:
                        best = (off, tangent, nearest(mp.atan(tangent)))
            tangents.append(best[1])
            angles.append(best[2])
        for table, what, entries in (
            ("TANGENT", f"A number in {doc}", tangents),
            ("ANGLE", "Its arctan", angles),
        ):
            print(f"/// {what}.")
            show_table(f"{name}_{table}{suffix}", ty, map(show, entries))


def tangent_table(suffix, ty):
    """Print sines and cosines of the multiples of pi/16, times a factor that makes both nearly short."""
    single = ty == "f32"
    nearest = single_of if single else lambda x: mp.mpf(float(x))
    show = f32_text if single else lambda x: repr(float(x))
    spacing = mp.mpf(2) ** (-23 if single else -30)
    sines, cosines = [], []
    for part in range(16):
        angle = mp.pi * part / 16
        if part in (0, 8):
            sines.append(mp.mpf(part // 8))
            cosines.append(mp.mpf(1 - part // 8))
            continue
        tangent = mp.tan(angle)
        # the smaller one is from one to two: take the number whose partner is nearly a number of the type
        steep = abs(tangent) > 1
        ratio = abs(tangent) if steep else 1 / abs(tangent)
        best = None
        for step in range(20000):
            small = nearest(1 + step * 97 * spacing)
            large = nearest(small * ratio)
            off = abs(large / (small * ratio) - 1)
            if best is None or off < best[0]:
                best = (off, small, large)
        _, small, large = best
        sines.append(large if steep else small)
        cosines.append(mp.sign(tangent) * (small if steep else large))
    for name, what, entries in (("SINE", "sines", sines), ("COSINE", "cosines", cosines)):
        print(f"/// Multiples of {what} of k pi/16, with a factor of its own for each k.")
        show_table(f"TAN_{name}{suffix}", ty, map(show, entries))


def single_of(value):
    """The nearest f32."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def constants():
    ln2 = mp.log(2)
    hi = rounded(ln2, 42)
    scalar("LN2_HI", "ln 2 with 11 trailing zero bits, so that k LN2_HI is exact.", "f64", hi)
    scalar("LN2_LO", "ln 2 - LN2_HI.", "f64", ln2 - hi)
    scalar("LN2", "ln 2.", "f64", ln2)
    scalar("LN2_ERR", "ln 2 - LN2.", "f64", ln2 - mp.mpf(float(ln2)))
    l10 = mp.log10(2)
    hi = rounded(l10, 42)
    scalar("LOG10_2_HI", "log10 2 with 11 trailing zero bits.", "f64", hi)
    scalar("LOG10_2_LO", "log10 2 - LOG10_2_HI.", "f64", l10 - hi)
    for name, v in (
        ("INV_LN10", 1 / mp.log(10)),
        ("INV_LN2", 1 / ln2),
        ("PI", mp.pi),
        ("FRAC_PI_2", mp.pi / 2),
    ):
        scalar(name, f"{name}, rounded.", "f64", v)
        scalar(name + "_LO", f"What {name} lacks.", "f64", v - mp.mpf(float(v)))
    scalar("TWO_OVER_PI", "2/pi.", "f64", 2 / mp.pi)
    for suffix, ty, nearest in (("_F32", "f32", single_of), ("", "f64", lambda x: mp.mpf(float(x)))):
        sixteenth = mp.pi / 16
        scalar("INV_SIXTEENTH" + suffix, "16/pi.", ty, 1 / sixteenth)
        scalar("SIXTEENTH" + suffix, "pi/16.", ty, sixteenth)
        scalar("SIXTEENTH_LO" + suffix, f"pi/16 - SIXTEENTH{suffix}.", ty, sixteenth - nearest(sixteenth))
    f32 = single_of
    hi = rounded(ln2, 15)
    scalar("LN2_HI_F32", "ln 2 with 9 trailing zero bits.", "f32", hi)
    scalar("LN2_LO_F32", "ln 2 - LN2_HI_F32.", "f32", ln2 - hi)
    scalar("LN2_F32", "ln 2.", "f32", ln2)
    scalar("LN2_ERR_F32", "ln 2 - LN2_F32.", "f32", ln2 - f32(ln2))
    scalar("TWO_OVER_PI_F32", "2/pi.", "f32", 2 / mp.pi)
    for name, v in (("INV_LN2_F32", 1 / ln2), ("INV_LN10_F32", 1 / mp.log(10))):
        scalar(name, f"{name}, rounded.", "f32", v)
        scalar(name.replace("F32", "LO_F32"), f"What {name} lacks.", "f32", v - f32(v))
    hi = rounded(mp.log10(2), 15)
    scalar("LOG10_2_HI_F32", "log10 2 with 9 trailing zero bits.", "f32", hi)
    scalar("LOG10_2_LO_F32", "log10 2 - LOG10_2_HI_F32.", "f32", mp.log10(2) - hi)
    scalar("PIO2_1_F32", "pi/2.", "f32", mp.pi / 2)
    scalar("PIO2_2_F32", "pi/2 - PIO2_1_F32.", "f32", mp.pi / 2 - f32(mp.pi / 2))
    mp.mp.prec = 1500
    n = 20
    whole = int(mp.floor(mp.ldexp(2 / mp.pi, 64 * n)))
    print("/// The first 1280 bits of 2/pi after the binary point, most significant word first.")
    print(f"pub(crate) const TWO_OVER_PI_BITS: [u64; {n}] = [")
    for i in range(n):
        word = f"{(whole >> (64 * (n - 1 - i))) & (2**64 - 1):016x}"
        print("    0x" + "_".join(word[j : j + 4] for j in range(0, 16, 4)) + ",")
    print("];")


print("//! Polynomial coefficients and split constants.")
print("//!")
print("//! Written by `scripts/coefficients.py`; change that, not this. Only constants live here.")
print("#![allow(clippy::unreadable_literal, clippy::approx_constant)]\n")
print("use crate::vector::Table;\n")
fits("f64", "", dict(exp=10, sin=5, cos=5, erf_small=11, erf_large=18, erf_end=mp.mpf(6)))
fits("f32", "_F32", dict(exp=4, sin=2, cos=2, erf_small=6, erf_large=6, erf_end=mp.mpf(4)))
f64_only()
single()
for end, ty, terms, grids in (("_F32", "f32", 4, (17, 16, 18)), ("", "f64", 10, (42, 42, 43))):
    for name, base, grid in zip(
        ("NATURAL", "BINARY", "DECIMAL"), (mp.e, mp.mpf(2), mp.mpf(10)), grids, strict=True
    ):
        log_table(name + end, f"to base {'e' if base == mp.e else int(base)}", ty, base, 1 << grid, terms)
pow_table("_F32", "f32", 1 << 17)
pow_table("", "f64", 1 << 42)
root_table("CBRT_F32", "f32", 4)
root_table("CBRT", "f64", 9)
tanh_table()
angle_tables("_F32", "f32")
angle_tables("", "f64")
tangent_table("_F32", "f32")
tangent_table("", "f64")
constants()
