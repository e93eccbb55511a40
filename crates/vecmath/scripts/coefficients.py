"""Derive the polynomial coefficients and tables of numelt-vecmath and print them as Rust.

Run as `python3 scripts/coefficients.py > src/coeffs.rs` and format the result; needs mpmath only. The error
that each polynomial achieves is printed in its doc comment. `fitting` finds the polynomials, and `tables`
computes the tables.
"""

import mpmath as mp
from fitting import emit, rounded, scalar, series, single_of
from tables import angle_tables, log_table, pow_table, root_table, tangent_table, tanh_table


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
