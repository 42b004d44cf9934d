//! The files of a folder, for tests that read the source.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust files in the folder and below it. A folder that cannot be read is a panic.
pub fn of_rust(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.extend(of_rust(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}
