//! Compares random streams with the reference interpreter: each generator and dtype, at positions near the ends of
//! words.

mod support;

use numelt_ir::{DType, Op, Program};
use numelt_opt::{Fuse, Options};
use numelt_testing::engine::{Tested, check_engine, supports};
use support::device;

/// Words with carries into each other, and some random ones.
const STATES: [[u64; 6]; 2] = [
    [u64::MAX, u64::MAX, u64::MAX, u64::MAX, 0, u64::MAX],
    [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f, 7, 0x9e37_79b9],
];

/// A thousand elements of a stream from a position on.
fn program(op: Op, ty: DType, position: u64, state: &[u64]) -> String {
    let mut text = format!("base %0 {} out\n", 1000 * ty.size());
    let literals = [position].into_iter().chain(state[..op.arity() - 1].iter().copied());
    let names: Vec<String> = literals
        .enumerate()
        .map(|(at, word)| {
            text += &format!("const ${at} = u64 {word}\n");
            format!("${at}")
        })
        .collect();
    text + &format!("%0[{ty} (1000)] = {}.{ty} {}\n", op.name(), names.join(", "))
}

#[test]
fn streams() {
    let Some(device) = device() else { return };
    let options = Options { target: *device.target(), ..Options::default() };
    for op in [Op::Pcg64, Op::Pcg64Dxsm, Op::Philox] {
        for ty in op.info().dtypes.iter() {
            for (position, state) in
                [0, 3, (1 << 25) - 500, (1 << 32) - 500, u64::MAX - 500].into_iter().zip(STATES.iter().cycle())
            {
                let text = program(op, ty, position, state);
                let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
                assert!(supports(&*device, &numelt_opt::plan(&program, &options).unwrap()), "{text}");
                check_engine(Tested::device(&*device), &program, 1, Fuse::Greedy)
                    .unwrap_or_else(|why| panic!("{why}\n{text}"));
            }
        }
    }
}
