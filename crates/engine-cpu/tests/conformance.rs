//! The workspace's conformance suite on this engine, under several settings.

mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_opt::{Fuse, Step};
use numelt_testing::engine::{Tested, check_engine, conforms, conforms_for};
use numelt_testing::targets;
use std::fmt::Write;
use support::engine;

#[test]
fn default_blocks() {
    conforms(Tested::host(&engine(1, 0)), 10_000);
}

#[test]
fn blocks_of_one() {
    conforms(Tested::host(&engine(1, 1)), 1000);
}

#[test]
fn blocks_of_two() {
    conforms(Tested::host(&engine(2, 2)), 1000);
}

#[test]
fn odd_blocks() {
    conforms(Tested::host(&engine(3, 13)), 1000);
}

#[test]
fn compiled_at_once() {
    let options = Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() };
    conforms(Tested::host(&CpuEngine::new(options)), 150);
}

/// Plans for other targets.
#[test]
fn other_targets() {
    for (_, target) in targets::all() {
        conforms_for(Tested::host(&engine(2, 0)), &target, 1500);
    }
    let options = Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() };
    let compiled = CpuEngine::new(options);
    for (_, target) in targets::all() {
        conforms_for(Tested::host(&compiled), &target, 25);
    }
}

/// The sum of all neighbours of the inner points of a cube of `n`, 27 loads of which nine have addresses.
fn stencil(n: i64, dtype: &str, size: i64) -> String {
    let cube = (n + 2).pow(3) * size;
    let mut text = format!("base %0 {cube} in\nbase %1 {} out\n", n.pow(3) * size);
    let mut acc = format!("%0[{dtype} ({n}, {n}, {n}):({}, {}, {size})]", (n + 2).pow(2) * size, (n + 2) * size);
    for at in 1..27 {
        let (i, j, k) = (at / 9, at / 3 % 3, at % 3);
        let offset = (i * (n + 2).pow(2) + j * (n + 2) + k) * size;
        let strides = format!("({}, {}, {size})", (n + 2).pow(2) * size, (n + 2) * size);
        let out = format!("%1[{dtype} ({n}, {n}, {n})]");
        writeln!(text, "{out} = add.{dtype} {acc}, %0[{dtype} +{offset} ({n}, {n}, {n}):{strides}]").unwrap();
        acc = out;
    }
    text
}

/// `inner += sum of moved inner`, on an array of some rank, through a temporary as the recorder makes it. With `fold`,
/// what is written is also summed.
fn in_place(extents: &[i64], steps: &[i64], moves: &[Vec<i64>], dtype: &str, size: i64, fold: bool) -> String {
    const REACH: i64 = 2;
    let mut pitches = vec![size];
    for &n in extents[1..].iter().rev() {
        pitches.insert(0, pitches[0] * (n + 2 * REACH));
    }
    let nbytes = pitches[0] * (extents[0] + 2 * REACH);
    let counts: Vec<i64> = extents.iter().zip(steps).map(|(n, s)| (n + s.abs() - 1) / s.abs()).collect();
    let list = |numbers: &[i64]| numbers.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let strides: Vec<i64> = pitches.iter().zip(steps).map(|(p, s)| p * s).collect();
    let view = |moves: &[i64]| {
        let place = |at: usize| {
            (moves[at] + REACH + if steps[at] < 0 { (1 - counts[at]) * steps[at] } else { 0 }) * pitches[at]
        };
        let offset: i64 = (0..extents.len()).map(place).sum();
        format!("%0[{dtype} +{offset} ({}):({})]", list(&counts), list(&strides))
    };
    let points: i64 = counts.iter().product();
    let (inner, temporary) = (view(&vec![0; extents.len()]), format!("%1[{dtype} ({})]", list(&counts)));
    let mut text = format!("base %0 {nbytes} in out\nbase %1 {}\nbase %2 {size} out\n", points * size);
    let mut acc = inner.clone();
    for at in moves {
        writeln!(text, "{temporary} = add.{dtype} {acc}, {}", view(at)).unwrap();
        acc = temporary.clone();
    }
    if fold {
        let (ones, axes) = (vec![1; extents.len()], (0..extents.len() as i64).collect::<Vec<_>>());
        writeln!(text, "%2[{dtype} ({})] = sum.{dtype} {temporary} axes=({})", list(&ones), list(&axes)).unwrap();
    }
    writeln!(text, "{inner} = copy.{dtype} {temporary}").unwrap();
    text
}

