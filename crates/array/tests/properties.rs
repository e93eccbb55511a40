//! Random programs on views, compared with a model: each array is a list of scalars, each view a list of positions in
//! it.

use numelt::rules::resolve::{Kind, resolve};
use numelt::rules::shape::broadcast;
use numelt::{AnyArray, Argument, DType, Part, Scalar};
use numelt_ir::Op;
use numelt_ir::interp::{apply, cast};
use proptest::prelude::*;

/// A window: its shape, and the position of each element among those of the base, in C order.
#[derive(Debug, Clone)]
struct Model {
    shape: Vec<i64>,
    places: Vec<usize>,
}

impl Model {
    fn whole(shape: &[i64]) -> Model {
        Model { shape: shape.to_vec(), places: (0..shape.iter().product::<i64>() as usize).collect() }
    }

    fn size(&self) -> usize {
        self.places.len()
    }

    /// The window whose elements are those of this one at the given indices.
    fn window(&self, shape: Vec<i64>, source: impl Fn(&[i64]) -> Vec<i64>) -> Model {
        let places = indices(&shape).iter().map(|index| self.places[flat(&self.shape, &source(index))]).collect();
        Model { shape, places }
    }
}

/// All indices of a shape, in C order.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![Vec::new()], |all, &n| {
        all.iter().flat_map(|index| (0..n).map(|i| [&index[..], &[i]].concat())).collect()
    })
}

fn flat(shape: &[i64], index: &[i64]) -> usize {
    index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i) as usize
}

/// One step from a window to the next; numbers that do not fit are changed so that they do.
#[derive(Debug, Clone)]
enum Step {
    Transpose,
    Flip(usize),
    NewAxis(usize),
    Slice(usize, i64, i64, i64),
    Integer(usize, i64),
    Stretch(usize, i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Transpose),
        (0..4usize).prop_map(Step::Flip),
        (0..4usize).prop_map(Step::NewAxis),
        (0..4usize, -5..6i64, -5..6i64, prop_oneof![Just(-2i64), Just(-1), Just(1), Just(2)])
            .prop_map(|(axis, start, stop, step)| Step::Slice(axis, start, stop, step)),
        (0..4usize, 0..8i64).prop_map(|(axis, at)| Step::Integer(axis, at)),
        (0..4usize, 1..4i64).prop_map(|(axis, n)| Step::Stretch(axis, n)),
    ]
}

fn walked(array: &AnyArray, model: &Model, step: &Step) -> (AnyArray, Model) {
    let rank = model.shape.len();
    match *step {
        Step::Transpose => {
            let shape = model.shape.iter().rev().copied().collect();
            (array.transpose(), model.window(shape, |index| index.iter().rev().copied().collect()))
        }
        Step::Flip(axis) if rank > 0 => {
            let axis = axis % rank;
            let turned = model.window(model.shape.clone(), |index| {
                let mut index = index.to_vec();
                index[axis] = model.shape[axis] - 1 - index[axis];
                index
            });
            (array.flip(axis as i64).unwrap(), turned)
        }
        Step::NewAxis(axis) if rank < 5 => {
            let axis = axis % (rank + 1);
            let mut shape = model.shape.clone();
            shape.insert(axis, 1);
            let grown = model.window(shape, |index| [&index[..axis], &index[axis + 1..]].concat());
            (array.expand_dims(axis as i64).unwrap(), grown)
        }
        Step::Slice(axis, start, stop, by) if rank > 0 => {
            let axis = axis % rank;
            let mut parts = vec![Part::Slice(0, i64::MAX, 1); axis];
            parts.push(Part::Slice(start, stop, by));
            let listed = sliced(model.shape[axis], start, stop, by);
            let mut shape = model.shape.clone();
            shape[axis] = listed.len() as i64;
            let cut = model.window(shape, |index| {
                let mut index = index.to_vec();
                index[axis] = listed[index[axis] as usize];
                index
            });
            (array.slice(&parts), cut)
        }
        Step::Integer(axis, at) if rank > 0 && model.shape[axis % rank] > 0 => {
            let axis = axis % rank;
            let at = at % model.shape[axis];
            let mut parts = vec![Part::Slice(0, i64::MAX, 1); axis];
            parts.push(Part::Int(at - model.shape[axis]));
            let mut shape = model.shape.clone();
            shape.remove(axis);
            let row = model.window(shape, |index| [&index[..axis], &[at], &index[axis..]].concat());
            (array.slice(&parts), row)
        }
        Step::Stretch(axis, n) if rank > 0 && model.shape[axis % rank] == 1 => {
            let axis = axis % rank;
            let mut shape = model.shape.clone();
            shape[axis] = n;
            let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
            let stretched = model.window(shape, |index| {
                let mut index = index.to_vec();
                index[axis] = 0;
                index
            });
            (array.broadcast_to(&extents).unwrap(), stretched)
        }
        _ => (array.clone(), model.clone()),
    }
}

