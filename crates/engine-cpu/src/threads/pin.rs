//! Pinning of threads to processors. After a pause, the scheduler tends to wake a worker on the caller's processor and
//! to leave both there for milliseconds. Workers that are pinned to other processors than the caller's avoid this.
//!
//! In: the launching thread and the workers. Out: workers moved. If the system has no call for it, nothing is pinned.

#[cfg(target_os = "linux")]
pub use linux::Pins;
#[cfg(not(target_os = "linux"))]
pub use none::Pins;

#[cfg(target_os = "linux")]
mod linux {
    /// The processors of the workers.
    pub struct Pins {
        /// For each worker, its processor, and its thread id once it has started.
        workers: Vec<(usize, Option<libc::pid_t>)>,
        /// A processor of this process to which no worker is pinned.
        free: usize,
        /// Whether there are enough processors for each thread to have its own.
        active: bool,
    }

    impl Pins {
        pub fn new(workers: usize) -> Pins {
            let cpus = allowed();
            let active = cpus.len() > workers && super::super::available() > workers;
            let current = current();
            let free = if cpus.contains(&current) { current } else { cpus.first().copied().unwrap_or(0) };
            let others: Vec<usize> = cpus.into_iter().filter(|c| *c != free).collect();
            let workers = (0..workers).map(|i| (others.get(i).copied().unwrap_or(0), None)).collect();
            Pins { workers, free, active }
        }

        /// Called by worker `index` when it starts.
        pub fn register(&mut self, index: usize) {
            if self.active {
                // SAFETY: no arguments.
                let id = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
                self.workers[index].1 = Some(id);
                set(id, self.workers[index].0);
            }
        }

        /// Moves a worker that is pinned to the caller's processor to the free one.
        pub fn avoid_caller(&mut self) {
            if !self.active {
                return;
            }
            let here = current();
            if here == self.free {
                return;
            }
            if let Some((cpu, id)) = self.workers.iter_mut().find(|w| w.0 == here) {
                *cpu = std::mem::replace(&mut self.free, here);
                if let Some(id) = id {
                    set(*id, *cpu);
                }
            }
        }
    }

    fn current() -> usize {
        // SAFETY: no arguments.
        unsafe { libc::sched_getcpu() }.max(0) as usize
    }

    fn allowed() -> Vec<usize> {
        // SAFETY: a CPU set is plain bits; the call fills it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
                return Vec::new();
            }
            (0..libc::CPU_SETSIZE as usize).filter(|&c| libc::CPU_ISSET(c, &set)).collect()
        }
    }

    fn set(id: libc::pid_t, cpu: usize) {
        // SAFETY: a CPU set is plain bits; `cpu` came out of one. Failure leaves the thread unpinned.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(id, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    /// Systems without pinning.
    pub struct Pins;
    impl Pins {
        pub fn new(_workers: usize) -> Pins {
            Pins
        }
        pub fn register(&mut self, _index: usize) {}
        pub fn avoid_caller(&mut self) {}
    }
}
