//! The thread that compiles while the program runs.
//!
//! In: tasks, one after the other. Out: the tasks done, in that order. There is one such thread in a process, started
//! with the first task. While the process forks, the thread is between two tasks, so that the child finds LLVM in a
//! usable state. The child starts its own thread, which does the tasks that the parent's had not begun. Not here: what
//! a task is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The idle time after which LLVM's memory is returned to the system.
const IDLE: Duration = Duration::from_millis(100);

/// A piece of work for the thread.
pub trait Task: Send {
    /// Does it.
    fn run(self: Box<Self>);
}

#[derive(Default)]
struct TaskQueue {
    tasks: VecDeque<Box<dyn Task>>,
    /// Is there a thread?
    started: bool,
    /// Is it doing something, with the queue's lock released?
    busy: bool,
    /// Is another thread about to fork?
    paused: bool,
}

static QUEUE: Mutex<TaskQueue> =
    Mutex::new(TaskQueue { tasks: VecDeque::new(), started: false, busy: false, paused: false });
/// There is a task, or the fork is over.
static MORE: Condvar = Condvar::new();
/// The thread is no longer busy.
static DONE: Condvar = Condvar::new();
/// Is this a forked child whose parent left tasks in the queue?
static ORPHANED: AtomicBool = AtomicBool::new(false);

fn lock() -> MutexGuard<'static, TaskQueue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(on: &Condvar, queue: MutexGuard<'static, TaskQueue>) -> MutexGuard<'static, TaskQueue> {
    on.wait(queue).unwrap_or_else(PoisonError::into_inner)
}

/// Passes a task to the thread. If no thread can be started, the task is dropped.
pub fn submit(task: Box<dyn Task>) {
    let mut queue = lock();
    queue.tasks.push_back(task);
    start(&mut queue);
}

/// In a forked child, does the tasks that the parent had not begun.
#[inline]
pub fn resume() {
    if ORPHANED.load(Ordering::Relaxed) && ORPHANED.swap(false, Ordering::Relaxed) {
        start(&mut lock());
    }
}

fn start(queue: &mut TaskQueue) {
    if !queue.started {
        queue.started = std::thread::Builder::new().name("numelt-jit".into()).spawn(serve).is_ok();
    }
    if queue.started {
        MORE.notify_one();
    } else {
        queue.tasks.clear();
    }
}

/// The loop of the thread, which never ends. When there have been no tasks for a while, it returns LLVM's memory to the
/// system.
fn serve() {
    let mut queue = lock();
    let mut rested = true;
    loop {
        if queue.paused || queue.tasks.is_empty() && rested {
            queue = wait(&MORE, queue);
        } else if let Some(task) = queue.tasks.pop_front() {
            queue = working(queue, || task.run());
            rested = false;
        } else {
            let (again, waited) = MORE.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = again;
            if waited.timed_out() && queue.tasks.is_empty() && !queue.paused {
                queue = working(queue, crate::llvm::rest);
                rested = true;
            }
        }
    }
}

/// Does some work with the lock released.
fn working(mut queue: MutexGuard<'static, TaskQueue>, work: impl FnOnce()) -> MutexGuard<'static, TaskQueue> {
    /// Marks the thread as done, even if a task panics: then there is no thread any more.
    struct Busy;
    impl Drop for Busy {
        fn drop(&mut self) {
            let mut queue = lock();
            queue.busy = false;
            queue.started = !std::thread::panicking();
            DONE.notify_all();
        }
    }
    queue.busy = true;
    drop(queue);
    let busy = Busy;
    work();
    drop(busy);
    lock()
}

/// Around a fork: see [`numelt_runtime::fork`].
pub mod fork {
    use super::{DONE, MORE, ORPHANED, TaskQueue, lock, wait};
    use std::cell::RefCell;
    use std::sync::MutexGuard;
    use std::sync::atomic::Ordering;

    thread_local! {
        /// The queue's lock, while this thread forks.
        static HELD: RefCell<Option<MutexGuard<'static, TaskQueue>>> = const { RefCell::new(None) };
    }

    /// Waits until the thread is between two tasks, and keeps it there.
    pub fn prepare() {
        let mut queue = lock();
        queue.paused = true;
        while queue.busy {
            queue = wait(&DONE, queue);
        }
        // a thread that is ending has no thread-local memory for the lock
        let _ = HELD.try_with(|held| *held.borrow_mut() = Some(queue));
    }

    /// Lets the thread go on.
    pub fn parent() {
        let mut queue = held();
        queue.paused = false;
        MORE.notify_one();
    }

    /// Notes that the thread does not exist in this process.
    pub fn child() {
        let mut queue = held();
        (queue.paused, queue.started) = (false, false);
        ORPHANED.store(!queue.tasks.is_empty(), Ordering::Relaxed);
    }

    fn held() -> MutexGuard<'static, TaskQueue> {
        HELD.try_with(|held| held.borrow_mut().take()).ok().flatten().unwrap_or_else(lock)
    }
}
