//! Runs every case under tests/filetests in the repository root.

use std::path::Path;

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let bless = std::env::var_os("NUMELT_BLESS").is_some_and(|v| v == "1");
    match numelt_testing::filetest::run_folder(&folder, bless) {
        Ok(count) => assert!(count > 0, "no cases found"),
        Err(message) => panic!("{message}\nNUMELT_BLESS=1 accepts what was found"),
    }
}
