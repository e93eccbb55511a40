use super::{HEADER, VERSION, decode, encode, is_message, message_length};
use crate::{Axes, Complex64, Complex128, DType, Dims, Error, F16, Instr, Op, Operand, Program, Scalar, View, warn};

/// The page that describes the format; its example is checked here.
const PAGE: &str = include_str!("../../../../docs/wire.md");

/// The lines of the page's first block that is marked so.
fn block(mark: &str) -> impl Iterator<Item = &'static str> {
    PAGE.lines().skip_while(move |line| *line != format!("```{mark}")).skip(1).take_while(|line| *line != "```")
}

/// The page's example: the program and its message.
fn example() -> (Program, Vec<u8>) {
    let text: Vec<&str> = block("numelt").collect();
    let mut program: Program = text.join("\n").parse().unwrap();
    program.instrs[0].watch = warn::DEFAULT;
    let hex = block("hex").flat_map(|line| line.split('|').next().unwrap().split_whitespace());
    (program, hex.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect())
}

const CONTENTS: &[Option<&[u8]>] = &[Some(&[1, 2, 3, 4]), None];

/// Header and checksum made to fit the bytes, so that what is wrong with the body is found there.
fn sealed(mut message: Vec<u8>) -> Vec<u8> {
    let length = message.len() as u64;
    message[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let end = message.len() - 4;
    let checksum = crc32fast::hash(&message[..end]);
    message[end..].copy_from_slice(&checksum.to_le_bytes());
    message
}

/// A message with this body.
fn with_body(body: &[u8]) -> Vec<u8> {
    let header = [&b"NMLT"[..], &VERSION.to_le_bytes(), &[0; 8]].concat();
    sealed([&header[..], body, &[0; 4]].concat())
}

/// Where the error is and what it says.
fn refusal(message: &[u8]) -> (usize, String) {
    match decode(message) {
        Err(Error::Decode { at, message }) => (at, message),
        Err(Error::Invalid(message)) => (0, message),
        other => panic!("{message:x?}: {other:?}"),
    }
}

/// A number as the format has it.
fn number(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    super::bytes::put_unsigned(&mut bytes, value);
    bytes
}

#[test]
fn the_documented_example_is_what_is_written_and_read() {
    let (program, message) = example();
    assert_eq!(encode(&program, CONTENTS).unwrap(), message);
    let read = decode(&message).unwrap();
    assert_eq!(read.program, program);
    assert_eq!(read.contents, CONTENTS);
    assert!(is_message(&message) && !is_message(program.to_string().as_bytes()));
    assert_eq!(message_length(&message[..HEADER]).unwrap(), message.len() as u64);
}

#[test]
fn contents_are_optional() {
    let (program, with) = example();
    let without = encode(&program, &[]).unwrap();
    assert_eq!(without.len() + 4, with.len());
    assert_eq!(encode(&program, &[None, None]).unwrap(), without);
    let read = decode(&without).unwrap();
    assert_eq!((read.program, read.contents), (program, vec![None, None]));
}

#[test]
fn an_empty_program_and_empty_bases_are_programs() {
    let empty = Program::default();
    let message = encode(&empty, &[]).unwrap();
    assert_eq!(message, with_body(&[0; 5]));
    assert_eq!(decode(&message).unwrap().program, empty);
    let program: Program = "base %0 0 in\nbase %1 0 in out".parse().unwrap();
    let contents: [Option<&[u8]>; 2] = [Some(&[]), None];
    let message = encode(&program, &contents).unwrap();
    assert_eq!(decode(&message).unwrap().contents, contents);
}

#[test]
fn literals_keep_their_bits() {
    let mut consts = vec![
        Scalar::Bool(false),
        Scalar::Bool(true),
        Scalar::F16(F16(0x7e01)),
        Scalar::F16(F16(0x7d01)),
        Scalar::F16(F16(0x8000)),
        Scalar::F32(-0.0),
        Scalar::F32(f32::from_bits(0x7fa0_0001)),
        Scalar::F64(-f64::NAN),
        Scalar::F64(f64::from_bits(0x7ff4_0000_0000_0001)),
        Scalar::F64(5e-324),
        Scalar::C64(Complex64 { re: f32::from_bits(0xffc0_0003), im: -0.0 }),
        Scalar::C64(Complex64 { re: -0.0, im: f32::from_bits(0x7fa0_0001) }),
        Scalar::C128(Complex128 { re: -0.0, im: f64::from_bits(0xfff8_0000_0000_0001) }),
        Scalar::C128(Complex128 { re: f64::from_bits(0x7ff4_0000_0000_0002), im: -0.0 }),
        Scalar::C128(Complex128 { re: f64::NEG_INFINITY, im: f64::MIN_POSITIVE }),
    ];
    for value in [0, 1, -1, 127, -128, i64::MAX, i64::MIN] {
        consts.extend(DType::ALL.iter().map(|&dtype| crate::interp::cast(Scalar::I64(value), dtype)));
    }
    let program = Program { consts, ..Program::default() };
    let message = encode(&program, &[]).unwrap();
    let read = decode(&message).unwrap().program;
    assert_eq!(read.consts.len(), program.consts.len());
    for (a, b) in program.consts.iter().zip(&read.consts) {
        assert!(a.same_bits(*b), "{a} {b}");
    }
}

#[test]
fn views_and_conditions_of_every_form_come_back() {
    let view = |base, offset, shape: &[i64], strides: &[i64]| View {
        base,
        dtype: DType::F64,
        offset,
        shape: Dims::from_slice(shape),
        strides: Dims::from_slice(strides),
    };
    let deep = [1i64; 64];
    let views = [
        View::contiguous(1, DType::F64, &[2, 3]),
        view(1, 792, &[2, 3], &[-24, -8]),
        view(1, 64, &[2, 3], &[8, 16]),
        view(1, 0, &[], &[]),
        view(1, i64::MIN, &[0, 3], &[0, 0]),
        view(1, i64::MAX, &[3, 0], &[i64::MIN, i64::MAX]),
        view(1, 0, &deep, &deep),
        View::contiguous(1, DType::F64, &deep),
    ];
    let mut program: Program = "base %0 8 in\nbase %1 800 out\nconst $0 = f64 1.5".parse().unwrap();
    for (out, watch) in views.into_iter().zip([0, 1, 11, 15, 63, 64, 128, 255]) {
        let ins = [Operand::Const(0)].into_iter().collect();
        program.instrs.push(Instr { op: Op::Copy, ty: DType::F64, out, ins, axes: Axes::default(), watch });
    }
    let message = encode(&program, &[]).unwrap();
    assert_eq!(decode(&message).unwrap().program, program);
}

/// Names in messages that were written long ago. A row of the op table may be added, but none of these may go away
/// or get another meaning without a new version.
#[test]
fn names_of_version_1_stay() {
    const OPS: &str = "copy add subtract multiply divide floor_divide remainder fmod power negative positive absolute sign \
        square reciprocal maximum minimum fmax fmin copysign sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin \
        arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot erf logaddexp logaddexp2 float_power deg2rad \
        rad2deg fabs heaviside nextafter spacing ldexp frexp_mantissa frexp_exponent modf_fraction modf_integral floor ceil \
        trunc rint equal not_equal less less_equal greater greater_equal equal_mixed not_equal_mixed less_mixed \
        less_equal_mixed greater_mixed greater_equal_mixed logical_and logical_or logical_xor logical_not bitwise_and \
        bitwise_or bitwise_xor invert left_shift right_shift bitwise_count gcd lcm isnan isinf isfinite signbit conjugate \
        real imag where range pcg64 pcg64dxsm philox sum prod min max any all argmin argmax reduce_fmax reduce_fmin \
        reduce_and reduce_or reduce_xor cumsum cumprod cumsubtract cumdivide cummax cummin cumfmax cumfmin cumand cumor \
        cumxor matmul dot vdot matvec vecdot vecmat gather roll scatter scatter_add scatter_multiply scatter_max \
        scatter_min nonzero";
    const DTYPES: &str = "bool i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64 c64 c128";
    assert_eq!(VERSION, 1);
    OPS.split_whitespace().for_each(|name| assert!(Op::from_name(name).is_some(), "{name}"));
    DTYPES.split_whitespace().for_each(|name| assert!(name.parse::<DType>().is_ok(), "{name}"));
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let (program, _) = example();
    let says = |program: &Program, contents: &[Option<&[u8]>]| encode(program, contents).unwrap_err().to_string();
    assert!(says(&program, &[None]).contains("1 of 2 bases"));
    assert!(says(&program, &[Some(&[0; 5]), None]).contains("4 bytes, its contents 5"));
    assert!(says(&program, &[None, Some(&[0; 32])]).contains("no input"));
    let mut broken = program;
    broken.instrs[0].ins.pop();
    assert!(says(&broken, &[]).contains("operands"));
}

#[test]
fn other_versions_are_named() {
    let (_, mut message) = example();
    for version in [0, VERSION + 1, 7_000_000] {
        message[4..8].copy_from_slice(&version.to_le_bytes());
        // another version may have another length and checksum: the version is looked at first
        for bytes in [&message[..], &sealed(message.clone()), &message[..HEADER]] {
            let (at, text) = refusal(bytes);
            assert_eq!(at, 4);
            assert!(text.contains(&format!("version {version} ")), "{text}");
            assert!(text.contains(&format!("versions 1 to {VERSION}")), "{text}");
        }
    }
}

#[test]
fn damage_is_found_and_named() {
    let (_, message) = example();
    for cut in 0..message.len() {
        refusal(&message[..cut]);
        let mut bytes = message.clone();
        for bit in 0..8 {
            bytes[cut] = message[cut] ^ 1 << bit;
            refusal(&bytes);
        }
    }
    let longer = [&message[..], &[0]].concat();
    for (bytes, word) in [
        (&b""[..], "the magic"),
        (b"base %0 32 in", "NMLT"),
        (b"NMLT\x01\0\0\0\x05", "the length"),
        (&message[..message.len() - 1], "its header says"),
        (&longer, "its header says"),
        (b"NMLT\x01\0\0\0\x10\0\0\0\0\0\0\0", "no room"),
        (b"NMLT\x01\0\0\0\x14\0\0\0\0\0\0\0\0\0\0\0", "damaged"),
    ] {
        let (_, text) = refusal(bytes);
        assert!(text.contains(word), "{text}");
    }
}

/// Every byte of the example with every value: what is accepted is exactly what is written for it.
#[test]
fn messages_are_canonical() {
    let (_, message) = example();
    let mut accepted = 0;
    for at in 0..message.len() - 4 {
        for value in 0..=255 {
            let mut bytes = message.clone();
            bytes[at] = value;
            let bytes = sealed(bytes);
            if let Ok(read) = decode(&bytes) {
                assert_eq!(encode(&read.program, &read.contents).unwrap(), bytes, "byte {at} is {value}");
                accepted += 1;
            }
        }
        refusal(&sealed([&message[..at.max(HEADER)], &[0; 4]].concat()));
    }
    // the literal, the contents and the conditions to report may be anything
    assert!(accepted > 13 * 256, "{accepted}");
}

#[test]
fn bodies_that_are_not_written_so_are_refused() {
    let f64_add = [&[1, 3][..], b"f64", &[1, 3], b"add"].concat();
    let copy = [&[1, 3][..], b"f64", &[1, 4], b"copy", &[1, 3, 8, 0, 1]].concat();
    let body = |start: &[u8], rest: &[u8]| [start, rest].concat();
    for (body, word) in [
        (vec![0x80, 0, 0, 0, 0, 0], "more bytes than it needs"),
        (vec![0xff; 11], "does not fit 64 bits"),
        (body(&[0xff; 9], &[2, 0, 0, 0, 0]), "does not fit 64 bits"),
        (vec![1, 3, b'f', b'6', b'5', 0, 0, 0, 0], "\"f65\" is not the name of a dtype"),
        (vec![1, 2, 0xff, 0xfe, 0, 0, 0, 0], "not text"),
        (vec![2, 2, b'i', b'8', 2, b'i', b'8', 0, 0, 0, 0], "listed twice"),
        (body(&f64_add, &[0, 0, 0]), "dtype 0 is listed and not used"),
        (body(&[0, 1, 4], b"adds\0\0\0"), "\"adds\" is not the name of an operation"),
        (vec![0, 0, 1, 8, 0, 0, 0], "roles 0x8"),
        (vec![0, 0, 1, 4, 0, 0, 0], "roles 0x4"),
        (vec![0, 0, 1, 5, 9, 0, 0], "contents of 9 bytes, where 0 are left"),
        (vec![0, 0, 0, 0, 0, 7], "1 bytes too many"),
        (vec![0, 0, 0, 1, 0, 0], "dtype 0 is not in the list of 0"),
        (body(&[1, 4], b"bool\0\0\x01\0\x02\0"), "neither 0 nor 1"),
        (body(&[2, 2], b"i8\x02u8\0\0\x01\x01\0\0"), "dtype 1 is used before 0"),
        // an instruction that copies literal 0, which does not exist, to base 0, and the same with something else wrong
        (body(&copy, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 1]), "literal $0 does not exist"),
        (body(&copy, &[0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1]), "the number of operands is 2; copy takes 1"),
        (body(&copy, &[0, 0, 0, 0, 0, 0, 65, 0, 1, 1]), "65 axes"),
        (body(&copy, &[0, 0, 0, 0, 0, 0, 0x81, 0, 1, 16, 1, 1]), "left out"),
        (body(&copy, &[0, 0, 0, 0, 0, 1, 0, 0, 1, 1]), "dtype 1 is not in the list of 1"),
        (body(&copy, &[0, 0, 0, 0, 5, 0, 0, 0, 1, 1]), "base %5 does not exist"),
    ] {
        let (_, text) = refusal(&with_body(&body));
        assert!(text.contains(word), "{body:x?}: {text:?} does not contain {word:?}");
    }
}

