//! Checks the rule of the house: in no crate do files import each other in a circle, and in the
//! library no floor imports a higher one.
//!
//! The floors are the modules that `src/lib.rs` declares, the lowest first. An import is a path to
//! an item of another file, in a `use` or in code. A `pub use` is no import: it gives an item a
//! second name, and a path by that name leads to the file of the item. A directory is one node for
//! the files beside it; so a circle of directories is found, too. Tests within a file (`cfg(test)`)
//! may import anything.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// A path in segments: a module, or an item of one.
type Name = Vec<String>;

/// What one file says.
#[derive(Default)]
struct Module {
    /// The names that its `use` declarations bind, with the paths that they stand for.
    names: BTreeMap<String, Name>,
    /// The paths in its code and in its private `use` declarations, each with its line.
    paths: Vec<(Name, usize)>,
}

/// The modules of a crate, in the order of their declarations.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Name, Module>,
    order: Vec<Name>,
}

/// From one module to another: the path that imports, and its line.
type Imports = BTreeMap<(Name, Name), (Name, usize)>;

impl<'a> Visit<'a> for Module {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_test(item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let is_import = matches!(item.vis, Visibility::Inherited);
        flatten(&item.tree, &mut Name::new(), &mut |bound, path, line| {
            if is_import {
                self.paths.push((path.clone(), line));
            }
            self.names.insert(bound, path);
        });
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let line = path.segments[0].ident.span().start().line;
            self.paths.push((path.segments.iter().map(|s| s.ident.to_string()).collect(), line));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.read_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Module {
    /// Finds paths among tokens that are no syntax tree yet: the arguments and bodies of macros.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut line, mut colons) = (Name::new(), 0, 0);
        let mut end = |path: &mut Name, line| {
            let path = std::mem::take(path);
            if path.len() > 1 {
                self.paths.push((path, line));
            }
        };
        let mut groups = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        end(&mut path, line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                }
                TokenTree::Group(group) => {
                    end(&mut path, line);
                    groups.push(group.stream());
                }
                _ => end(&mut path, line),
            }
            colons = 0;
        }
        end(&mut path, line);
        groups.into_iter().for_each(|group| self.read_tokens(group));
    }
}

fn is_test(item: &ItemMod) -> bool {
    let says_test = |attribute: &syn::Attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg")
            && list
                .tokens
                .to_string()
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == "test")
    };
    item.attrs.iter().any(says_test)
}

/// Calls `found` with each name that a `use` binds, the path that it stands for, and the line.
fn flatten(tree: &UseTree, before: &mut Name, found: &mut impl FnMut(String, Name, usize)) {
    let joined = |last: &syn::Ident| {
        let mut path = before.clone();
        path.extend((last != "self").then(|| last.to_string()));
        path
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|item| flatten(item, before, found)),
        UseTree::Glob(glob) => {
            found("*".into(), before.clone(), glob.star_token.spans[0].start().line)
        }
        UseTree::Name(name) => {
            let path = joined(&name.ident);
            found(path.last().cloned().unwrap_or_default(), path, name.ident.span().start().line);
        }
        UseTree::Rename(name) => {
            found(name.rename.to_string(), joined(&name.ident), name.ident.span().start().line);
        }
    }
}

impl Crate {
    /// Reads the crate whose first file is `root`.
    fn read(root: &Path) -> Crate {
        let mut read = Crate::default();
        read.add(root, Name::new());
        read
    }

    fn add(&mut self, file: &Path, name: Name) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let syntax = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut module = Module::default();
        module.visit_file(&syntax);
        self.modules.insert(name.clone(), module);
        let is_root = |stem: &str| matches!(stem, "lib" | "main" | "mod");
        let own = file.parent().expect("a file lies in a directory");
        let stem = file.file_stem().and_then(|s| s.to_str()).expect("names are UTF-8");
        let children = if is_root(stem) { own.to_path_buf() } else { own.join(stem) };
        for item in syntax.items {
            let Item::Mod(item) = item else { continue };
            if item.content.is_some() || is_test(&item) {
                continue;
            }
            let mut child = name.clone();
            child.push(item.ident.to_string());
            self.order.push(child.clone());
            let beside = children.join(format!("{}.rs", item.ident));
            let within = children.join(item.ident.to_string()).join("mod.rs");
            self.add(if beside.exists() { &beside } else { &within }, child);
        }
    }

    /// The module whose file has the item that module `from` names by this path. None: the item is
    /// of another crate, or of the same file.
    fn resolve(&self, from: &Name, path: &[String], depth: usize) -> Option<Name> {
        let (first, mut rest) = path.split_first()?;
        let mut at = from.clone();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
                while rest.first().is_some_and(|segment| segment == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            _ => rest = path,
        }
        let is_relative = rest.len() == path.len();
        let mut moved = !is_relative;
        while let Some(segment) = rest.first() {
            let mut child = at.clone();
            child.push(segment.clone());
            if self.modules.contains_key(&child) {
                (at, rest, moved) = (child, &rest[1..], true);
                continue;
            }
            // A name that a `use` of this module binds.
            let bound = self.modules[&at].names.get(segment).filter(|&bound| bound != path);
            if let Some(bound) = bound.filter(|_| depth < 16) {
                let whole: Name = bound.iter().chain(&rest[1..]).cloned().collect();
                return self.resolve(&at, &whole, depth + 1).or(moved.then_some(at));
            }
            break;
        }
        moved.then_some(at)
    }

    fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (from, module) in &self.modules {
            for (path, line) in &module.paths {
                if let Some(to) = self.resolve(from, path, 0).filter(|to| to != from) {
                    imports.entry((from.clone(), to)).or_insert_with(|| (path.clone(), *line));
                }
            }
        }
        imports
    }

    /// What breaks the rule, a line each. `floors`: the modules below the root are in order, too.
    fn faults(&self, floors: bool) -> Vec<String> {
        let imports = self.imports();
        let mut faults = Vec::new();
        let deepest = self.modules.keys().map(Vec::len).max().unwrap_or_default();
        for depth in 1..=deepest {
            let mut graph: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
            for (from, to) in imports.keys() {
                let cut = |name: &Name| name.iter().take(depth).cloned().collect::<Name>();
                if cut(from) != cut(to) {
                    graph.entry(cut(from)).or_default().insert(cut(to));
                }
            }
            if let Some(circle) = circle(&graph) {
                let names: Vec<_> = circle.iter().map(shown).collect();
                faults.push(format!("a circle: {}", names.join(" -> ")));
                break;
            }
        }
        let floor = |name: &Name| self.order.iter().position(|floor| name.starts_with(floor));
        for ((from, to), (path, line)) in imports.iter().filter(|_| floors) {
            if to.first() != from.first() && floor(from) < floor(to) {
                let path = path.join("::");
                faults.push(format!("{} line {line} imports a higher floor: {path}", shown(from)));
            }
        }
        faults
    }
}