/// The positions that a Python slice lists.
fn sliced(extent: i64, start: i64, stop: i64, step: i64) -> Vec<i64> {
    let (low, high) = if step < 0 { (-1, extent - 1) } else { (0, extent) };
    let place = |at: i64| (if at < 0 { at + extent } else { at }).clamp(low, high);
    let (mut at, stop) = (place(start), place(stop));
    let mut listed = Vec::new();
    while if step < 0 { at > stop } else { at < stop } {
        listed.push(at);
        at += step;
    }
    listed
}

/// A small number of each dtype.
fn number(dtype: DType, seed: u64) -> Scalar {
    let value = (seed % 23) as i64 - 7;
    match dtype {
        DType::Bool => Scalar::Bool(value % 2 != 0),
        dtype if dtype.is_integer() => cast(Scalar::I64(value), dtype),
        dtype => cast(Scalar::F64(value as f64 / 4.0), dtype),
    }
}

/// A window that some steps make on a new array, the base's elements, and the model.
fn made(dtype: DType, shape: &[i64], seed: u64, steps: &[Step]) -> (AnyArray, AnyArray, Vec<Scalar>, Model) {
    let mut model = Model::whole(shape);
    let values: Vec<Scalar> = (0..model.size() as u64).map(|i| number(dtype, seed.wrapping_mul(i + 3) >> 5)).collect();
    let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    let base = numelt::zeros_of(dtype, &extents);
    for (index, value) in indices(shape).iter().zip(&values) {
        base.set(index, *value).unwrap();
    }
    let mut array = base.clone();
    for step in steps {
        (array, model) = walked(&array, &model, step);
    }
    (base, array, values, model)
}

fn seen(values: &[Scalar], model: &Model) -> Vec<Scalar> {
    model.places.iter().map(|&place| values[place]).collect()
}

fn same(a: &[Scalar], b: &[Scalar]) -> bool {
    let equal = |(x, y): (&Scalar, &Scalar)| x.same_bits(*y) || x.is_nan() && y.is_nan() && x.dtype() == y.dtype();
    a.len() == b.len() && a.iter().zip(b).all(equal)
}

fn dtypes() -> impl Strategy<Value = DType> {
    proptest::sample::select(DType::ALL.to_vec())
}

fn shapes() -> impl Strategy<Value = Vec<i64>> {
    proptest::collection::vec(prop_oneof![4 => 1..5i64, 1 => Just(0i64), 1 => Just(1i64)], 0..4)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..5)
}

/// Operations whose results are exact, so that every engine returns the same bits.
const EXACT: [Op; 12] = [
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::FloorDivide,
    Op::Remainder,
    Op::Maximum,
    Op::Fmin,
    Op::Less,
    Op::Equal,
    Op::BitwiseXor,
    Op::LogicalAnd,
];

