use super::*;
use crate::heap::Heap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

fn base(heap: &Arc<Heap>) -> BaseRef {
    BaseRef::filled(heap, &[7; 16]).unwrap()
}

#[test]
fn readers_share_and_a_writer_is_alone() {
    let heap = Heap::new();
    let (one, other) = (base(&heap), base(&heap));
    assert!(!heap.guards.any());
    let readers = [ReadGuard::begin(&one), ReadGuard::begin(&one)];
    assert_eq!(readers[0].bytes(), readers[1].bytes());
    assert!(heap.guards.blocking(&one.0, false).is_none() && heap.guards.blocking(&one.0, true).is_some());
    assert!(one.is_readable() && !one.is_writable() && other.is_writable());
    drop(readers);
    let mut writer = WriteGuard::begin(&one);
    writer.bytes_mut()[3] = 8;
    assert_eq!(writer.bytes()[2..5], [7, 8, 7]);
    assert!(heap.guards.blocking(&one.0, false).is_some() && !one.is_readable() && other.is_readable());
    let uses = [(&other.0, true), (&one.0, false)];
    assert!(heap.guards.blocking_any(uses.into_iter()).is_some());
    assert!(heap.guards.blocking_any(uses.into_iter().take(1)).is_none());
    drop(writer);
    assert!(!heap.guards.any() && one.is_writable());
}

#[test]
fn guards_of_several_bases_begin_and_end_together() {
    let heap = Heap::new();
    let (one, other) = (base(&heap), base(&heap));
    let set = GuardSet::begin(&[(&one, false), (&other, true)]).expect("nothing is in the way");
    assert_eq!(set.start_of(&one).cast_const(), ReadGuard::begin(&one).as_ptr());
    assert!(one.is_readable() && !one.is_writable() && !other.is_readable());
    assert!(GuardSet::begin(&[(&other, false)]).is_none() && GuardSet::begin(&[(&one, true)]).is_none());
    drop(GuardSet::begin(&[(&one, false)]).expect("readers share"));
    assert!(!one.is_writable(), "the other guards are still there");
    drop(set);
    assert!(!heap.guards.any() && one.is_writable() && other.is_writable());
    assert!(GuardSet::begin(&[]).is_some());
}

#[test]
fn bases_without_bytes_have_guards() {
    let heap = Heap::new();
    let empty = BaseRef::filled(&heap, &[]).unwrap();
    assert!(ReadGuard::begin(&empty).bytes().is_empty());
    assert!(WriteGuard::begin(&empty).bytes_mut().is_empty());
}

#[test]
fn nobody_waits_for_himself() {
    let heap = Heap::new();
    let one = base(&heap);
    let guard = ReadGuard::begin(&one);
    let blocking = heap.guards.blocking(&one.0, true).unwrap();
    assert_eq!(heap.guards.wait(blocking), Err(Error::Busy));
    drop(guard);
    assert_eq!(heap.guards.wait(blocking), Ok(()), "it has ended");
}

#[test]
fn a_thread_waits_until_a_guard_of_another_one_ends() {
    let heap = Heap::new();
    let one = base(&heap);
    let (begun, until_begun) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = WriteGuard::begin(&one);
            begun.send(()).unwrap();
            thread::yield_now();
            guard.bytes_mut().fill(9);
        });
        until_begun.recv().unwrap();
        while let Some(guard) = heap.guards.blocking(&one.0, false) {
            heap.guards.wait(guard).unwrap();
        }
        assert_eq!(ReadGuard::begin(&one).bytes(), [9; 16]);
    });
}

#[test]
fn whoever_would_close_a_circle_is_told() {
    let heap = Heap::new();
    let bases = [base(&heap), base(&heap), base(&heap)];
    let barrier = std::sync::Barrier::new(3);
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for own in 0..3 {
            let (heap, bases, barrier, refused) = (&heap, &bases, &barrier, &refused);
            scope.spawn(move || {
                let _guard = WriteGuard::begin(&bases[own]);
                barrier.wait();
                let next = &bases[(own + 1) % 3].0;
                while let Some(guard) = heap.guards.blocking(next, false) {
                    if heap.guards.wait(guard) == Err(Error::Busy) {
                        refused.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                }
            });
        }
    });
    assert_eq!(refused.into_inner(), 1);
    assert!(!heap.guards.any());
}

#[test]
fn a_forked_child_has_no_guards_of_other_threads() {
    let heap = Heap::new();
    let (one, other) = (base(&heap), base(&heap));
    let own = ReadGuard::begin(&one);
    thread::scope(|scope| {
        // a thread that the child does not have ends nothing
        scope.spawn(|| std::mem::forget(WriteGuard::begin(&other))).join().unwrap();
    });
    heap.guards.hold().forget_threads();
    assert!(other.is_writable() && !one.is_writable());
    drop(own);
    assert!(!heap.guards.any());
}
