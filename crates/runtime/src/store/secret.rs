//! The secret with which compiled objects on disk are signed.
//!
//! It is a file of 32 bytes in the user's state folder, made from the system's random source if there is none yet. Only
//! the user can read the file (mode 0600), and it is not in the folder of the objects: somebody who provides a cache of
//! objects cannot provide the secret with it.

use crate::trusted;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The key of a keyed hash.
pub struct Secret([u8; blake3::KEY_LEN]);

impl Secret {
    /// Reads the secret, and makes it first if there is none.
    ///
    /// # Errors
    /// The system's errors, and an error if others may read or write the file.
    pub fn open(path: &Path) -> io::Result<Secret> {
        match Secret::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(path)?;
                Secret::read(path)
            }
            outcome => outcome,
        }
    }

    fn read(path: &Path) -> io::Result<Secret> {
        let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
        trusted::check_folders(&folder.canonicalize()?, trusted::user())?;
        let (mut file, data) = trusted::open(path)?;
        let ownership = trusted::ownership(&data);
        ownership.check_file(trusted::user())?;
        if ownership.owner != trusted::user() || ownership.mode & 0o077 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users may read it"));
        }
        let bytes = trusted::read(&mut file, &data, blake3::KEY_LEN as u64)?;
        let bytes = bytes.try_into().map_err(|_| io::Error::other("it is too short for a key"))?;
        Ok(Secret(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8; blake3::KEY_LEN] {
        &self.0
    }

    /// A secret that everybody knows, for tests.
    #[cfg(test)]
    pub(super) fn of_test(byte: u8) -> Secret {
        Secret([byte; blake3::KEY_LEN])
    }
}

/// Makes the file in one step. If another process has made it first, the file of that process stays.
fn create(path: &Path) -> io::Result<()> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let missing = || io::Error::other("it has no folder");
    let folder = trusted::private_folder(path.parent().ok_or_else(missing)?, trusted::user())?;
    let path = folder.join(path.file_name().ok_or_else(missing)?);
    let mut bytes = [0; blake3::KEY_LEN];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{}-{serial}-{now}", std::process::id()));
    let made = trusted::write_new(&temporary, &bytes).and_then(|()| match fs::hard_link(&temporary, &path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // a file system without hard links
        Err(_) if !path.exists() => fs::rename(&temporary, &path),
        outcome => outcome,
    });
    let _ = fs::remove_file(&temporary);
    made
}

/// The path of the secret, in the user's state folder.
pub fn default_file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("numelt/cache.key"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("numelt-secret-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path.join("state/cache.key")
    }

    fn clean(path: &Path) {
        fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
    }

    #[test]
    fn it_is_made_once_and_for_the_user_alone() {
        let path = scratch("made");
        // several threads stand for several processes
        let secrets: Vec<Secret> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..8).map(|_| scope.spawn(|| Secret::open(&path).unwrap())).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert!(secrets.iter().all(|secret| secret.0 == secrets[0].0) && secrets[0].0 != [0; blake3::KEY_LEN]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
        let other = scratch("another");
        assert_ne!(Secret::open(&other).unwrap().0, secrets[0].0);
        clean(&path);
        clean(&other);
    }

    #[test]
    fn it_is_not_taken_from_where_others_reach() {
        let path = scratch("reach");
        Secret::open(&path).unwrap();
        let set_mode = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let why = || Secret::open(&path).err().map(|error| error.to_string()).unwrap_or_default();
        set_mode(&path, 0o640);
        assert!(why().contains("other users may read it"), "{}", why());
        set_mode(&path, 0o600);
        set_mode(path.parent().unwrap(), 0o770);
        assert!(why().contains("its group may write"), "{}", why());
        set_mode(path.parent().unwrap(), 0o700);
        fs::write(&path, [1; 31]).unwrap();
        assert!(why().contains("too short"), "{}", why());
        fs::write(&path, [1; 33]).unwrap();
        assert!(why().contains("longer"), "{}", why());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(!why().is_empty(), "a link");
        fs::remove_file(&path).unwrap();
        let pipe = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the arguments are a C string and a mode.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(why().contains("regular"), "{}", why());
        clean(&path);
    }
}