fn binary(op: Op, a: &AnyArray, b: &AnyArray) -> Result<AnyArray, numelt::Error> {
    match op {
        Op::Add => a.try_add(b),
        Op::Subtract => a.try_subtract(b),
        Op::Multiply => a.try_multiply(b),
        Op::Divide => a.try_divide(b),
        Op::FloorDivide => a.try_floor_divide(b),
        Op::Remainder => a.try_remainder(b),
        Op::Maximum => a.try_maximum(b),
        Op::Fmin => a.try_fmin(b),
        Op::Less => a.try_less(b),
        Op::Equal => a.try_equal(b),
        Op::BitwiseXor => a.try_bitwise_xor(b),
        _ => a.try_logical_and(b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_show_the_elements_that_python_says(dtype in dtypes(), shape in shapes(), seed: u64, steps in steps()) {
        let (_, array, values, model) = made(dtype, &shape, seed, &steps);
        prop_assert_eq!(array.shape(), &model.shape[..]);
        prop_assert!(same(&array.to_scalars().unwrap(), &seen(&values, &model)));
        prop_assert!(same(&array.copy().to_scalars().unwrap(), &seen(&values, &model)));
        prop_assert!(same(&array.ravel().to_scalars().unwrap(), &seen(&values, &model)));
    }

    #[test]
    fn operators_compute_what_the_interpreter_does(
        op in proptest::sample::select(EXACT.to_vec()),
        left in (dtypes(), shapes(), any::<u64>(), steps()),
        right in (dtypes(), shapes(), any::<u64>(), steps()),
    ) {
        let (_, a, x, m) = made(left.0, &left.1, left.2, &left.3);
        let (_, b, y, n) = made(right.0, &right.1, right.2, &right.3);
        let result = binary(op, &a, &b);
        let (Some(found), Some(domain)) = (
            resolve(op, &[Kind::Strong(left.0), Kind::Strong(right.0)]),
            broadcast(&[&m.shape, &n.shape]),
        ) else {
            prop_assert!(result.is_err());
            return Ok(());
        };
        let result = result.unwrap();
        prop_assert_eq!(result.shape(), &domain[..]);
        let at = |model: &Model, values: &[Scalar], index: &[i64]| {
            let lead = index.len() - model.shape.len();
            let own: Vec<i64> = index[lead..].iter().zip(&model.shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            values[model.places[flat(&model.shape, &own)]]
        };
        let expected: Vec<Scalar> = indices(&domain)
            .iter()
            .map(|index| {
                let ins = [at(&m, &x, index), at(&n, &y, index)];
                let ins = [0, 1].map(|k| cast(ins[k], found.op.input_dtype(found.ty, k)));
                apply(found.op, found.ty, &ins).unwrap()
            })
            .collect();
        // vector code computes complex quotients in another order
        if !(op == Op::Divide && found.ty.is_complex()) {
            let got = result.to_scalars().unwrap();
            prop_assert!(same(&got, &expected), "{got:?} instead of {expected:?}");
        }
    }

    #[test]
    fn overlapping_windows_read_before_they_write(
        n in 1..40i64, cut in 0..8i64, backwards: bool, literal in -3..4i64,
    ) {
        let cut = cut.min(n);
        let array = numelt::arange(n);
        let mut expected: Vec<i64> = (0..n).collect();
        let (low, high) = (array.slice([Part::Slice(0, n - cut, 1)]), array.slice([Part::Slice(cut, n, 1)]));
        let source = if backwards { low.flip(0).unwrap() } else { low };
        let mut read: Vec<i64> = expected[..(n - cut) as usize].to_vec();
        if backwards {
            read.reverse();
        }
        let mut target = high;
        target += &source;
        target *= literal;
        for (place, value) in expected[cut as usize..].iter_mut().zip(read) {
            *place = (*place + value) * literal;
        }
        prop_assert_eq!(array.to_vec::<i64>(), expected);
    }

    #[test]
    fn assignment_reaches_the_base(
        dtype in dtypes(), shape in shapes(), seed: u64, steps in steps(), value in 0..2i64,
    ) {
        let (base, array, mut values, model) = made(dtype, &shape, seed, &steps);
        if array.assign(value).is_ok() {
            for &place in &model.places {
                values[place] = cast(Scalar::I64(value), dtype);
            }
        } else {
            prop_assert!(!array.is_writeable());
        }
        prop_assert!(same(&base.to_scalars().unwrap(), &values));
    }

    #[test]
    fn reductions_of_integers_are_exact(shape in shapes(), seed: u64, steps in steps(), axis in 0..4usize, keep: bool) {
        let (_, array, values, model) = made(DType::I32, &shape, seed, &steps);
        let rank = model.shape.len();
        let integer = |place: usize| match values[place] { Scalar::I32(value) => i64::from(value), _ => unreachable!() };
        let all: Vec<i64> = model.places.iter().map(|&place| integer(place)).collect();
        prop_assert_eq!(array.sum().item::<i64>(), all.iter().sum::<i64>());
        match all.iter().enumerate().max_by_key(|&(at, value)| (*value, -(at as i64))) {
            Some((at, &most)) => {
                prop_assert_eq!(array.max().item::<i32>(), most as i32);
                prop_assert_eq!(array.argmax().item::<i64>(), at as i64);
            }
            None => prop_assert!(array.try_max_over(numelt::Over::all()).is_err()),
        }
        if rank > 0 {
            let axis = axis % rank;
            let mut kept = model.shape.clone();
            kept[axis] = 1;
            let sums: Vec<i64> = indices(&kept)
                .iter()
                .map(|index| {
                    let along = |i| {
                        let mut index = index.clone();
                        index[axis] = i;
                        all[flat(&model.shape, &index)]
                    };
                    (0..model.shape[axis]).map(along).sum()
                })
                .collect();
            let over = numelt::Over::from(axis);
            let result = array.sum_over(if keep { over.keepdims() } else { over });
            if !keep {
                kept.remove(axis);
            }
            prop_assert_eq!(result.shape(), &kept[..]);
            prop_assert_eq!(result.to_vec::<i64>(), sums);
        }
    }

    #[test]
    fn positions_and_masks_choose_elements(shape in shapes(), seed: u64, steps in steps(), picks in proptest::collection::vec(-9..9i64, 0..6)) {
        let (base, array, mut values, model) = made(DType::F32, &shape, seed, &steps);
        let Some(&n) = model.shape.first() else { return Ok(()) };
        let row = |at: i64| -> Vec<usize> {
            let size = model.size() / n.max(1) as usize;
            model.places[at as usize * size..(at as usize + 1) * size].to_vec()
        };
        let index = AnyArray::from(picks.clone());
        if picks.iter().all(|at| (-n..n).contains(at)) {
            let expected: Vec<Scalar> =
                picks.iter().flat_map(|at| row(at.rem_euclid(n))).map(|place| values[place]).collect();
            prop_assert!(same(&array.take(&index, 0).unwrap().to_scalars().unwrap(), &expected));
        } else {
            prop_assert!(array.take(&index, 0).is_err());
        }
        let mask = array.greater(0);
        let positive = |value: &Scalar| matches!(value, Scalar::F32(value) if *value > 0.0);
        let chosen: Vec<Scalar> = seen(&values, &model).into_iter().filter(positive).collect();
        prop_assert!(same(&array.compress(&mask).unwrap().to_scalars().unwrap(), &chosen));
        if array.is_writeable() {
            array.put_mask(&mask, Scalar::F32(-1.0)).unwrap();
            for &place in &model.places {
                if positive(&values[place]) {
                    values[place] = Scalar::F32(-1.0);
                }
            }
            prop_assert!(same(&base.to_scalars().unwrap(), &values));
        }
    }

    #[test]
    fn sorting_and_joining_keep_the_elements(shape in shapes(), seed: u64, steps in steps(), axis in 0..4usize, shift in -9..9i64) {
        let (_, array, _, model) = made(DType::I16, &shape, seed, &steps);
        let rank = model.shape.len();
        if rank == 0 {
            return Ok(());
        }
        let axis = (axis % rank) as i64;
        let sorted = array.sort(axis).unwrap();
        let rows = |array: &AnyArray| -> Vec<Vec<i16>> {
            let last = array.moveaxis(&[axis], &[-1]).unwrap();
            let n = last.shape()[rank - 1].max(1) as usize;
            last.to_vec::<i16>().chunks(n).map(<[i16]>::to_vec).collect()
        };
        let mut expected = rows(&array);
        expected.iter_mut().for_each(|row| row.sort_unstable());
        prop_assert_eq!(rows(&sorted), expected);
        let mut moved = rows(&array);
        moved.iter_mut().for_each(|row| {
            let n = row.len() as i64;
            row.rotate_right(shift.rem_euclid(n) as usize);
        });
        prop_assert_eq!(rows(&array.roll(shift, Some(axis)).unwrap()), moved);
        let both = numelt::concat(&[&array, &sorted], axis).unwrap();
        let doubled: Vec<Vec<i16>> = rows(&array).into_iter().zip(rows(&sorted)).map(|(a, b)| [a, b].concat()).collect();
        prop_assert_eq!(rows(&both), doubled);
        let parts = numelt::stack(&[&array, &sorted], 0).unwrap().unstack(0).unwrap();
        prop_assert_eq!(parts[1].to_vec::<i16>(), sorted.to_vec::<i16>());
    }
}

#[test]
fn operands_are_arrays_and_numbers() {
    let operand = 3.to_array();
    assert_eq!((operand.dtype(), operand.ndim()), (DType::I64, 0));
}
