//! Tests the command line: programs are converted from text to binary form and back.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const TEXT: &str = "\
base %0 24 in
base %1 24 out
const $0 = f64 nan:fff8000000000001
%1[f64 (3)] = fmax.f64 %0[f64 +16 (3):(-8)], $0
";

/// The outcome of the tool with these arguments and these bytes on its standard input.
fn tool(args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numelt-tool"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // a tool that reports an error in its arguments does not read its input
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The standard output of a run that succeeds.
fn bytes(args: &[&str], input: &[u8]) -> Vec<u8> {
    let output = tool(args, input);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn text(args: &[&str], input: &[u8]) -> String {
    String::from_utf8(bytes(args, input)).unwrap()
}

/// The error message of a run that fails.
fn failure(args: &[&str], input: &[u8]) -> String {
    let output = tool(args, input);
    assert!(!output.status.success() && output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The path of a file for this test run.
fn file(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("tool-{}-{name}", std::process::id())).to_str().unwrap().to_string()
}

#[test]
fn files_are_packed_and_printed() {
    let (source, packed) = (file("program.txt"), file("program.nmlt"));
    std::fs::write(&source, TEXT).unwrap();
    assert_eq!(bytes(&["pack", &source, &packed], b""), b"");
    let message = std::fs::read(&packed).unwrap();
    assert_eq!(bytes(&["pack", &source], b""), message);
    assert_eq!(bytes(&["pack"], TEXT.as_bytes()), message);
    assert_eq!(bytes(&["pack", "-", "-"], &message), message);
    for args in [&["cat", &source][..], &["cat", &packed], &["cat", "-"]] {
        assert_eq!(text(args, &message), TEXT);
    }
    assert_eq!(text(&["verify", &packed], b""), "valid\n");
    assert_eq!(text(&["opt", &packed], b""), text(&["opt", &source], b""));
    [source, packed].iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[test]
fn contents_stay_with_the_program() {
    let packed = bytes(&["pack", "--contents", "--seed", "5"], TEXT.as_bytes());
    let result = text(&["run", "--seed", "5"], TEXT.as_bytes());
    assert_ne!(text(&["run", "--seed", "6"], TEXT.as_bytes()), result);
    // the data of the file whatever the seed is, also after it has been packed again
    assert_eq!(text(&["run", "--seed", "6"], &packed), result);
    assert_eq!(bytes(&["pack", "--contents", "--seed", "6"], &packed), packed);
    let without = bytes(&["pack"], &packed);
    assert_eq!(without.len() + 24, packed.len());
    assert_ne!(text(&["run", "--seed", "6"], &without), result);
}

#[test]
fn what_is_no_program_is_refused() {
    let packed = bytes(&["pack"], TEXT.as_bytes());
    let mut damaged = packed.clone();
    damaged[30] ^= 1;
    assert!(failure(&["cat"], &damaged).contains("damaged"));
    assert!(failure(&["cat"], &packed[..packed.len() - 1]).contains("its header says"));
    assert!(failure(&["cat"], b"\xff\xfe").contains("neither"));
    let mut newer = packed;
    newer[4] = 9;
    assert!(failure(&["run"], &newer).contains("version 9"));
    assert!(failure(&["pack"], b"%0[f64 (3)] = add.f64 %0[f64 (3)], %0[f64 (3)]").contains("base %0 does not exist"));
    assert!(failure(&["cat", "a", "b"], b"").contains("one file too many"));
}