/// Sizes and counts that nothing backs: memory for them is never asked for, which would end the process.
#[test]
fn counts_are_held_against_what_is_left() {
    for claimed in [300, 1 << 33, 1 << 47, u64::MAX / 9, u64::MAX] {
        let claimed = number(claimed);
        let names = [&[1, 3][..], b"f64", &[1, 3], b"add"].concat();
        for start in [&[][..], &[1], &[0], &[0, 1], &[0, 0], &[0, 0, 1, 5], &[0, 0, 0], &[0, 0, 0, 0], &names] {
            for padding in [0, 200] {
                refusal(&with_body(&[start, &claimed, &vec![1; padding]].concat()));
            }
        }
    }
    // a size is only a number until there are contents
    let program: Program = format!("base %0 {} in out", isize::MAX).parse().unwrap();
    let message = encode(&program, &[]).unwrap();
    assert_eq!(decode(&message).unwrap().program, program);
    let more = with_body(&[&[0, 0, 1, 1][..], &number(1 << 63), &[0, 0]].concat());
    assert!(refusal(&more).1.contains("too large"));
}

/// An output whose elements are apart, which takes the verifier most of the steps that one view may take to see.
/// A message may hold a few of these, not thousands.
#[test]
fn searches_for_shared_bytes_have_one_limit() {
    let copy = "%0[i8 (6, 10, 12, 9, 7, 11, 12, 2):\
        (13904682, 39311750, 30041642, 18926904, 357409, 41650868, 39636651, 28162859)] = copy.i8 $0\n";
    let program = |count: usize| -> Program {
        let text = format!("base %0 {} out\nconst $0 = i8 1\n{}", 1u64 << 40, copy.repeat(count));
        text.parse().unwrap()
    };
    let message = encode(&program(1), &[]).unwrap();
    assert_eq!(decode(&message).unwrap().program, program(1));
    assert_eq!(crate::verify(&program(20)), Ok(()));
    assert!(encode(&program(20), &[]).unwrap_err().to_string().contains("too long"));
    // the same instruction twenty times, as somebody else could write it: it follows the count of instructions
    let names_bases_literals = 4 + 6 + 8 + 3;
    let (head, rest) = message[HEADER..message.len() - 4].split_at(names_bases_literals);
    assert_eq!(decode(&with_body(&[head, &[1], &rest[1..]].concat())).unwrap().program, program(1));
    let many = with_body(&[head, &[20], &rest[1..].repeat(20)].concat());
    assert!(refusal(&many).1.contains("too long"));
}
