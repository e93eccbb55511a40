//! Files that decide which code runs: settings, the key of the kernel cache, cached kernels.
//!
//! Such a file is read only if it is a regular file whose owner and mode are acceptable; otherwise there is an error
//! that says why they are not. The rules for folders are those of OpenSSH: every folder on the way from the root
//! belongs to the user or to root, and nobody else may write to it, because whoever may write to a folder may put
//! another file or folder in the place of the next one. Sticky folders such as `/tmp` do not allow that, so they may be
//! on the way, but must not hold the file directly.
//!
//! Opening never waits: a FIFO is refused, not read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The number of the superuser, whose files are trusted like the user's own.
const ROOT: u32 = 0;
/// Write permission for the group, and for all others.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// Only the owner of an entry, or of the folder, may rename or remove it.
const STICKY: u32 = 0o1000;

/// Who owns a file or folder, and what its mode allows.
#[derive(Debug, Clone, Copy)]
pub struct Ownership {
    /// The owner's number.
    pub owner: u32,
    /// Permission bits, the sticky bit among them.
    pub mode: u32,
}

impl Ownership {
    /// An error unless the owner is the user or root, and only owner and group may write.
    pub fn check_owner(self, user: u32) -> io::Result<()> {
        if self.owner != user && self.owner != ROOT {
            return refuse("it belongs to another user");
        }
        if self.mode & OTHERS_WRITE != 0 { refuse("all users may write to it") } else { Ok(()) }
    }

    /// An error unless only the user and root may change the file.
    pub fn check_file(self, user: u32) -> io::Result<()> {
        self.check_owner(user)?;
        if self.mode & GROUP_WRITES != 0 { refuse("its group may write to it") } else { Ok(()) }
    }

    /// An error unless only the user and root may replace entries of the folder.
    fn check_folder(self, user: u32, on_the_way: bool) -> io::Result<()> {
        if on_the_way && self.mode & STICKY != 0 && (self.owner == user || self.owner == ROOT) {
            return Ok(());
        }
        self.check_file(user)
    }
}

fn refuse<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// The same error, with the path before its text.
fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Opens a regular file for reading, without ever waiting, and without following a symbolic link at the end of the
/// path.
///
/// # Errors
/// The system's error, or that it is not a regular file.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY,
    );
    let file = options.open(path)?;
    let data = file.metadata()?;
    if data.is_file() { Ok((file, data)) } else { Err(io::Error::other("it is no regular file")) }
}

/// The bytes of an open file, if they are at most `limit`.
///
/// # Errors
/// The system's error, or that the file is too long.
pub fn read(file: &mut File, data: &Metadata, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(data.len().min(limit)).unwrap_or(0));
    // the file may have grown since
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        Err(io::Error::other(format!("it is longer than {limit} bytes")))
    } else {
        Ok(bytes)
    }
}

/// Writes a new file that only the user may read.
///
/// # Errors
/// The system's error, also if the path exists already.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}

/// Checks every folder from the root to `folder`, which is a path without symbolic links.
///
/// # Errors
/// The first folder in which another user could replace an entry.
pub fn check_folders(folder: &Path, user: u32) -> io::Result<()> {
    let way: Vec<&Path> = folder.ancestors().collect();
    for step in way.into_iter().rev() {
        let data = fs::symlink_metadata(step).map_err(|error| about(step, &error))?;
        if !data.is_dir() {
            return Err(about(step, &io::Error::other("it is no folder")));
        }
        ownership(&data).check_folder(user, step != folder).map_err(|error| about(step, &error))?;
    }
    Ok(())
}

/// A folder of the user to which nobody else may write. It is made if it does not exist (mode 0700). The result is
/// its path without symbolic links, every folder of which has been checked.
///
/// # Errors
/// The folder that is not acceptable, or the system's error.
pub fn private_folder(path: &Path, user: u32) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    // checked before anything is made in a folder of another user
    if let Some(existing) = path.ancestors().skip(1).find(|folder| folder.exists()) {
        let existing = existing.canonicalize().map_err(|error| about(existing, &error))?;
        check_on_the_way(&existing, user)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&path).map_err(|error| about(&path, &error))?;
    let real = path.canonicalize()?;
    check_folders(&real, user)?;
    // root's own folders are safe, but not the place for an ordinary user's files
    if ownership(&fs::symlink_metadata(&real)?).owner != user {
        return Err(about(&real, &io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user")));
    }
    Ok(real)
}

/// The default folder of caches: `NUMELT_CACHE_DIR` (none if that is empty), otherwise the user's cache directory.
pub fn cache_folder() -> Option<PathBuf> {
    if let Some(own) = std::env::var_os("NUMELT_CACHE_DIR") {
        return (!own.is_empty()).then(|| own.into());
    }
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("numelt"))
}

/// Like [`check_folders`], for a folder that is not the last on the way.
fn check_on_the_way(folder: &Path, user: u32) -> io::Result<()> {
    let data = fs::symlink_metadata(folder).map_err(|error| about(folder, &error))?;
    ownership(&data).check_folder(user, true).map_err(|error| about(folder, &error))?;
    folder.parent().map_or(Ok(()), |parent| check_on_the_way(parent, user))
}

