//! Random streams in C: the elements of the streams of NumPy's bit generators, each computed from its position.
//!
//! A position counts 64-bit words for u64 and f64, and halves of words (the low half first) for u32 and f32. PCG64
//! jumps to a position by powers of its multiplier modulo 2^128, computed in two words; Philox encrypts a counter.

use super::template::Template;
use numelt_ir::interp::random::{PCG64_CHEAP_MULTIPLIER, PCG64_MULTIPLIER};
use numelt_ir::{DType, Op};

/// The element of a stream: operands are the position, and the state's words.
pub fn call(op: Op, ty: DType, operands: &[&str]) -> String {
    format!("{}_{ty}({})", op.name(), operands.join(", "))
}

/// A 128-bit multiplier as the two words that a call passes.
fn words(multiplier: u128) -> String {
    format!("(u64)0x{:x}, (u64)0x{:x}", multiplier >> 64, multiplier as u64)
}

/// The definition of a stream's function, or of a function that it calls.
pub fn definition(full: &str) -> Option<String> {
    let (name, ty) = full.rsplit_once('_')?;
    let (parameters, arguments) = match name {
        "pcg64" | "pcg64dxsm" => ("u64 sh, u64 sl, u64 ih, u64 il", "sh, sl, ih, il"),
        "philox" => ("u64 c0, u64 c1, u64 c2, u64 c3, u64 k0, u64 k1", "c0, c1, c2, c3, k0, k1"),
        _ => return None,
    };
    let of = |comment: &str, body: &str| {
        let body = body.replace("$ARGUMENTS", arguments);
        Some(format!("// {comment}\nFUNCTION {ty} {full}(u64 position, {parameters})\n{{\n{body}}}\n"))
    };
    match (name, ty) {
        ("pcg64", "u64") => of("Xor shift low, random rotation.", &PCG64.replace("$M", &words(PCG64_MULTIPLIER))),
        ("pcg64dxsm", "u64") => {
            of("Double xor shift multiply.", &PCG64DXSM.replace("$M", &words(PCG64_CHEAP_MULTIPLIER)))
        }
        ("philox", "u64") => of("Philox 4x64 with ten rounds.", PHILOX),
        (_, "f64") => of(
            "The top 53 bits of a word, in [0, 1).",
            &format!("    return (f64)({name}_u64(position, $ARGUMENTS) >> 11) * 1.1102230246251565e-16;\n"),
        ),
        (_, "u32") => of(
            "Half a word.",
            &format!("    return (u32)({name}_u64(position >> 1, $ARGUMENTS) >> (32 * (position & 1)));\n"),
        ),
        (_, "f32") => of(
            "The top 24 bits of half a word, in [0, 1).",
            &format!("    return (f32)({name}_u32(position, $ARGUMENTS) >> 8) * 5.9604644775390625e-08f;\n"),
        ),
        _ => None,
    }
}

/// The functions that all streams call.
pub const ALL: &[Template] = &[
    Template { name: "affine", types: &[DType::U64], text: AFFINE },
    Template { name: "leap", types: &[DType::U64], text: LEAP },
];

const AFFINE: &str = "\
// (m s + i) modulo 2^128, in place of s; each number is its high and its low word.
FUNCTION void affine_u64(u64 mh, u64 ml, u64 ih, u64 il, u64 *sh, u64 *sl)
{
    const u64 low = ml * *sl + il;
    *sh = HIGH_PRODUCT(ml, *sl) + mh * *sl + ml * *sh + ih + (low < il ? 1 : 0);
    *sl = low;
}
";

const LEAP: &str = "\
// A generator that replaces s by m s + i, so many steps later.
FUNCTION void leap_u64(u64 steps, u64 mh, u64 ml, u64 ih, u64 il, u64 *sh, u64 *sl)
{
    // what two, four, eight, ... steps do is such a product and sum as well
    for (; steps != 0; steps >>= 1) {
        if (steps & 1) affine_u64(mh, ml, ih, il, sh, sl);
        u64 th = ih, tl = il;
        affine_u64(mh, ml, ih, il, &th, &tl);
        ih = th;
        il = tl;
        th = mh;
        tl = ml;
        affine_u64(mh, ml, 0, 0, &th, &tl);
        mh = th;
        ml = tl;
    }
}
";

const PCG64: &str = "    \
    leap_u64(position, $M, ih, il, &sh, &sl);
    affine_u64($M, ih, il, &sh, &sl);
    const u64 mixed = sh ^ sl;
    const u32 turn = (u32)(sh >> 58);
    return turn == 0 ? mixed : mixed >> turn | mixed << (64 - turn);
";

const PCG64DXSM: &str = "    \
    leap_u64(position, $M, ih, il, &sh, &sl);
    sl |= 1;
    sh ^= sh >> 32;
    sh *= (u64)0xda942042e4dd58b5;
    sh ^= sh >> 48;
    return sh * sl;
";

const PHILOX: &str = "    \
    const u64 blocks = position >> 2;
    c0 += blocks;
    const u64 first = c0 < blocks ? 1 : 0;
    c1 += first;
    const u64 second = c1 < first ? 1 : 0;
    c2 += second;
    c3 += c2 < second ? 1 : 0;
    for (i32 round = 0; round < 10; round++) {
        const u64 left = HIGH_PRODUCT(c0, (u64)0xd2e7470ee14c6c93), left_low = c0 * (u64)0xd2e7470ee14c6c93;
        const u64 right = HIGH_PRODUCT(c2, (u64)0xca5a826395121157), right_low = c2 * (u64)0xca5a826395121157;
        c0 = right ^ c1 ^ k0;
        c1 = right_low;
        c2 = left ^ c3 ^ k1;
        c3 = left_low;
        k0 += (u64)0x9e3779b97f4a7c15;
        k1 += (u64)0xbb67ae8584caa73b;
    }
    const i32 place = (i32)(position & 3);
    return place == 0 ? c0 : place == 1 ? c1 : place == 2 ? c2 : c3;
";
