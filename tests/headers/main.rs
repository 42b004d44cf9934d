//! The headers and the exported functions agree. cbindgen reads `src/ffi`; each prototype that it
//! finds for the course's interface stands in `include/sched.h`, which is kept by hand, and
//! `include/sched_tasks.h` and `include/sched_io.h` are what it makes of the rest. `make headers`
//! runs these tests with LIBSCHED_WRITE_HEADERS, and so writes these headers.
//!
//! A C compiler reads what cbindgen has found after `sched.h`, and finds no contradiction.
//!
//! These are tests, and no part of the build: whoever builds the library compiles no cbindgen, whose
//! crates take longer to compile than the library does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const COURSE: (&str, &[&str]) = ("course.toml", &["course"]);
const TASKS: (&str, &[&str]) = (
    "tasks.toml",
    &[
        "tasks", "groups", "loops", "scan", "block", "sync", "time", "channel", "nodes", "graphs",
        "pool", "levels", "stats",
    ],
);
const IO: (&str, &[&str]) = ("io.toml", &["io"]);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The C declarations of what files of src/ffi export.
fn generate((config, sources): (&str, &[&str])) -> String {
    let config = cbindgen::Config::from_file(root().join("tests/headers").join(config))
        .expect("a file of ours");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(root().join(format!("src/ffi/{source}.rs")));
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
        ("  /* LIBSCHED_SCHED_IO_H */", ""),
        (LAST_ENDIF_AND_TRAILER, TRAILER_AND_LAST_ENDIF),
    ] {
        text = text.replace(ugly, plain);
    }
    text
}

/// cbindgen writes the trailer behind the include guard. It belongs to what the guard guards.
const LAST_ENDIF_AND_TRAILER: &str = "\
#endif

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
";
const TRAILER_AND_LAST_ENDIF: &str = "\
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif
";

/// With the version of Cargo.toml, as a number and as a string.
fn with_version(header: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let parts = version.split('.').map(|part| part.parse::<u32>().expect("three numbers"));
    let number = parts.fold(0, |number, part| number * 100 + part);
    header.replace("@VERSION_NUMBER@", &number.to_string()).replace("@VERSION_STRING@", version)
}

/// Each prototype must stand in the header, but for white space. Returns how many there are.
fn compare(header: &Path, prototypes: &str) -> usize {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = squeeze(&fs::read_to_string(header).expect("the header can be read"));
    let found = prototypes.lines().map(squeeze).filter(|line| line.ends_with(");"));
    found
        .inspect(|line| {
            assert!(text.contains(line), "{} lacks or contradicts: {line}", header.display());
        })
        .count()
}

#[test]
fn the_prototypes_of_the_source_stand_in_the_header_kept_by_hand() {
    let prototypes = generate(COURSE);
    let found = compare(&root().join("include/sched.h"), &prototypes);
    assert!(found >= 3, "cbindgen found {found} of the exported functions:\n{prototypes}");
}

#[test]
fn the_other_headers_are_made_of_the_source() {
    for (name, what) in [("sched_tasks.h", TASKS), ("sched_io.h", IO)] {
        let header = root().join("include").join(name);
        let text = with_version(&in_c_terms(&generate(what)));
        if env::var_os("LIBSCHED_WRITE_HEADERS").is_some() {
            fs::write(&header, &text).expect("the header can be written");
        }
        let kept = fs::read_to_string(&header).unwrap_or_default();
        assert!(kept == text, "{} differs from src/ffi: make headers", header.display());
    }
}

#[test]
fn a_c_compiler_finds_no_contradiction() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(folder).expect("a folder of ours");
    let source = folder.join("abi.c");
    // cbindgen's come second, because they do not declare the types.
    let text =
        format!("#include <sched.h>\n{}\n{}\n{}", generate(COURSE), generate(TASKS), generate(IO));
    fs::write(&source, text).expect("a folder of ours");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut words = cc.split_whitespace();
    let mut compiler = Command::new(words.next().expect("CC names a compiler"));
    compiler.args(words).args(["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-I").arg(root().join("include")).arg(&source);
    let out = compiler.output().unwrap_or_else(|error| panic!("{cc}: {error}"));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}
