//! Tests of the pool.

use super::*;
use proptest::prelude::*;

#[test]
fn reuses_what_was_freed() {
    let pool = Pool::new(1 << 30);
    for size in [1, 64, 1000, 5000, 1 << 20, 3 << 20, 10 << 20] {
        let a = pool.alloc(size).unwrap();
        assert_eq!(a as usize % ALIGN, 0);
        // SAFETY: the buffer has at least `size` bytes and is freed once.
        unsafe {
            a.write_bytes(7, size);
            pool.free(a, size);
        }
        let b = pool.alloc(size).unwrap();
        assert_eq!(a, b, "size {size}");
        // SAFETY: allocated above, freed once.
        unsafe { pool.free(b, size) };
    }
    assert_eq!(pool.stats().live, 0);
    pool.trim(0);
    assert_eq!(pool.stats().cached, 0);
}

#[test]
fn other_sizes_make_room_for_a_fresh_buffer() {
    let pool = Pool::new(1 << 30);
    for nbytes in [8 << 20, 32 << 20, 64 << 20] {
        let buffers: Vec<*mut u8> = (0..(64 << 20) / nbytes).map(|_| pool.alloc(nbytes).unwrap()).collect();
        // SAFETY: allocated above with this size, freed once.
        buffers.into_iter().for_each(|b| unsafe { pool.free(b, nbytes) });
        let stats = pool.stats();
        assert!(stats.cached <= 68 << 20, "{} bytes kept", stats.cached);
        assert_eq!(stats.peak, 64 << 20);
    }
}

#[test]
fn buffers_that_shrink_do_not_pile_up() {
    let pool = Pool::new(1 << 30);
    for nbytes in (1..=HUGE).rev().step_by(5003) {
        let buffer = pool.alloc(nbytes).unwrap();
        // SAFETY: allocated above with this size, freed once.
        unsafe { pool.free(buffer, nbytes) };
    }
    assert!(pool.stats().cached <= HUGE + SLACK, "{} bytes kept", pool.stats().cached);
}

#[test]
fn a_buffer_serves_as_a_smaller_one_and_is_itself_again() {
    let pool = Pool::new(1 << 30);
    for (nbytes, smaller) in [(1 << 20, 700 << 10), (100 << 10, 50 << 10), (3 << 19, 800 << 10)] {
        let a = pool.alloc(nbytes).unwrap();
        // SAFETY: allocated above with this size, freed once.
        unsafe { pool.free(a, nbytes) };
        let before = pool.stats();
        for _ in 0..3 {
            let b = pool.alloc(smaller).unwrap();
            assert_eq!(a, b, "{nbytes} bytes as {smaller}");
            // SAFETY: as above.
            unsafe { pool.free(b, smaller) };
            let again = pool.alloc(nbytes).unwrap();
            assert_eq!(a, again);
            // SAFETY: as above.
            unsafe { pool.free(again, nbytes) };
        }
        assert_eq!((pool.stats().cached, pool.stats().live), (before.cached, 0));
        pool.trim(0);
    }
    let less = [(1 << 20, 400 << 10), (20 << 10, 16 << 10)];
    for (nbytes, much_smaller) in less {
        let a = pool.alloc(nbytes).unwrap();
        // SAFETY: as above.
        unsafe { pool.free(a, nbytes) };
        let b = pool.alloc(much_smaller).unwrap();
        assert_ne!(a, b, "{nbytes} bytes as {much_smaller}");
        // SAFETY: as above.
        unsafe { pool.free(b, much_smaller) };
    }
}

#[test]
fn sizes_that_take_turns_are_kept() {
    let pool = Pool::new(1 << 30);
    let round = || {
        for nbytes in [1 << 20, 8 << 20] {
            let a = pool.alloc(nbytes).unwrap();
            // SAFETY: allocated above with this size, freed once.
            unsafe { pool.free(a, nbytes) };
        }
    };
    (0..100).for_each(|_| round());
    let fresh = pool.stats().fresh_buffers;
    (0..100).for_each(|_| round());
    assert_eq!(pool.stats().fresh_buffers, fresh);
    assert!(pool.stats().cached <= 9 << 20);
}

#[test]
fn refuses_above_the_limit_and_goes_on() {
    let pool = Pool::new(1 << 30);
    pool.configure(Some(4 << 20), 1 << 20);
    let a = pool.alloc(3 << 20).unwrap();
    assert_eq!(pool.alloc(3 << 20), Err(Error::OutOfMemory(3 << 20)));
    // SAFETY: allocated above, freed once.
    unsafe { pool.free(a, 3 << 20) };
    let b = pool.alloc(4 << 20).unwrap();
    // SAFETY: allocated above, freed once.
    unsafe { pool.free(b, 4 << 20) };
    assert!(pool.alloc(usize::MAX - 5).is_err());
}

