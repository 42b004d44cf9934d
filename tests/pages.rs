//! The headers and the manual pages say the same, as far as a program can tell. The documentation
//! comments of `src/ffi` are the source of `include/sched_tasks.h` and `include/sched_io.h`; with
//! `include/sched.h` they are compared with `man/`:
//!
//! - each function has one page, which has its prototype;
//! - the page has the same errors, for the same reasons in the same words;
//! - libsched(7) lists each function once, and exactly the suspension points that the headers name;
//! - constants and structs are the same.
//!
//! What else a page says, in its description for instance, is not compared: the header is the short
//! form of it. The two readers stand in this file because they serve these comparisons only.
//! (c_tests/runner/src/documents.rs compiles the examples, and looks up what the README and `docs/`
//! name.)

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

type Errors = BTreeMap<String, String>;

struct Function {
    prototype: String,
    comment: String,
}

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of section 3 by file name.
fn section_3() -> BTreeMap<String, String> {
    let entries = fs::read_dir(Path::new(ROOT).join("man")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let pages = names.filter(|name| name.ends_with(".3"));
    pages.map(|name| (name.clone(), read(format!("man/{name}")))).collect()
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

// --- headers ------------------------------------------------------------------

fn headers() -> String {
    read("include/sched.h") + &read("include/sched_tasks.h") + &read("include/sched_io.h")
}

/// The functions of the headers by name.
fn functions() -> BTreeMap<String, Function> {
    let text = headers();
    let mut functions = BTreeMap::new();
    for part in text.split("/*").skip(1) {
        let (comment, code) = part.split_once("*/").expect("comments end");
        let Some((declaration, _)) = code.split_once(';') else { continue };
        let declaration = declaration.replace("SCHED_MUST_USE", "");
        let Some((before, _)) = declaration.split_once('(') else { continue };
        let name = before.rsplit([' ', '*', '\n']).next().unwrap_or_default();
        if !name.starts_with("sched_") || declaration.contains(['#', '{']) {
            continue;
        }
        let comment = squeeze(&comment.replace("\n *", "\n"));
        let function = Function { prototype: canonical(&declaration), comment };
        assert!(functions.insert(name.to_string(), function).is_none(), "{name} twice");
    }
    assert!(functions.len() > 40, "{} functions in the headers", functions.len());
    functions
}

/// A prototype without what may differ: white space, `struct` if the type also has a name without
/// it, and the names of the parameters of a parameter that is a function.
fn canonical(prototype: &str) -> String {
    let mut text = squeeze(prototype).replace("* ", "*");
    for name in [
        "task", "group", "mutex", "cond", "sem", "barrier", "timer", "node", "graph", "dep",
        "channel",
    ] {
        text = text.replace(&format!("struct sched_{name} "), &format!("sched_{name} "));
    }
    let (mut depth, mut shorter) = (0, String::new());
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 2 && c == ',' || depth == 1 && c == ')' {
            let last = shorter.rfind([' ', '*', '(']).map_or(0, |at| at + 1);
            if !["(*", "(", ", "].iter().any(|before| shorter[..last].ends_with(before)) {
                shorter.truncate(last);
            }
        }
        shorter.push(c);
    }
    shorter.replace(" )", ")").replace(" ,", ",")
}

/// The errors of a comment: `... with errno: EINVAL (f is NULL), EAGAIN (no memory).`
fn errors_of(comment: &str) -> Errors {
    let mut errors = Errors::new();
    let Some((_, mut rest)) = comment.split_once("with errno") else { return errors };
    while let Some(at) = rest.find(['(', '.']).filter(|at| rest[*at..].starts_with('(')) {
        let name = rest[..at].trim_end().rsplit([' ', ',']).next().unwrap_or_default();
        let mut depth = 0;
        let end = rest[at..].find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let end = at + end.expect("balanced");
        if name.starts_with('E') {
            errors.insert(name.to_string(), small(&rest[at + 1..end]));
        }
        rest = &rest[end..];
    }
    errors
}

// --- manual pages -------------------------------------------------------------

#[derive(Default)]
struct Page {
    names: BTreeSet<String>,
    prototypes: BTreeMap<String, String>,
    errors: BTreeMap<String, Errors>,
}

/// The pages of functions by file name; those that only name another are left out.
fn pages() -> BTreeMap<String, Page> {
    // The page of the C++ header describes no C function.
    let texts = section_3()
        .into_iter()
        .filter(|(name, text)| !text.starts_with(".so ") && !name.ends_with(".hpp.3"));
    texts.map(|(name, text)| (name, page(&text))).collect()
}

fn page(text: &str) -> Page {
    let mut page = Page::default();
    for line in section(text, "NAME") {
        if let Some(name) = line.strip_prefix(".Nm ") {
            page.names.insert(name.trim_end_matches(" ,").to_string());
        }
    }
    page.prototypes = prototypes(&section(text, "SYNOPSIS"));
    page.errors = page_errors(&section(text, "ERRORS"), &page.names);
    page
}

fn section<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| *line != format!(".Sh {title}")).skip(1);
    lines.take_while(|line| !line.starts_with(".Sh ")).collect()
}

