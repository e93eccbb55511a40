use crate::{Complex64, Complex128, Error, F16, Program, Scalar};

const EXAMPLE: &str = "\
base %0 800 in out
base %1 80
base %2 16 out
const $0 = f64 2.0
const $1 = c128 (nan, -0.0)
const $2 = f32 -inf
const $3 = u64 18446744073709551615
const $4 = bool true
%0[f64 +8 (10, 9):(80, 8)] = add.f64 %0[f64 (10, 9):(80, 8)], $0
%1[f64 (1, 10)] = sum.f64 %0[f64 (10, 10)] axes=(0)
%2[f64 ()] = max.f64 %1[f64 +72 (10):(-8)] axes=(0)
%1[f64 (10)] = where.f64 %0[bool (10):(0)], $0, $0
%1[f64 (0, 3)] = range.f64 $0, $0
";

#[test]
fn prints_what_it_parses() {
    let program: Program = EXAMPLE.parse().unwrap();
    assert_eq!(program.to_string(), EXAMPLE);
    let again: Program = program.to_string().parse().unwrap();
    assert_eq!(again.instrs, program.instrs);
    assert_eq!(again.bases, program.bases);
}

#[test]
fn literals_keep_their_bits() {
    let consts = vec![
        Scalar::F16(F16(0x7e01)),
        Scalar::F16(F16(0x8001)),
        Scalar::F32(f32::from_bits(0x7fc0_0001)),
        Scalar::F32(-f32::NAN),
        Scalar::F32(f32::MIN_POSITIVE / 8.0),
        Scalar::F32(-0.0),
        Scalar::F64(f64::INFINITY),
        Scalar::F64(f64::NAN),
        Scalar::F64(0.1 + 0.2),
        Scalar::F64(5e-324),
        Scalar::F64(1.7976931348623157e308),
        Scalar::C64(Complex64 { re: f32::NEG_INFINITY, im: -0.0 }),
        Scalar::C128(Complex128 { re: f64::NAN, im: f64::from_bits(0xfff8_0000_0000_0001) }),
        Scalar::I64(i64::MIN),
        Scalar::I8(-128),
        Scalar::Bool(false),
    ];
    let program = Program { consts, ..Program::default() };
    let again: Program = program.to_string().parse().unwrap();
    for (a, b) in program.consts.iter().zip(&again.consts) {
        assert!(a.same_bits(*b), "{a} {b}");
    }
}

#[test]
fn comments_blanks_and_spacing_do_not_matter() {
    let text =
        "# head\n\n  base  %0   8 in ; eight bytes\nconst $0=i32 +3\n%0[ i32 +4 ( ) ]=add.i32 %0[i32()] ,$0 # sum\n";
    let program: Program = text.parse().unwrap();
    assert_eq!(program.to_string(), "base %0 8 in\nconst $0 = i32 3\n%0[i32 +4 ()] = add.i32 %0[i32 ()], $0\n");
}

#[test]
fn errors_name_the_line() {
    for (text, line, word) in [
        ("base %1 8", 1, "out of order"),
        ("base %0 8\nbase %1 x", 2, "integer"),
        ("base %0 8 inn", 1, "inn"),
        ("\n\nconst $0 = f65 1", 3, "f65"),
        ("const $0 = u8 256", 1, "range"),
        ("const $0 = c64 (1.0)", 1, "two parts"),
        ("const $0 = f32 nan:00000001", 1, "not a number"),
        ("%0[f64 (2)] = adds.f64 $0", 1, "adds"),
        ("%0[f64 (2):(8, 8)] = add.f64 $0", 1, "strides"),
        ("%0[f64 (2) = add.f64 $0", 1, "\"]\""),
        ("%0[f64 (2)] = add.f64 $0 $1", 1, "end of the line"),
        ("%0[f64 (2)] = sum.f64 $0 axes=(64)", 1, "axis 64"),
        ("%0[f64 (9223372036854775807, 2)] = add.f64 $0", 1, "too large"),
        ("frob", 1, "frob"),
    ] {
        match text.parse::<Program>() {
            Err(Error::Parse { line: at, message }) => {
                assert_eq!(at, line, "{text:?}: {message}");
                assert!(message.contains(word), "{text:?}: {message}");
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }
}
