//! Sentences broken into lines: for a terminal, of at most [`COLUMNS`].

/// The greatest width of a line.
pub const COLUMNS: usize = 100;

/// What the further lines of a sentence begin with.
const INDENT: &str = "  ";

/// `text` in lines of at most [`COLUMNS`]; a single word that is longer stays whole.
pub fn wrapped(text: &str) -> String {
    broken(text, COLUMNS, INDENT)
}

/// `text` in lines of at most `width`, of which the further ones of a sentence begin with `indent`.
pub fn broken(text: &str, width: usize, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for (i, word) in paragraph.split(' ').enumerate() {
            let length = line.chars().count() + 1 + word.chars().count();
            if i > 0 && length > width && line.trim() != "" {
                lines.push(std::mem::replace(&mut line, format!("{indent}{word}")));
            } else {
                line.extend((i > 0).then_some(" ").into_iter().chain([word]));
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Prints a sentence, or several lines of them.
pub fn say(text: impl AsRef<str>) {
    println!("{}", wrapped(text.as_ref()));
}

/// The width of the widest line.
pub fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// "a, b and c".
pub fn listed<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match &words[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The words with their first letter as a capital.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_between_words() {
        let text = "word ".repeat(50);
        let lines = wrapped(text.trim_end());
        assert!(widest(&lines) <= COLUMNS && lines.lines().count() == 3);
        assert_eq!(lines.split_whitespace().count(), 50);
        assert_eq!(wrapped("a\n  b"), "a\n  b");
        let long = "x".repeat(2 * COLUMNS);
        assert_eq!(wrapped(&format!("a {long}")), format!("a\n  {long}"));
        assert_eq!(broken("ab cd e f", 5, "> "), "ab cd\n> e f");
    }

    #[test]
    fn words_are_joined() {
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(sentence("no difference"), "No difference");
    }
}