#[test]
fn in_place_stencils() {
    let compiled = CpuEngine::new(Options { threads: 3, jit: Jit::Sync, serial_below: 0, ..Options::default() });
    let engines = [&compiled, &engine(1, 0), &engine(3, 0), &engine(1, 1), &engine(3, 1), &engine(2, 13)];
    let mut seed = 1u64;
    let mut next = |n: i64| -> i64 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((seed >> 33) as i64) % n
    };
    let (mut delayed, dtypes) = (0, [("f64", 8), ("i16", 2), ("f32", 4), ("c128", 16), ("u8", 1)]);
    for number in 0..150 {
        let rank = 1 + number % 3;
        let (dtype, size) = dtypes[next(5) as usize];
        let largest = if number % 50 == 7 { [0, 40_000, 220, 36][rank] } else { [0, 70, 24, 9][rank] };
        let extents: Vec<i64> = (0..rank).map(|_| largest / 2 + 1 + next(largest / 2)).collect();
        let steps: Vec<i64> = (0..rank).map(|_| [1, 1, 1, 2, -1][next(5) as usize]).collect();
        let moves: Vec<Vec<i64>> = (0..1 + next(4)).map(|_| (0..rank).map(|_| next(5) - 2).collect()).collect();
        let text = in_place(&extents, &steps, &moves, dtype, size, next(2) == 1);
        let program = text.parse().unwrap();
        let plan = numelt_opt::plan(&program, &numelt_opt::Options::default()).unwrap();
        let waits = |step: &Step| matches!(step, Step::Kernel(kernel) if kernel.delay.is_some());
        delayed += usize::from(plan.steps.iter().any(waits));
        let engine = engines[number % engines.len()];
        check_engine(Tested::host(engine), &program, number as u64, Fuse::Greedy)
            .unwrap_or_else(|why| panic!("{why}\n{text}"));
    }
    assert!(delayed > 75, "{delayed} programs with a delay");
}

/// A scatter of values that a kernel computes: `target[i] = x + x` or, with `update`, `target[i] = target[i] + x`. With
/// `made`, the kernel computes the positions, too; otherwise they are in memory. With `row` above one, rows are
/// scattered. `op` is the name of the scatter.
fn scatter((n, k, row): (i64, i64, i64), (made, update): (bool, bool), op: &str, (dtype, size): (&str, i64)) -> String {
    let tail = if row > 1 { format!(", {row}") } else { String::new() };
    let (xs, bytes) = (format!("{dtype} ({k}{tail})"), k * row * size);
    let mut text = format!("base %0 {} in out\nbase %1 {} in\nbase %2 {bytes} in\n", n * row * size, k * 8);
    writeln!(text, "base %3 {}\nbase %4 {bytes}\nbase %5 {bytes}\nconst $0 = i64 {n}", k * 8).unwrap();
    let positions = if made { format!("%3[i64 ({k})]") } else { format!("%1[i64 ({k})]") };
    if made {
        writeln!(text, "{positions} = remainder.i64 %1[i64 ({k})], $0").unwrap();
    }
    let old = if update {
        let source = format!("%0[{dtype} ({n}, {k}):({size}, 0)]");
        writeln!(text, "%4[{xs}] = gather.{dtype} {source}, {positions}").unwrap();
        format!("%4[{xs}]")
    } else {
        format!("%2[{xs}]")
    };
    writeln!(text, "%5[{xs}] = add.{dtype} {old}, %2[{xs}]").unwrap();
    let target = format!("%0[{dtype} ({n}{tail})]");
    writeln!(text, "{target} = {op}.{dtype} {target}, %5[{xs}], {positions}").unwrap();
    text
}

#[test]
fn puts() {
    let compiled = CpuEngine::new(Options { threads: 3, jit: Jit::Sync, serial_below: 0, ..Options::default() });
    let engines = [&compiled, &engine(1, 0), &engine(3, 0), &engine(1, 1), &engine(3, 1), &engine(2, 13)];
    let ops = ["scatter", "scatter_add", "scatter_multiply", "scatter_max", "scatter_min"];
    let (mut fused, dtypes) = (0, [("f64", 8), ("i16", 2), ("f32", 4), ("c128", 16), ("u8", 1), ("bool", 1)]);
    for number in 0..240 {
        let (made, update) = (number % 2 == 0, number % 3 == 0);
        let row = if update { 1 } else { [1, 1, 3, 40][number / 6 % 4] };
        let k = [1, 5, 60, 700, 9000][number % 5] / if row == 40 { 4 } else { 1 } + 1;
        let sizes = ([1, 40, k + 3][number / 2 % 3], k, row);
        let text = scatter(sizes, (made, update), ops[number / 3 % 5], dtypes[number / 5 % 6]);
        let program = text.parse().unwrap();
        let plan = numelt_opt::plan(&program, &numelt_opt::Options::default()).unwrap();
        fused += usize::from(plan.steps.iter().any(|step| matches!(step, Step::Kernel(k) if !k.puts.is_empty())));
        let engine = engines[number % engines.len()];
        check_engine(Tested::host(engine), &program, number as u64, Fuse::Greedy)
            .unwrap_or_else(|why| panic!("{why}\n{text}"));
    }
    assert!(fused > 200, "{fused} programs that put what they make");
}

#[test]
fn stencils() {
    let compiled = CpuEngine::new(Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() });
    for engine in [&compiled, &engine(1, 0), &engine(2, 3)] {
        for (n, dtype, size) in [(1, "f64", 8), (7, "f64", 8), (8, "f32", 4), (9, "i16", 2), (19, "c128", 16)] {
            let program = stencil(n, dtype, size).parse().unwrap();
            check_engine(Tested::host(engine), &program, n as u64, Fuse::Greedy).unwrap();
        }
    }
}
