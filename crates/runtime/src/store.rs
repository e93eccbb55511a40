//! Compiled objects on disk, of all engines.
//!
//! A key contains everything that the code depends on; with it, a later process finds the object. A cache must never
//! cause an error or a wrong result: a file that cannot be read, or that this user's numelt has not written for this
//! key, is ignored, and the object is compiled again.
//!
//! An object becomes machine code of this process. So each file contains a keyed hash that can be computed only by
//! somebody who can read the user's secret ([`Secret`]). A file that an archive or another user brought here does not
//! have this hash, whatever its owner and mode are. The directory is private (mode 0700), and nobody else may write to
//! a folder on the way to it. Files are put in place by renaming, so that readers never see a half-written one.
//!
//! A file consists of: magic, key length and object length (u64 each, little-endian), the keyed hash of everything else
//! (32 bytes), key, object.

mod secret;

pub use secret::{Secret, default_file};

use crate::trusted;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"numeltK2");
/// The size in bytes of the magic and the two lengths.
const LENGTHS: usize = 24;
/// The number of bytes before the key.
const HEADER: usize = LENGTHS + blake3::OUT_LEN;
/// The size in bytes of the longest file that is read; objects usually have about ten thousand.
const LONGEST: u64 = 64 << 20;

/// The initial state of FNV-1a.
pub const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;

/// FNV-1a, continued from `state`.
pub const fn fnv(bytes: &[u8], mut state: u64) -> u64 {
    let mut i = 0;
    while i < bytes.len() {
        state = (state ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01B3);
        i += 1;
    }
    state
}

/// A directory of objects, in folders by the first bits of their names.
///
/// The limit on the size of all files is divided equally among the folders. A save examines only its own folder, which
/// has a hundred files or two instead of tens of thousands, and relies on no counts that another process could make
/// wrong.
pub struct Store {
    directory: PathBuf,
    /// The number of folders, a power of two.
    folders: u64,
    /// The most bytes that the files of a folder may take; the oldest are removed first.
    share: u64,
    secret: Secret,
}

impl Store {
    /// Opens the private directory `kernels` under `parent`, and makes it if necessary. Its files may take `limit`
    /// bytes.
    ///
    /// # Errors
    /// The system's errors, and an error if others may write there.
    pub fn open(parent: &Path, secret: Secret, limit: u64) -> io::Result<Store> {
        let directory = trusted::private_folder(&parent.join("kernels"), trusted::user())?;
        // A megabyte holds about a hundred objects: enough for the folders to fill evenly.
        let folders = 1 << (limit >> 20).clamp(1, 256).ilog2();
        Ok(Store { directory, folders, share: limit / folders, secret })
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        let (a, b) = (fnv(key, FNV_OFFSET), fnv(key, !FNV_OFFSET));
        let folder = format!("{:02x}", b % self.folders);
        self.directory.join(folder).join(format!("{a:016x}{b:016x}.o"))
    }

    /// The object that was saved for `key`, if its file is intact and this user's numelt has written it.
    pub fn load(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (mut file, data) = trusted::open(&self.path(key)).ok()?;
        trusted::ownership(&data).check_file(trusted::user()).ok()?;
        let mut bytes = trusted::read(&mut file, &data, LONGEST).ok()?;
        let start = decode(&bytes, key, &self.secret)?;
        bytes.drain(..start);
        Some(bytes)
    }

    /// Saves an object; an older one for the same key is replaced.
    ///
    /// # Errors
    /// The system's errors.
    pub fn save(&self, key: &[u8], object: &[u8]) -> io::Result<()> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        // two containers may share the directory and have the same process number
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.directory);
        match create_folder(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            // a link would lead to files that must not be removed here
            Err(_) if !fs::symlink_metadata(folder)?.is_dir() => return Err(io::Error::other("it is no folder")),
            _ => {}
        }
        let temporary = folder.join(format!(".{}-{serial}-{now}", std::process::id()));
        let bytes = encode(key, object, &self.secret);
        let written = trusted::write_new(&temporary, &bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        self.shrink(folder)
    }

    /// If a folder exceeds its share, removes its oldest files until at most three quarters of the share are used. The
    /// newest file always stays.
    fn shrink(&self, folder: &Path) -> io::Result<()> {
        let mut files = files(folder)?;
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        if total <= self.share {
            return Ok(());
        }
        files.sort();
        files.pop();
        for (_, size, path) in files {
            if total <= self.share / 4 * 3 {
                break;
            }
            // another process may have removed it already
            let _ = fs::remove_file(path);
            total -= size;
        }
        Ok(())
    }
}

/// Modification time, size and path of every file in a folder.
fn files(folder: &Path) -> io::Result<Vec<(std::time::SystemTime, u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(data) = entry.metadata() else { continue };
        if data.is_file() {
            files.push((data.modified()?, data.len(), entry.path()));
        }
    }
    Ok(files)
}

/// The keyed hash of everything in a file except the hash itself.
fn mac(lengths: &[u8], key: &[u8], object: &[u8], secret: &Secret) -> blake3::Hash {
    blake3::Hasher::new_keyed(secret.bytes()).update(lengths).update(key).update(object).finalize()
}

fn encode(key: &[u8], object: &[u8], secret: &Secret) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + key.len() + object.len());
    for word in [MAGIC, key.len() as u64, object.len() as u64] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let mac = mac(&bytes, key, object, secret);
    bytes.extend_from_slice(mac.as_bytes());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(object);
    bytes
}

