//! The table of dependencies in CONTRIBUTING.md is what the files Cargo.toml say: each crate, and
//! which of the project's crates need it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// The crates of others, each with those of the project that need it.
type Needs = BTreeMap<String, BTreeSet<String>>;

fn read(file: &Path) -> Table {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Adds what the sections of a manifest, or of a target in it, depend on.
fn add(needs: &mut Needs, package: &str, sections: &Table) {
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(Value::Table(crates)) = sections.get(section) else { continue };
        for (name, value) in crates {
            let is_ours = value.as_table().is_some_and(|of| of.contains_key("path"));
            if !is_ours {
                needs.entry(name.clone()).or_default().insert(package.to_string());
            }
        }
    }
}

fn needs(root: &Path) -> Needs {
    let mut needs = Needs::new();
    let members = read(&root.join("Cargo.toml"))["workspace"]["members"].clone();
    let members = members.as_array().unwrap().iter().map(|member| member.as_str().unwrap());
    for folder in members.chain([""]) {
        let manifest = read(&root.join(folder).join("Cargo.toml"));
        let package = manifest["package"]["name"].as_str().unwrap();
        add(&mut needs, package, &manifest);
        let Some(Value::Table(targets)) = manifest.get("target") else { continue };
        targets.values().for_each(|target| add(&mut needs, package, target.as_table().unwrap()));
    }
    needs
}

/// Rows `| crate, crate | of, of | why |` of the section Dependencies. Of the crates of a row each
/// is needed by all that the row names.
fn documented(text: &str) -> Needs {
    let section = text.split("\n## ").find(|section| section.starts_with("Dependencies\n"));
    let rows = section.expect("a section Dependencies").lines().filter(|l| l.starts_with("| "));
    let mut needs = Needs::new();
    for row in rows.skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, crates, of, why, _] = cells[..] else { panic!("{row}") };
        assert!(!why.is_empty(), "{row}: why?");
        for name in crates.split(", ") {
            let of = of.split(", ").map(String::from).collect();
            assert!(needs.insert(name.to_string(), of).is_none(), "{name} has two rows");
        }
    }
    needs
}

#[test]
fn the_table_of_dependencies_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let (found, wanted) = (documented(&text), needs(&root));
    let names = found.keys().chain(wanted.keys()).collect::<BTreeSet<_>>();
    let wrong: Vec<_> =
        names.into_iter().filter(|name| found.get(*name) != wanted.get(*name)).collect();
    for name in &wrong {
        println!(
            "{name}: {:?}, and CONTRIBUTING.md says {:?}",
            wanted.get(*name),
            found.get(*name)
        );
    }
    assert!(wrong.is_empty(), "CONTRIBUTING.md, Dependencies: {wrong:?}");
}
