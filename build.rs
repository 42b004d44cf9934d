//! Gives the shared library its soname, and checks that the hand-kept header and the exported
//! functions agree.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/ffi");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsched.so.1");
    // A task may still be running when a program closes the library; it must stay mapped.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");

    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let generated =
        PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("sched_abi.h");
    let prototypes = generate(&root);
    fs::write(&generated, &prototypes).expect("OUT_DIR can be written");
    compare(&root.join("include/sched.h"), &prototypes);
}

/// The C prototypes of what src/ffi exports.
fn generate(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/ffi/mod.rs"))
        .generate()
        .expect("cbindgen reads src/ffi");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).expect("cbindgen writes UTF-8")
}

/// Each prototype must stand in the header, but for white space.
fn compare(header: &Path, prototypes: &str) {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = squeeze(&fs::read_to_string(header).expect("the header can be read"));
    let mut found = 0;
    for line in prototypes.lines().map(squeeze).filter(|line| line.ends_with(");")) {
        assert!(text.contains(&line), "{} lacks or contradicts: {line}", header.display());
        found += 1;
    }
    assert!(found >= 3, "cbindgen found {found} of the exported functions:\n{prototypes}");
}
