//! Fields of structs and lines of functions.

use super::lexer::{closing, tokens};

/// The structs of a bare text, with their fields counted.
pub(crate) fn structs(text: &str) -> Vec<(String, usize)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| tokens[at].0 == "struct") {
        let Some(open) = (at..tokens.len()).find(|&at| matches!(tokens[at].0, "{" | "(" | ";")) else { continue };
        if tokens[open].0 != "{" {
            continue;
        }
        let (mut fields, mut inside, mut next) = (0, 0_usize, open + 1);
        let end = closing(&tokens, open);
        while next < end {
            match tokens[next].0 {
                "{" | "(" | "[" => next = closing(&tokens, next),
                "<" => inside += 1,
                ">" => inside = inside.saturating_sub(1),
                ":" if inside == 0 => fields += 1,
                _ => {}
            }
            next += 1;
        }
        found.push((tokens[at + 1].0.to_owned(), fields));
    }
    found
}

/// The functions of a bare text, with their lines counted.
pub(crate) fn functions(text: &str) -> Vec<(String, usize)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in (0..tokens.len().saturating_sub(1)).filter(|&at| tokens[at].0 == "fn" && tokens[at + 1].0 != "(") {
        let mut open = at;
        while open < tokens.len() && !matches!(tokens[open].0, "{" | ";") {
            open = if matches!(tokens[open].0, "(" | "[") { closing(&tokens, open) } else { open } + 1;
        }
        if tokens.get(open).is_some_and(|(token, _)| *token == "{") {
            let lines = tokens[closing(&tokens, open)].1 - tokens[at].1 + 1;
            found.push((tokens[at + 1].0.to_owned(), lines));
        }
    }
    found
}