#[test]
fn a_buffer_is_no_larger_in_memory_than_what_is_in_it() {
    for (nbytes, huge) in [(HUGE, HUGE), (HUGE + 1, HUGE), (3 * HUGE - 1, 3 * HUGE), (100 * HUGE + 1, 101 * HUGE)] {
        assert_eq!(on_huge_pages(capacity_of(nbytes).unwrap(), nbytes), huge, "{nbytes} bytes");
    }
    let pool = Pool::new(1 << 30);
    let (large, small) = (HUGE + HUGE / 3, HUGE / 3);
    let buffers = [large, large, small].map(|nbytes| (pool.alloc(nbytes).unwrap(), nbytes));
    let sum = |stats: PoolStats| stats.live + stats.cached;
    assert!((2 * large + small..2 * large + small + HUGE / 8).contains(&sum(pool.stats())));
    for (buffer, nbytes) in buffers {
        // SAFETY: allocated above with this size, freed once.
        unsafe { pool.free(buffer, nbytes) };
        assert!((2 * large + small..2 * large + small + HUGE / 8).contains(&sum(pool.stats())));
    }
    assert_eq!(pool.stats().live, 0);
}

/// Buffers of these sizes, all of them allocated before they are given back.
fn fill_and_free(pool: &Pool, sizes: &[usize]) {
    let buffers: Vec<_> = sizes.iter().map(|&nbytes| (pool.alloc(nbytes).unwrap(), nbytes)).collect();
    for (buffer, nbytes) in buffers {
        // SAFETY: allocated above with this size, freed once.
        unsafe {
            buffer.write_bytes(7, nbytes);
            pool.free(buffer, nbytes);
        }
    }
}

#[test]
fn what_nobody_uses_goes_back() {
    let pool = Pool::new(1 << 30);
    fill_and_free(&pool, &[3 << 20, 3 << 20, 8 << 20, 1 << 20, 1 << 20, 5000, 5000]);
    for _ in 0..3 * UNUSED {
        fill_and_free(&pool, &[3 << 20, 1 << 20, 5000]);
        assert!(pool.tick(usize::MAX));
    }
    // one of each size is in use all the time
    let kept = capacity_of(3 << 20).unwrap().min(taken(4 << 20, 3 << 20)) + (1 << 20) + capacity_of(5000).unwrap();
    assert_eq!(pool.stats().cached, kept);
    let fresh = pool.stats().fresh_buffers;
    fill_and_free(&pool, &[3 << 20, 1 << 20, 5000]);
    assert_eq!(pool.stats().fresh_buffers, fresh);
    while pool.tick(usize::MAX) {}
    for _ in 0..2 * UNUSED {
        pool.tick(usize::MAX);
    }
    assert_eq!((pool.stats().cached, pool.stats().live), (0, 0));
}

#[test]
fn little_is_kept_where_little_is_left() {
    let pool = Pool::new(1 << 30);
    fill_and_free(&pool, &[4 << 20; 16]);
    assert_eq!(pool.stats().cached, 64 << 20);
    pool.tick(960 << 20);
    assert_eq!(pool.stats().cached, 64 << 20);
    pool.tick(0);
    assert_eq!(pool.stats().cached, 16 << 20);
}

#[test]
fn whoever_watches_is_called_when_there_is_something_to_watch() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let pool = Pool::watched(1 << 30, || {
        CALLS.fetch_add(1, Ordering::Relaxed);
    });
    fill_and_free(&pool, &[1000, 2000]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    fill_and_free(&pool, &[4 << 20, 4 << 20]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    while pool.tick(usize::MAX) {}
    fill_and_free(&pool, &[4 << 20]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 2);
    pool.hold().forget_threads();
    fill_and_free(&pool, &[4 << 20]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 3);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_said_to_be_zero_is() {
    let pool = Pool::new(4 << 30);
    for nbytes in [1000, HUGE - 1, HUGE, 3 * HUGE + 5, ANEW, ANEW + HUGE / 3] {
        for turn in 0..3 {
            let (buffer, is_zero) = pool.alloc_zeroed(nbytes).unwrap();
            assert_eq!(is_zero, nbytes >= HUGE && (turn == 0 || nbytes >= ANEW), "{nbytes} bytes, turn {turn}");
            for at in [0, nbytes / 2, nbytes - 1] {
                // SAFETY: the buffer has so many bytes.
                unsafe {
                    assert!(!is_zero || *buffer.add(at) == 0);
                    buffer.add(at).write(9);
                }
            }
            // SAFETY: allocated above with this size, freed once.
            unsafe { pool.free(buffer, nbytes) };
        }
        pool.trim(0);
    }
}

#[test]
fn classes_and_capacities_agree() {
    let mut last = 0;
    for nbytes in (1..5000).chain((5000..HUGE).step_by(997)) {
        let capacity = capacity_of(nbytes).unwrap();
        if let Some(class) = class_of(capacity) {
            assert_eq!(capacity_in(class), capacity);
            assert!(class >= last && class < CLASSES);
            last = class;
        }
    }
    // all but the class of two MiB itself
    assert_eq!(last, CLASSES - 1);
}

proptest! {
    #[test]
    fn buffers_never_overlap(sizes in proptest::collection::vec(1usize..6_000_000, 1..20)) {
        let pool = Pool::new(8 << 20);
        let mut held: Vec<(usize, usize)> = Vec::new();
        for (i, &size) in sizes.iter().enumerate() {
            let address = pool.alloc(size).unwrap() as usize;
            for &(other, other_size) in &held {
                prop_assert!(address + size <= other || other + other_size <= address);
            }
            held.push((address, size));
            if i % 3 == 2 {
                let (address, size) = held.swap_remove(i / 3 % held.len());
                // SAFETY: taken off the list of held buffers, so freed once.
                unsafe { pool.free(address as *mut u8, size) };
            }
        }
    }
}
