//! Powers by one number have the bits of the vector math function, in whichever way they are computed.

use super::*;
use numelt_ir::interp::cast;
use numelt_vecmath::binary_f32;

/// Bases of all sizes: rows of ordinary numbers, which take the fast path together, and rows with a special number.
fn bases<T: Float>(n: usize, random: &mut Random) -> Vec<T> {
    (0..n)
        .map(|i| match (i / 64) % 2 {
            0 => T::from_scalar(cast(Scalar::F64(random.below(4001) as f64 * 1e-3 - 2.0005), T::DTYPE)),
            _ => T::from_scalar(random.scalar(T::DTYPE)),
        })
        .collect()
}

fn check_powers<T: Float>(f: impl Fn(&[T], &[T], &mut [T])) {
    let mut random = Random(31);
    let mut kernel = empty();
    kernel.args.push(arg(ArgKind::Load, T::DTYPE, StrideClass::Unit));
    kernel.params.push(T::DTYPE);
    kernel.body.extend([Node::Load(0), Node::Param(0)]);
    let value = push_op(&mut kernel, Op::Power, T::DTYPE, smallvec![0, 1]);
    kernel.stores.push(Store { arg: 1, value });
    kernel.args.push(arg(ArgKind::Store, T::DTYPE, StrideClass::Unit));
    let bodies = bodies(&kernel).unwrap();
    let whole = (-9..=10).map(f64::from);
    for exponent in whole.chain([
        0.5,
        1.5,
        2.5,
        7.5,
        8.5,
        -0.5,
        -1.5,
        -2.5,
        -7.5,
        -8.5,
        1.25,
        3.0 + 1e-7,
        1e300,
        4294967299.0,
        f64::NAN,
        f64::INFINITY,
    ]) {
        let exponent = cast(Scalar::F64(exponent), T::DTYPE);
        for n in [1, 3, 200] {
            let x: Vec<T> = bases(n, &mut random);
            let (mut got, mut want) = (x.clone(), x.clone());
            f(&x, &vec![T::from_scalar(exponent); n], &mut want);
            // a slot for a tile's parameters has the alignment of its size
            let slot = u128::from_ne_bytes(exponent.to_bytes());
            let (size, pointers) = (T::DTYPE.size() as i64, [x.as_ptr().cast_mut().cast(), got.as_mut_ptr().cast()]);
            let tile = Tile {
                bypass: 0,
                pointers: pointers.as_ptr(),
                inner_strides: [size; 2].as_ptr(),
                outer_strides: [0; 2].as_ptr(),
                params: (&raw const slot).cast(),
                inner: n as i64,
                outer: 1,
            };
            for (isa, body) in &bodies {
                // SAFETY: the arrays hold `n` elements.
                unsafe { body.run(&tile) };
                for (x, (got, want)) in x.iter().zip(got.iter().zip(&want)) {
                    let alike = same(got.to_scalar(), want.to_scalar());
                    assert!(alike, "{isa:?}: {x:?} ** {exponent:?} = {got:?}, not {want:?}");
                }
            }
        }
    }
}

#[test]
fn powers_by_a_number() {
    check_powers::<f64>(|a, b, out| {
        // SAFETY: all have one length, and every machine has the portable set.
        unsafe { binary_f64(Func2::Pow, Isa::Portable)(a.as_ptr(), b.as_ptr(), out.as_mut_ptr(), a.len()) }
    });
    check_powers::<f32>(|a, b, out| {
        // SAFETY: as above.
        unsafe { binary_f32(Func2::Pow, Isa::Portable)(a.as_ptr(), b.as_ptr(), out.as_mut_ptr(), a.len()) }
    });
}
