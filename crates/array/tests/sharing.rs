//! Arrays shared with other threads, with DLPack, and under guards.

use numelt::dlpack::{ManagedTensor, RawTensor, Tensor};
use numelt::{AnyArray, Array, DType, Error, s};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn arrays_are_sent_and_shared() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<AnyArray>();
    is_shared::<Array<f64>>();
    let x = numelt::arange(100_000) + 1;
    let sums: Vec<i64> = thread::scope(|scope| {
        let sum = |step: i64| (&x * step).sum().item::<i64>();
        let threads: Vec<_> = (1..5).map(|step| scope.spawn(move || sum(step))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sums, [1, 2, 3, 4].map(|step| step * 5_000_050_000i64));
}

#[test]
fn threads_write_to_windows_of_one_array() {
    let x = numelt::zeros(&[8, 1000]);
    thread::scope(|scope| {
        for row in 0..8 {
            let mut part = x.slice(s![row, ..]);
            scope.spawn(move || {
                for _ in 0..50 {
                    part += 1;
                    assert!(part.sum().item::<f64>() > 0.0);
                }
            });
        }
    });
    assert_eq!(x.sum().item::<f64>(), 8.0 * 1000.0 * 50.0);
}

#[test]
fn a_guard_keeps_its_values() {
    let x = numelt::arange(5000);
    let values = x.read::<i64>().unwrap();
    // it is recorded, and runs when the guard has ended
    x.fill(7);
    assert_eq!(values[3], 3);
    // this thread would wait for itself
    assert!(x.write::<i64>().is_err());
    assert!(x.read::<i64>().is_err());
    drop(values);
    assert_eq!(x.get(&[3]).unwrap(), numelt::Scalar::I64(7));
    let mut values = x.write::<i64>().unwrap();
    values[0] = 1;
    assert!(x.read::<i64>().is_err());
    drop(values);
    assert_eq!(x.get(&[0]).unwrap(), numelt::Scalar::I64(1));
}

#[test]
fn large_vectors_stay_where_they_are() {
    let elements: Vec<f64> = (0..100_000).map(f64::from).collect();
    let place = elements.as_ptr();
    let x = Array::from(elements);
    assert_eq!(x.read().unwrap().as_ptr(), place);
    let mut y = x.clone();
    y += 1.0;
    assert_eq!(x.at(&[99_999]), 100_000.0);
}

#[test]
fn errors_have_numpys_words() {
    let words = |result: Result<AnyArray, Error>| result.unwrap_err().to_string();
    let (a, b) = (numelt::zeros(&[2, 3]), numelt::zeros(&[4]));
    assert_eq!(words(a.try_add(&b)), "operands could not be broadcast together with shapes (2,3) (4,) ");
    assert_eq!(
        words(a.try_slice(s![0, 0, 0])),
        "too many indices for array: array is 2-dimensional, but 3 were indexed"
    );
    assert_eq!(words(a.try_sum_over(2)), "axis 2 is out of bounds for array of dimension 2");
    assert_eq!(words(a.try_sum_over([0, 0])), "duplicate value in 'axis'");
    assert_eq!(words(a.reshape(&[5])), "cannot reshape array of size 6 into shape (5,)");
    let bytes = numelt::zeros_of(DType::U8, &[2]);
    assert_eq!(words(bytes.try_add(300)), "Python integer 300 out of bounds for uint8");
    assert_eq!(words(bytes.try_pow(-1)), "Integers to negative integer powers are not allowed.");
    let empty = numelt::zeros(&[0]);
    assert_eq!(words(empty.try_max_over(0)), "zero-size array to reduction operation maximum which has no identity");
    let error = b.assign(numelt::zeros(&[5])).unwrap_err();
    assert_eq!(error.to_string(), "could not broadcast input array from shape (5,) into shape (4,)");
    assert_eq!(a.broadcast_to(&[2, 2, 3]).unwrap().assign(1).unwrap_err(), Error::ReadOnlyAssignment);
}

#[test]
#[should_panic(expected = "operands could not be broadcast together with shapes (2,) (3,) ")]
fn operators_panic_with_numpys_words() {
    drop(numelt::zeros(&[2]) + numelt::zeros(&[3]));
}

#[test]
#[should_panic(expected = "Cannot cast ufunc 'divide' output from dtype('float64') to dtype('int64')")]
fn operators_in_place_keep_the_dtype() {
    let mut x = numelt::arange(3);
    x /= 2;
}

/// A tensor of another owner, and a count of the tensors that have been returned.
struct Foreign {
    managed: ManagedTensor,
    elements: Vec<f32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn give_back(tensor: *mut ManagedTensor) {
    GIVEN_BACK.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the manager is the box that `foreign` leaked.
    drop(unsafe { Box::from_raw((*tensor).manager.cast::<Foreign>()) });
}

fn foreign(elements: Vec<f32>, shape: &[i64], strides: &[i64], first: u64, flags: u64) -> Tensor {
    let tensor = RawTensor {
        data: null_mut(),
        device: [1, 0],
        ndim: shape.len() as i32,
        dtype: [2, 32],
        lanes: 1,
        shape: null_mut(),
        strides: null_mut(),
        byte_offset: 4 * first,
    };
    let managed = ManagedTensor { version: [1, 1], manager: null_mut(), deleter: Some(give_back), flags, tensor };
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let made = Box::leak(Box::new(Foreign { managed, elements, shape, strides }));
    made.managed.tensor.data = made.elements.as_mut_ptr().cast::<c_void>();
    made.managed.tensor.shape = made.shape.as_mut_ptr();
    made.managed.tensor.strides = made.strides.as_mut_ptr();
    made.managed.manager = std::ptr::from_mut(made).cast();
    // SAFETY: the tensor is valid, and only its deleter frees it.
    unsafe { Tensor::from_raw(NonNull::from(&mut made.managed)) }
}

#[test]
fn tensors_of_others_are_arrays() {
    let elements: Vec<f32> = (0..6u8).map(f32::from).collect();
    // two rows of three, read from the end
    let x = AnyArray::from_dlpack(foreign(elements.clone(), &[2, 3], &[-3, -1], 5, 0)).unwrap();
    assert_eq!(x.to_vec::<f32>(), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
    let mut y = x.transpose();
    y *= 2;
    assert_eq!(x.to_vec::<f32>(), [10.0, 8.0, 6.0, 4.0, 2.0, 0.0]);
    drop((x, y));
    assert_eq!(GIVEN_BACK.load(Ordering::Relaxed), 1);
    let z = AnyArray::from_dlpack(foreign(elements, &[6], &[1], 0, 1)).unwrap();
    assert_eq!(z.assign(0).unwrap_err(), Error::ReadOnlyAssignment);
    drop(z);
    assert_eq!(GIVEN_BACK.load(Ordering::Relaxed), 2);
}

#[test]
fn tensors_of_ours_keep_the_array() {
    let tensor = numelt::arange(6).reshape(&[2, 3]).unwrap().slice(s![.., ..;-1]).to_dlpack().unwrap().into_raw();
    // SAFETY: the tensor is valid until it is returned.
    let raw = unsafe { &tensor.as_ref().tensor };
    assert_eq!((raw.ndim, raw.dtype, raw.device), (2, [0, 64], [1, 0]));
    // SAFETY: a tensor has as many extents and strides as axes.
    let (shape, strides) =
        unsafe { (std::slice::from_raw_parts(raw.shape, 2), std::slice::from_raw_parts(raw.strides, 2)) };
    assert_eq!((shape, strides), (&[2, 3][..], &[3, -1][..]));
    // SAFETY: the first element is there.
    assert_eq!(unsafe { raw.data.cast::<i64>().read() }, 2);
    // SAFETY: this is the tensor that was released.
    let back = AnyArray::from_dlpack(unsafe { Tensor::from_raw(tensor) }).unwrap();
    assert_eq!(back.to_vec::<i64>(), [2, 1, 0, 5, 4, 3]);
    let empty = numelt::zeros(&[0, 2]).to_dlpack().unwrap();
    assert_eq!(AnyArray::from_dlpack(empty).unwrap().shape(), &[0, 2]);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_ndarray_keep_their_memory() {
    use ndarray::{Array2, ArrayD, Axis, array};
    let mut given = Array2::from_shape_fn((2, 3), |(i, j)| (10 * i + j) as f64).reversed_axes();
    given.invert_axis(Axis(0));
    let (expected, place) = (given.clone().into_dyn(), given.as_ptr());
    let x = Array::from(given);
    let seen = x.nd().unwrap();
    assert_eq!((seen.view(), seen.view().as_ptr()), (expected.view(), place));
    drop(seen);
    x.nd_mut().unwrap().view_mut()[[0, 1]] = -1.0;
    assert_eq!(x.at(&[0, 1]), -1.0);
    assert_eq!(ArrayD::from(&x)[[0, 1]], -1.0);
    let row = Array::from([1u8, 2]).broadcast_to(&[2, 2]).unwrap();
    assert_eq!(row.nd().unwrap().view(), array![[1u8, 2], [1, 2]].into_dyn());
    assert!(row.nd_mut().is_err());
    let empty = Array::<f64>::from(Array2::zeros((0, 3)));
    assert_eq!((empty.shape(), empty.nd().unwrap().view().len()), (&[0, 3][..], 0));
}