/// What `.Ft`, `.Fn` and `.Fo` say.
fn prototypes(lines: &[&str]) -> BTreeMap<String, String> {
    let mut prototypes = BTreeMap::new();
    let (mut returns, mut open) = (String::new(), None::<(String, Vec<String>)>);
    for line in lines {
        let (request, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = arguments(rest);
        let done = match request {
            ".Ft" => {
                returns = rest.to_string();
                None
            }
            ".Fn" => {
                let name = words.remove(0);
                Some((name, words))
            }
            ".Fo" => {
                open = Some((words.remove(0), Vec::new()));
                None
            }
            ".Fa" => {
                open.iter_mut().for_each(|(_, list)| list.append(&mut words));
                None
            }
            ".Fc" => open.take(),
            _ => None,
        };
        if let Some((name, words)) = done.filter(|(name, _)| name.starts_with("sched_")) {
            let prototype = canonical(&format!("{returns} {name}({})", words.join(", ")));
            prototypes.insert(name, prototype);
        }
    }
    prototypes
}

/// The words of a request, some in quotation marks.
fn arguments(text: &str) -> Vec<String> {
    let parts = text.split('"').enumerate();
    parts
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_string).collect(),
            _ => vec![part.to_string()],
        })
        .collect()
}

/// By function: those that `.Fn` names before a list, or all of the page.
fn page_errors(lines: &[&str], names: &BTreeSet<String>) -> BTreeMap<String, Errors> {
    let mut all: BTreeMap<String, Errors> = BTreeMap::new();
    let (mut named, mut error) = (BTreeSet::new(), None::<(String, String)>);
    let (mut list, mut last) = (false, String::new());
    for line in lines.iter().chain(&[".El"]) {
        let next = line.strip_prefix(".It Bq Er ");
        let is_over = next.is_some() || *line == ".El";
        if let Some((name, text)) = error.take_if(|_| is_over) {
            for function in if named.is_empty() { names } else { &named } {
                let errors = all.entry(function.clone()).or_default();
                errors.insert(name.clone(), sentence(&text));
            }
        }
        match next {
            Some(name) => error = Some((name.to_string(), String::new())),
            None if line.starts_with(".Bl ") => list = true,
            None if *line == ".El" => {
                list = false;
                last.clear();
            }
            None if list => error.iter_mut().for_each(|(_, text)| *text += &format!("{line}\n")),
            None => {
                if last.is_empty() {
                    named.clear();
                }
                last = line.to_string();
                let name = line.strip_prefix(".Fn ").map(|name| name.trim_end_matches(" ,"));
                named.extend(name.filter(|name| names.contains(*name)).map(str::to_string));
            }
        }
    }
    all
}

/// Text without the requests of mdoc, and without the full stop.
fn sentence(lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            ".Xr" => text += &format!("{}({}){}", words[1], words[2], words[3..].concat()),
            request if request.starts_with('.') => {
                words.remove(0);
                text += &words.join(" ");
            }
            _ => text += line,
        }
        text += " ";
    }
    let text = squeeze(&text).replace(" ,", ",").replace(" .", ".").replace(" )", ")");
    small(text.trim_end_matches('.'))
}

/// With a small letter at the beginning, as within a sentence.
fn small(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

// --- comparisons ----------------------------------------------------------------

/// Fails with all that was found wrong.
fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn each_function_has_a_page_with_its_prototype() {
    let (functions, pages) = (functions(), pages());
    let macros = read("include/sched_typed.h")
        + &read("include/sched_sort.h")
        + &read("include/sched_stable_sort.h");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, page) in &pages {
        for name in page.names.iter().chain(page.prototypes.keys()) {
            let Some(function) = functions.get(name) else {
                if name.starts_with("SCHED_") && macros.contains(&format!("#define {name}(")) {
                    continue;
                }
                wrong.push(format!("man/{file}: {name} is in no header"));
                continue;
            };
            seen.insert(name.clone());
            let (here, there) = (page.prototypes.get(name), &function.prototype);
            if here != Some(there) {
                wrong.push(format!("man/{file}: {here:?}\nthe header: {there:?}"));
            }
            let own = read(format!("man/{name}.3"));
            if *file != format!("{name}.3") && own.trim() != format!(".so man3/{file}") {
                wrong.push(format!("man/{name}.3 does not lead to man/{file}"));
            }
        }
    }
    wrong.extend(functions.keys().filter(|f| !seen.contains(*f)).map(|f| format!("{f}: no page")));
    none(wrong);
}

