//! Random streams in C: the elements of the streams of NumPy's bit generators, each computed from its position.
//!
//! A position counts 64-bit words for u64 and f64, and halves of words (the low half first) for u32 and f32. PCG64
//! leaps to a position: any number of its steps is a product and a sum modulo 2^128, in two words, and a table has
//! those for each group of bits of the position. Philox encrypts a counter.

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

/// The low bits of a number of steps are taken together in groups of so many, for which a table has all values.
const GROUP_BITS: u32 = 5;
/// The number of these groups. Higher bits are taken singly.
const GROUPS: u32 = 5;

/// The function that replaces a state by the one so many steps later, with its table. `n` steps replace s by m s + f i,
/// where m is the multiplier to the power of n, and f the sum of its lower powers.
fn leap(name: &str, multiplier: u128) -> String {
    let join =
        |(m, f): (u128, u128), (by, sum): (u128, u128)| (by.wrapping_mul(m), by.wrapping_mul(f).wrapping_add(sum));
    let mut rows: Vec<(u128, u128)> = Vec::new();
    let mut one = (multiplier, 1);
    for _ in 0..GROUPS {
        let mut leap = (1, 0);
        for _ in 0..1 << GROUP_BITS {
            rows.push(leap);
            leap = join(leap, one);
        }
        one = leap;
    }
    for _ in GROUPS * GROUP_BITS..u64::BITS {
        rows.push(one);
        one = join(one, one);
    }
    let rows: Vec<String> = rows.iter().map(|&(m, f)| format!("    {}, {}", words(m), words(f))).collect();
    let each = 4 << GROUP_BITS;
    let numbers =
        [("$COUNT", 4 * rows.len() as u32), ("$SINGLE", each * GROUPS), ("$EACH", each), ("$BITS", GROUP_BITS)];
    let numbers = numbers.into_iter().chain([("$GROUPS", GROUPS)]);
    let text = numbers.fold(LEAP.to_owned(), |text, (word, number)| text.replace(word, &number.to_string()));
    text.replace("$ROWS", &rows.join(",\n")).replace("$NAME", name)
}

/// The definition of a stream's function, or of a function that it calls.
pub fn definition(full: &str) -> Option<String> {
    let (name, ty) = full.rsplit_once('_')?;
    let (parameters, arguments) = match name {
        "leap_pcg64" => return Some(leap("pcg64", PCG64_MULTIPLIER)),
        "leap_pcg64dxsm" => return Some(leap("pcg64dxsm", PCG64_CHEAP_MULTIPLIER)),
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
        ("pcg64dxsm", "u64") => of("Double xor shift multiply.", PCG64DXSM),
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

/// The functions that several streams call.
pub const ALL: &[Template] = &[Template { name: "affine", types: &[DType::U64], text: AFFINE }];

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
// What some numbers of steps do to a state s of $NAME: m s + f i; a row has the words of m and of f.
// Rows for all values of $BITS bits of the number, $GROUPS times, then for each bit.
TABLE u64 $NAME_leaps[$COUNT] = {
$ROWS
};

// So many steps later.
FUNCTION void leap_$NAME_u64(u64 steps, u64 ih, u64 il, u64 *sh, u64 *sl)
{
    i32 first = 0;
    for (; first < $SINGLE && steps != 0; first += $EACH, steps >>= $BITS) {
        const i32 row = first + 4 * (i32)(steps & (1 << $BITS) - 1);
        u64 th = ih, tl = il;
        affine_u64($NAME_leaps[row + 2], $NAME_leaps[row + 3], 0, 0, &th, &tl);
        affine_u64($NAME_leaps[row], $NAME_leaps[row + 1], th, tl, sh, sl);
    }
    for (; steps != 0; first += 4, steps >>= 1) {
        if ((steps & 1) == 0) continue;
        u64 th = ih, tl = il;
        affine_u64($NAME_leaps[first + 2], $NAME_leaps[first + 3], 0, 0, &th, &tl);
        affine_u64($NAME_leaps[first], $NAME_leaps[first + 1], th, tl, sh, sl);
    }
}
";

const PCG64: &str = "    \
    leap_pcg64_u64(position, ih, il, &sh, &sl);
    affine_u64($M, ih, il, &sh, &sl);
    const u64 mixed = sh ^ sl;
    const u32 turn = (u32)(sh >> 58);
    return turn == 0 ? mixed : mixed >> turn | mixed << (64 - turn);
";

const PCG64DXSM: &str = "    \
    leap_pcg64dxsm_u64(position, ih, il, &sh, &sl);
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
