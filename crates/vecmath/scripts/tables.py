"""Tables of function values and the polynomials between them, printed as Rust."""

import mpmath as mp
from fitting import f32_text, remez, series, single_of


def show_table(name, ty, entries):
    """Print a table of sixteen entries."""
    print(f"pub(crate) const {name}: Table<{ty}> = Table([{', '.join(entries)}]);\n")


def part_of_octave(part):
    """Return the bounds of a sixteenth of the octave: 1/32 long below one, 1/16 above, one in the middle."""
    return (mp.mpf(at) / 64 if at < 64 else mp.mpf(at - 32) / 32 for at in (47 + 2 * part, 49 + 2 * part))


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