#[test]
fn errors_are_those_of_the_header() {
    let (functions, pages) = (functions(), pages());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (file, page) in &pages {
        for name in page.names.iter().filter(|name| functions.contains_key(*name)) {
            let there = errors_of(&functions[name].comment);
            let here = page.errors.get(name).cloned().unwrap_or_default();
            let all: BTreeSet<_> = here.keys().chain(there.keys()).collect();
            for error in all {
                compared += 1;
                if here.get(error) != there.get(error) {
                    wrong.push(format!(
                        "man/{file}: {name}, {error}: {:?}\n  the header: {:?}",
                        here.get(error),
                        there.get(error)
                    ));
                }
            }
        }
    }
    none(wrong);
    assert!(compared > 60, "{compared} errors were compared");
}

/// What the items of a list of libsched(7) begin with, each with the rest of its line.
fn items(title: &str, macros: &str) -> Vec<(String, String)> {
    let text = read("man/libsched.7");
    let lines = section(&text, title);
    assert!(!lines.is_empty(), "libsched(7) has no section {title}");
    let item = |line: &&str| {
        let (name, rest) = line.strip_prefix(&format!(".It {macros} "))?.split_once(' ')?;
        Some((name.to_string(), rest.to_string()))
    };
    lines.iter().filter_map(item).collect()
}

#[test]
fn the_index_has_each_function_once() {
    let names: Vec<_> = items("FUNCTIONS", "Xr").into_iter().map(|(name, _)| name).collect();
    let listed: BTreeSet<_> = names.iter().cloned().collect();
    let wanted: BTreeSet<_> = functions().into_keys().collect();
    assert_eq!(listed, wanted);
    assert_eq!(names.len(), wanted.len(), "twice in FUNCTIONS");
}

/// The words by which a header's comment names a suspension point.
const POINT: &str = "Suspension point";
const POINT_OF_CONT: &str = "Suspension point in kind cont";

#[test]
fn suspension_points_are_those_of_the_headers() {
    let functions = functions();
    let mut wrong = Vec::new();
    let mut points = BTreeMap::new();
    for (name, rest) in items("SUSPENSION POINTS", "Fn") {
        let columns: Vec<_> = rest.split("Ta").map(|column| column.trim().to_string()).collect();
        assert_eq!(columns.len(), 4, "{name}{rest}");
        points.insert(name, columns);
    }
    wrong.extend(
        points.keys().filter(|p| !functions.contains_key(*p)).map(|p| format!("{p}: no function")),
    );
    for (name, function) in &functions {
        let row: Vec<_> = points.get(name).into_iter().flatten().map(String::as_str).collect();
        let wanted = match row[..] {
            ["", "no", "moves", "no"] => Some(POINT_OF_CONT),
            ["", "moves", "moves", "waits" | "no"] => Some(POINT),
            ["", "keeps", "keeps", "keeps"] | [] => None,
            _ => {
                wrong.push(format!("libsched(7), SUSPENSION POINTS, {name}: {row:?}"));
                continue;
            }
        };
        let found = [POINT_OF_CONT, POINT].into_iter().find(|p| function.comment.contains(p));
        if found != wanted {
            wrong.push(format!("{name}: the header says {found:?}, libsched(7) {wanted:?}"));
        }
    }
    none(wrong);
}

#[test]
fn constants_and_structs_of_the_pages_are_those_of_the_headers() {
    let headers = headers();
    let defines: BTreeSet<_> =
        headers.lines().filter(|l| l.starts_with("#define ")).map(squeeze).collect();
    let members = |text: &str, name: &str| -> Option<Vec<String>> {
        let body = text.split_once(&format!("struct {name} {{\n"))?.1.split_once("\n};")?.0;
        let mut code = String::new();
        for (i, part) in body.split("/*").enumerate() {
            code += if i == 0 { part } else { part.split_once("*/")?.1 };
        }
        Some(code.split_inclusive(';').map(squeeze).filter(|member| !member.is_empty()).collect())
    };
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (file, text) in section_3() {
        for line in text.lines() {
            if let Some(define) = line.strip_prefix(".Fd ") {
                let define = squeeze(&define.replace("\\(dq", "\""));
                compared += 1;
                if !defines.contains(&define) {
                    wrong.push(format!("man/{file}: {define}: not so in the headers"));
                }
            }
        }
        for name in ["sched_options", "sched_stats"] {
            let Some(here) = members(&text, name) else { continue };
            compared += 1;
            if Some(&here) != members(&headers, name).as_ref() {
                wrong.push(format!("man/{file}: struct {name}: {here:?}"));
            }
        }
    }
    none(wrong);
    assert!(compared >= 5, "{compared} were compared");
}

#[test]
fn each_counter_is_in_the_struct_and_on_its_pages() {
    let (headers, page) = (headers(), read("man/libsched.7"));
    let (_, after) = headers.split_once("struct sched_stats {").unwrap();
    let (members, _) = after.split_once("};").unwrap();
    sched::stats::Values::default().each(|name, _| {
        assert!(members.contains(&format!(" {name};")), "struct sched_stats: no {name}");
        assert!(page.contains(&format!("\n.It Sy {name}\n")), "libsched(7), STATISTICS: no {name}");
    });
}
