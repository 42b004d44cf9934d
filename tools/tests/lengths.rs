//! Checks the sizes of the library's files: a file above [`LONG`] lines says in the first paragraph of
//! its documentation why it is one file.

use std::fs;
use std::path::Path;

/// Longer files give a reason.
const LONG: usize = 400;

/// The words that precede a reason, and the least number of words in it.
const GIVES_REASON: &str = "This is one file because ";
const WORDS: usize = 6;

/// The first paragraph of a file's documentation, in one line.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
    lines.collect::<Vec<_>>().join(" ")
}

/// True if the file is short, or says why it is not.
fn may_be_as_long(text: &str) -> bool {
    let paragraph = first_paragraph(text);
    text.lines().count() <= LONG
        || paragraph
            .split_once(GIVES_REASON)
            .is_some_and(|(_, reason)| reason.split_whitespace().count() >= WORDS)
}

#[test]
fn a_long_file_says_why_it_is_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let mut files = sched_tools::sources::of_rust(&root);
    assert!(files.len() > 100, "the library has {} files", files.len());
    files.retain(|path| !may_be_as_long(&fs::read_to_string(path).expect("it can be read")));
    assert!(
        files.is_empty(),
        "above {LONG} lines, and without \"{GIVES_REASON}...\" in the first paragraph: {files:#?}"
    );
}

#[test]
fn a_reason_stands_in_the_first_paragraph() {
    let file = |head: &str, lines: usize| format!("{head}{}", "\n".repeat(lines));
    let reason = "//! A queue. This is one file because its\n//! proof is read beside its code.\n";
    assert!(may_be_as_long(&file("", LONG)));
    assert!(!may_be_as_long(&file("//! A queue.\n", LONG)));
    assert!(may_be_as_long(&file(reason, LONG)));
    assert!(!may_be_as_long(&file(&format!("//! A queue.\n//!\n{reason}"), LONG)));
    assert!(!may_be_as_long(&file("//! This is one file because it is long.\n", LONG)));
}