/// The position of the object in a file that was encoded for this key with this secret.
fn decode(bytes: &[u8], key: &[u8], secret: &Secret) -> Option<usize> {
    let word = |i: usize| Some(u64::from_le_bytes(bytes.get(8 * i..8 * i + 8)?.try_into().ok()?));
    let (magic, key_length, length) = (word(0)?, word(1)?, word(2)?);
    let own_mac: [u8; blake3::OUT_LEN] = bytes.get(LENGTHS..HEADER)?.try_into().ok()?;
    let rest = &bytes[HEADER..];
    if magic != MAGIC || key_length != key.len() as u64 || rest.len() as u64 != key_length.checked_add(length)? {
        return None;
    }
    let (own_key, object) = rest.split_at(key.len());
    // hashes are compared in constant time
    let ours = own_key == key && mac(&bytes[..LENGTHS], key, object, secret) == own_mac;
    ours.then_some(HEADER + key.len())
}

/// Makes a private folder in an existing one.
#[cfg(unix)]
fn create_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("numelt-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn open(parent: &Path, limit: u64) -> io::Result<Store> {
        Store::open(parent, Secret::of_test(1), limit)
    }

    #[test]
    fn objects_come_back_until_they_are_damaged() {
        let parent = scratch("damage");
        let store = open(&parent, 1 << 20).unwrap();
        assert_eq!(store.load(b"key"), None);
        store.save(b"key", b"object").unwrap();
        assert_eq!(store.load(b"key").as_deref(), Some(&b"object"[..]));
        assert_eq!(store.load(b"kez"), None);
        let path = store.path(b"key");
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            assert_eq!(store.load(b"key"), None, "byte {at}");
            fs::write(&path, &good[..at]).unwrap();
            assert_eq!(store.load(b"key"), None, "cut at {at}");
        }
        fs::remove_dir_all(parent).unwrap();
    }

    /// The bytes of all files in all folders.
    fn total(parent: &Path) -> u64 {
        let folders = fs::read_dir(parent.join("kernels")).unwrap().map(|folder| folder.unwrap().path());
        folders.flat_map(|folder| files(&folder).unwrap()).map(|(_, size, _)| size).sum()
    }

    #[test]
    fn the_oldest_objects_go_first() {
        let parent = scratch("limit");
        let store = open(&parent, 4000).unwrap();
        for k in 0..20u8 {
            store.save(&[k], &[k; 500]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(total(&parent) <= 4000, "{}", total(&parent));
        assert_eq!(store.load(&[0]), None);
        assert!(store.load(&[19]).is_some());
        // an object larger than the whole limit is kept, as the only one
        store.save(b"large", &[1; 5000]).unwrap();
        assert!(store.load(b"large").is_some() && store.load(&[19]).is_none());
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn folders_share_the_room_and_processes_the_folders() {
        let parent = scratch("shares");
        let limit = 8 << 20;
        let object = vec![7; 20_000];
        // stores in different processes do not know of each other; here, threads stand for the processes
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let (parent, object) = (&parent, &object);
                scope.spawn(move || {
                    for k in 0..150u32 {
                        let store = open(parent, limit).unwrap();
                        let key = [thread.to_le_bytes(), k.to_le_bytes()].concat();
                        store.save(&key, object).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.join("kernels")).unwrap().count(), 8);
        // 12 MB have been saved. A full folder is shrunk to a quarter of the limit or more.
        let kept = total(&parent);
        assert!(kept <= limit && kept >= limit / 4, "{kept}");
        assert!(open(&parent, limit).unwrap().load(&[3u32.to_le_bytes(), 149u32.to_le_bytes()].concat()).is_some());
        fs::remove_dir_all(parent).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let parent = scratch("foreign");
        let store = open(&parent, 1 << 20).unwrap();
        let mode = fs::metadata(parent.join("kernels")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        store.save(b"key", b"object").unwrap();
        fs::set_permissions(store.path(b"key"), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(store.load(b"key"), None);
        fs::set_permissions(parent.join("kernels"), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(open(&parent, 1 << 20).is_err());
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn an_object_with_the_right_checksum_and_no_key_is_refused() {
        let parent = scratch("forged");
        let store = open(&parent, 1 << 20).unwrap();
        store.save(b"key", b"object").unwrap();
        let path = store.path(b"key");
        // everything but the secret is correct: owner, mode, magic, lengths, and a hash that fits
        let forged = encode(b"key", b"forged", &Secret::of_test(2));
        fs::write(&path, &forged).unwrap();
        assert_eq!(store.load(b"key"), None);
        fs::write(&path, encode(b"key", b"forged", &Secret::of_test(1))).unwrap();
        assert_eq!(store.load(b"key").as_deref(), Some(&b"forged"[..]), "only the secret made the difference");
        // the valid object of one key in place of that of another
        store.save(b"other", b"other object").unwrap();
        fs::copy(store.path(b"other"), &path).unwrap();
        assert_eq!(store.load(b"key"), None);
        fs::remove_dir_all(parent).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_neither_read_nor_followed() {
        let parent = scratch("pipes");
        let store = open(&parent, 1 << 20).unwrap();
        store.save(b"key", b"object").unwrap();
        let path = store.path(b"key");
        fs::rename(&path, parent.join("moved")).unwrap();
        std::os::unix::fs::symlink(parent.join("moved"), &path).unwrap();
        assert_eq!(store.load(b"key"), None);
        fs::remove_file(&path).unwrap();
        let pipe = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the arguments are a C string and a mode.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(store.load(b"key"), None);
        store.save(b"key", b"object").unwrap();
        assert!(store.load(b"key").is_some(), "the pipe is replaced");
        // if a folder is a link to another one, nothing there is removed
        let (folder, elsewhere) = (path.parent().unwrap(), parent.join("elsewhere"));
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("precious"), vec![0; 2 << 20]).unwrap();
        fs::remove_dir_all(folder).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder).unwrap();
        assert!(store.save(b"key", b"object").is_err() && elsewhere.join("precious").exists());
        fs::remove_dir_all(parent).unwrap();
    }
}
