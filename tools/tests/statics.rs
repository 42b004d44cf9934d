//! Checks that each static of the library that changes lies in the section `sched_words`. Helgrind
//! is told that all of this section is the library's (`src/sys/detector.rs`); a static elsewhere
//! would be reported as a race of the program.
//!
//! A static that changes has a type that says so: an atomic, a mutex and the like. Thread-local
//! variables are each thread's own.

use std::fs;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemStatic, Macro};

/// The words in the types of statics that change.
const CHANGING: [&str; 8] =
    ["Atomic", "Mutex", "OnceLock", "Futex", "Registry", "Word", "Outside", "Requests"];

/// Told by other means, where its comment says.
const ELSEWHERE: [&str; 1] = ["STORE"];

#[derive(Default)]
struct Statics {
    /// How many change.
    count: usize,
    faults: Vec<String>,
}

impl<'a> Visit<'a> for Statics {
    fn visit_item_static(&mut self, item: &'a ItemStatic) {
        let ty = quoted(&item.ty);
        if CHANGING.iter().any(|word| ty.contains(word)) {
            self.count += 1;
            let name = item.ident.to_string();
            if !item.attrs.iter().any(is_section) && !ELSEWHERE.contains(&name.as_str()) {
                self.faults.push(format!("{name}: #[unsafe(link_section = \"sched_words\")]"));
            }
        }
        visit::visit_item_static(self, item);
    }

    fn visit_macro(&mut self, _: &'a Macro) {} // thread_local!
}

fn quoted(ty: &syn::Type) -> String {
    struct Words(String);
    impl<'a> Visit<'a> for Words {
        fn visit_ident(&mut self, ident: &'a proc_macro2::Ident) {
            self.0.push_str(&ident.to_string());
            self.0.push(' ');
        }
    }
    let mut words = Words(String::new());
    words.visit_type(ty);
    words.0
}

fn is_section(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    list.tokens.to_string().contains("link_section = \"sched_words\"")
}

fn read(text: &str) -> Statics {
    let mut statics = Statics::default();
    statics.visit_file(&syn::parse_file(text).expect("it is Rust"));
    statics
}

#[test]
fn each_static_that_changes_is_told_to_helgrind() {
    let files =
        sched_tools::sources::of_rust(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"));
    let (mut count, mut faults) = (0, Vec::new());
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let statics = read(&fs::read_to_string(file).expect("it can be read"));
        count += statics.count;
        faults.extend(statics.faults.iter().map(|fault| format!("{}: {fault}", file.display())));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 50, "{count} statics found: the types that change have other names now");
}

#[test]
fn a_planted_static_is_found() {
    let text = "mod m { fn f() { static SEEN: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2]; } }";
    assert_eq!(read(text).faults.len(), 1);
    let text =
        "#[unsafe(link_section = \"sched_words\")] pub static N: AtomicUsize = AtomicUsize::new(0);
                static NAMES: [&str; 1] = [\"\"];";
    assert!(read(text).faults.is_empty());
}