fn shown(name: &Name) -> String {
    if name.is_empty() { "the crate's root".into() } else { name.join("::") }
}

/// A circle of the graph, its first node repeated at the end, if there is one.
fn circle(graph: &BTreeMap<Name, BTreeSet<Name>>) -> Option<Vec<Name>> {
    fn visit(
        node: &Name,
        graph: &BTreeMap<Name, BTreeSet<Name>>,
        way: &mut Vec<Name>,
        done: &mut BTreeSet<Name>,
    ) -> Option<Vec<Name>> {
        if let Some(at) = way.iter().position(|before| before == node) {
            return Some(way[at..].iter().chain([node]).cloned().collect());
        }
        if done.contains(node) {
            return None;
        }
        way.push(node.clone());
        let found =
            graph.get(node).into_iter().flatten().find_map(|to| visit(to, graph, way, done));
        way.pop();
        done.insert(node.clone());
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|node| visit(node, graph, &mut Vec::new(), &mut done))
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn no_file_imports_a_higher_one() {
    let roots = [
        ("src/lib.rs", true),
        ("bench_c/runner/src/main.rs", false),
        ("c_tests/runner/src/main.rs", false),
        ("lab/dag/src/lib.rs", false),
        ("lab/estimate/src/lib.rs", false),
        ("lab/recorder/src/lib.rs", false),
        ("lab/simulator/src/lib.rs", false),
        ("tools/src/lib.rs", false),
    ];
    let faults = roots.iter().flat_map(|&(root, floors)| {
        let faults = Crate::read(&tree().join(root)).faults(floors);
        faults.into_iter().map(move |fault| format!("{root}: {fault}"))
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Writes a crate of these files and tells what is wrong with it.
fn faults_of(name: &str, files: &[(&str, &str)]) -> Vec<String> {
    let dir = std::env::temp_dir().join(format!("floors-{}-{name}", std::process::id()));
    for (file, text) in files {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    let faults = Crate::read(&dir.join("lib.rs")).faults(true);
    fs::remove_dir_all(&dir).expect("it can be removed");
    faults
}

const ROOT: (&str, &str) = ("lib.rs", "pub mod low;\n\npub mod high;");

#[test]
fn an_import_of_a_lower_floor_is_no_fault() {
    let high = ("high.rs", "use crate::low::Thing; pub fn f(_: Thing) {}");
    assert_eq!(faults_of("right", &[ROOT, ("low.rs", "pub struct Thing;"), high]), [""; 0]);
}

#[test]
fn a_planted_circle_is_found() {
    let low = ("low.rs", "pub struct Thing; fn g() { crate::high::f(Thing) }");
    let high = ("high.rs", "use super::low; pub fn f(_: low::Thing) {}");
    let faults = faults_of("circle", &[ROOT, low, high]);
    assert_eq!(faults[0], "a circle: high -> low -> high");
}

#[test]
fn a_circle_of_parent_and_child_is_found() {
    let low = ("low/mod.rs", "mod child; pub struct Thing; pub fn g() { child::h() }");
    let child = ("low/child.rs", "use super::Thing; pub fn h() -> Thing { Thing }");
    let faults = faults_of("child", &[ROOT, low, child, ("high.rs", "")]);
    assert_eq!(faults[0], "a circle: low -> low::child -> low");
}

#[test]
fn a_second_name_leads_to_the_item() {
    let low = ("low/mod.rs", "mod one; mod two; pub use one::Thing;");
    let one = ("low/one.rs", "pub struct Thing;");
    let two = ("low/two.rs", "use crate::low::Thing; fn f(_: Thing) {}");
    assert_eq!(faults_of("second", &[ROOT, low, one, two, ("high.rs", "")]), [""; 0]);
}

#[test]
fn an_upward_import_is_found_within_a_macro() {
    let low = ("low.rs", "fn f() { println!(\"{}\", crate::high::VALUE) }");
    let faults = faults_of("macro", &[ROOT, low, ("high.rs", "pub const VALUE: u32 = 1;")]);
    assert_eq!(faults, ["low line 1 imports a higher floor: crate::high::VALUE"]);
}
