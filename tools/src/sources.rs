//! The files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What the folder has with one of these endings, in the order of their names. The ending of a name
/// without one is empty.
pub fn with_endings(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| {
        let ending = file.extension().unwrap_or_default();
        endings.iter().any(|wanted| ending == *wanted)
    });
    files.sort();
    Ok(files)
}

/// The Rust files in the folder and below it, for tests that read the source. A folder that cannot be read is a panic.
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