#[cfg(unix)]
pub use unix::{ownership, user};

#[cfg(unix)]
mod unix {
    use super::{Metadata, Ownership};
    use std::os::unix::fs::MetadataExt;

    /// The owner and the mode.
    pub fn ownership(data: &Metadata) -> Ownership {
        Ownership { owner: data.uid(), mode: data.mode() }
    }

    /// The number of the user whose rights this process has.
    pub fn user() -> u32 {
        // SAFETY: the function takes nothing and cannot fail.
        unsafe { libc::geteuid() }
    }
}

#[cfg(not(unix))]
pub use elsewhere::{ownership, user};

/// On systems without owners and modes in Unix's sense, everything is taken to be the user's.
#[cfg(not(unix))]
mod elsewhere {
    use super::{Metadata, Ownership};

    /// The owner and the mode.
    pub fn ownership(_: &Metadata) -> Ownership {
        Ownership { owner: 0, mode: 0 }
    }

    /// The number of the user whose rights this process has.
    pub fn user() -> u32 {
        0
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("numelt-trusted-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        private_folder(&path, user()).unwrap()
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn owners_and_modes() {
        let file = |owner, mode| Ownership { owner, mode }.check_file(7).is_ok();
        assert!(file(7, 0o100_644) && file(7, 0o100_600) && file(ROOT, 0o100_644));
        assert!(!file(8, 0o100_600) && !file(7, 0o100_664) && !file(7, 0o100_646) && !file(ROOT, 0o100_666));
        let way = |owner, mode| Ownership { owner, mode }.check_folder(7, true).is_ok();
        assert!(way(ROOT, 0o41777) && way(7, 0o40700) && way(ROOT, 0o40755));
        assert!(!way(ROOT, 0o40777) && !way(8, 0o41777) && !way(8, 0o40755) && !way(7, 0o40770));
        let last = |mode| Ownership { owner: 7, mode }.check_folder(7, false).is_ok();
        assert!(last(0o40700) && last(0o40755) && !last(0o41777) && !last(0o40775));
        let anybody = |owner, mode| Ownership { owner, mode }.check_owner(7).is_ok();
        assert!(anybody(7, 0o100_664) && anybody(ROOT, 0o100_644) && !anybody(8, 0o100_644) && !anybody(7, 0o100_666));
    }

    #[test]
    fn every_folder_on_the_way_counts() {
        let top = scratch("way");
        let inner = top.join("a/b");
        assert_eq!(private_folder(&inner, user()).unwrap(), inner);
        set_mode(&top.join("a"), 0o770);
        let error = private_folder(&inner, user()).unwrap_err().to_string();
        assert!(error.contains("/a: its group may write"), "{error}");
        let error = private_folder(&inner.join("new"), user()).unwrap_err().to_string();
        assert!(error.contains("/a: its group may write"), "{error}");
        assert!(!inner.join("new").exists());
        set_mode(&top.join("a"), 0o1777);
        assert!(private_folder(&inner, user()).is_ok(), "sticky");
        assert!(private_folder(&top.join("a"), user()).is_err(), "sticky, but the last");
        set_mode(&top.join("a"), 0o700);
        // the folder to which a link leads is what counts
        symlink(&inner, top.join("link")).unwrap();
        assert_eq!(private_folder(&top.join("link/c"), user()).unwrap(), inner.join("c"));
        set_mode(&inner, 0o707);
        assert!(private_folder(&top.join("link/c"), user()).is_err());
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn folders_of_other_users_are_refused() {
        let top = scratch("others");
        fs::create_dir(top.join("theirs")).unwrap();
        // Only root may give a folder away; for everybody else, it is another user who asks.
        let (mut asking, able) = (user(), user() == ROOT);
        if able {
            std::os::unix::fs::chown(top.join("theirs"), Some(12345), None).unwrap();
        } else {
            asking += 1;
        }
        let error = private_folder(&top.join("theirs/mine"), asking).unwrap_err().to_string();
        assert!(error.contains("another user"), "{error}");
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn only_regular_files_of_bounded_length_are_read() {
        let top = scratch("files");
        let whole = |path: &Path, limit| open(path).and_then(|(mut file, data)| read(&mut file, &data, limit));
        let file = top.join("file");
        fs::write(&file, b"four").unwrap();
        assert_eq!(whole(&file, 4).unwrap(), b"four");
        assert!(whole(&file, 3).unwrap_err().to_string().contains("longer than 3"));
        symlink(&file, top.join("link")).unwrap();
        assert!(open(&top.join("link")).is_err() && open(&top).is_err());
        let pipe = std::ffi::CString::new(top.join("pipe").to_str().unwrap()).unwrap();
        // SAFETY: a C string and a mode.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(open(&top.join("pipe")).unwrap_err().to_string().contains("regular"));
        fs::remove_dir_all(top).unwrap();
    }
}
