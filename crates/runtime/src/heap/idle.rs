//! The thread that returns unused memory of the pool to the system, and how much memory there is left.
//!
//! A program that has computed with large arrays may go on with other libraries, which cannot use the memory that the
//! pool keeps. A thread examines the pool a few times a second as long as it keeps enough to be worth it, and ends when
//! it does not.

use super::Heap;
use crate::footprint;
use std::sync::{OnceLock, Weak};
use std::time::Duration;

/// How often the pool is examined.
const TICK: Duration = Duration::from_millis(250);

/// Starts the thread that examines a heap's pool.
pub(crate) fn watch(heap: Weak<Heap>) {
    let unwatched = heap.clone();
    let body = move || {
        loop {
            std::thread::sleep(TICK);
            if !heap.upgrade().is_some_and(|heap| heap.pool.tick(room())) {
                break;
            }
        }
    };
    let builder = std::thread::Builder::new().name("numelt-idle".into()).stack_size(128 << 10);
    if builder.spawn(body).is_err()
        && let Some(heap) = unwatched.upgrade()
    {
        heap.pool.watch_failed();
    }
}

/// The bytes of memory that this process can still get.
fn room() -> usize {
    let sources = [address_space(), control_group(), machine()];
    sources.into_iter().flatten().min().unwrap_or(usize::MAX)
}

/// The bytes of address space that are left; `None` if they are not limited.
pub(crate) fn address_space() -> Option<usize> {
    // SAFETY: an all-zero structure of numbers, which the call fills.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        (libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY)
            .then_some(limit.rlim_cur as usize)?
    };
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = sizes.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * footprint::page()))
}

/// The bytes that the process's control group may still use, if they are limited. The group's cache of files does not
/// count as used, because the system frees it when necessary.
fn control_group() -> Option<usize> {
    static PLACE: OnceLock<Option<(String, &str)>> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = |prefix: &str| groups.lines().find_map(|line| line.strip_prefix(prefix));
        // inside a container, the files of the group itself are at the root
        let candidates = [
            own("0::").map(|path| (format!("/sys/fs/cgroup{path}"), "anon ")),
            Some(("/sys/fs/cgroup".to_owned(), "anon ")),
            Some(("/sys/fs/cgroup/memory".to_owned(), "total_rss ")),
        ];
        candidates.into_iter().flatten().find(|(folder, _)| limit_of(folder).is_some())
    });
    let (folder, name) = place.as_ref()?;
    let text = std::fs::read_to_string(format!("{folder}/memory.stat")).ok()?;
    let used: usize = text.lines().find_map(|line| line.strip_prefix(name))?.parse().ok()?;
    Some(limit_of(folder)?.saturating_sub(used))
}

/// The limit that the files of a control group state, of version 1 or 2.
fn limit_of(folder: &str) -> Option<usize> {
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).ok();
    read("memory.max").or_else(|| read("memory.limit_in_bytes"))?.trim().parse().ok()
}

/// The bytes of memory that the machine has left.
fn machine() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: usize = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_machine_tells_what_is_left() {
        assert!(machine().is_some_and(|bytes| bytes > 1 << 20));
        assert!(room() > 1 << 20);
    }
}
