//! Gives the shared library its soname, and checks that the headers and the exported functions
//! agree: the hand-kept sched.h, and sched_tasks.h, which is made from the source. Finds out what a
//! debugger must know of Rust's library.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::{env, fs, mem};

fn main() {
    println!("cargo::rerun-if-changed=src/ffi");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed=cbindgen_tasks.toml");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsched.so.1");
    // A task may still be running when a program closes the library; it must stay mapped.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");

    println!("cargo::rustc-env=LIBSCHED_VEC_DEQUE_LEN={}", word_of_vec_deque_len());

    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let prototypes = generate(&root, "cbindgen.toml", &["course"]);
    let tasks = generate(
        &root,
        "cbindgen_tasks.toml",
        &["tasks", "groups", "loops", "block", "sync", "pool", "stats"],
    );
    fs::write(out.join("sched_abi.h"), format!("{prototypes}\n{tasks}")).expect("OUT_DIR is ours");
    compare(&root.join("include/sched.h"), &prototypes);
    keep(&root.join("include/sched_tasks.h"), &with_version(&in_c_terms(&tasks)));
}

/// Which word of a `VecDeque` is its length. Rust orders the fields of a type as it likes, but in the
/// same way for this program and for the library, and a debugger must know.
fn word_of_vec_deque_len() -> usize {
    const WORDS: usize = size_of::<VecDeque<usize>>() / size_of::<usize>();
    let mut queue = VecDeque::with_capacity(100);
    queue.extend(0..50_usize);
    queue.drain(..20);
    // SAFETY: a `VecDeque` has so many words, and all of them are initialised: a pointer and three
    // numbers.
    let words: [usize; WORDS] = unsafe { mem::transmute_copy(&queue) };
    words.iter().position(|&word| word == queue.len()).expect("it keeps its length in a word")
}

/// The C declarations of what files of src/ffi export.
fn generate(root: &Path, config: &str, sources: &[&str]) -> String {
    let config = cbindgen::Config::from_file(root.join(config)).expect("a file of ours");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(root.join(format!("src/ffi/{source}.rs")));
    }
    let bindings = builder.generate().expect("cbindgen reads src/ffi");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).expect("cbindgen writes UTF-8")
}

/// In the style of the hand-kept header, and without what the comments say to Rust alone: their
/// last section, on safety.
fn in_c_terms(header: &str) -> String {
    let mut text = String::new();
    let (mut skip, mut last_defines) = (false, false);
    for line in header.lines() {
        if line.starts_with("#define") && text.ends_with("\n\n") && last_defines {
            text.pop(); // values of one list
        }
        last_defines = line.starts_with("#define") || (last_defines && line.is_empty());
        skip = (skip || line == " * # Safety") && line != " */";
        if !skip {
            text.push_str(line.split("  //").next().unwrap_or(line).trim_end());
            text.push('\n');
        }
    }
    for (ugly, plain) in [
        ("/**\n * ", "/* "),
        ("\n *\n */", " */"),
        ("\n */", " */"),
        ("/**\n   * ", "/* "),
        ("\n   */", " */"),
        (" // __cplusplus", ""),
        ("  /* LIBSCHED_SCHED_TASKS_H */", ""),
    ] {
        text = text.replace(ugly, plain);
    }
    text
}

/// With the version of Cargo.toml, as a number and as a string.
fn with_version(header: &str) -> String {
    let part = |name: &str| -> u32 {
        let text = env::var(format!("CARGO_PKG_VERSION_{name}")).expect("set by cargo");
        text.parse().expect("three numbers")
    };
    let number = part("MAJOR") * 10000 + part("MINOR") * 100 + part("PATCH");
    header
        .replace("@VERSION_NUMBER@", &number.to_string())
        .replace("@VERSION_STRING@", &env::var("CARGO_PKG_VERSION").expect("set by cargo"))
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

/// The header in the tree is the one made just now; `make headers` writes it.
fn keep(header: &Path, text: &str) {
    println!("cargo::rerun-if-env-changed=LIBSCHED_WRITE_HEADERS");
    if env::var_os("LIBSCHED_WRITE_HEADERS").is_some() {
        fs::write(header, text).expect("the header can be written");
    }
    let kept = fs::read_to_string(header).unwrap_or_default();
    assert!(kept == text, "{} differs from src/ffi: make headers", header.display());
}
