//! Which file of a crate uses which: paths in the sources, followed through re-exports to the file that has the item.

use super::lexer::{Token, closing, tokens, without_tests};
use std::collections::{BTreeMap, BTreeSet};

/// By file, the files of its crate that its paths lead to.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// A path from the top of a crate.
type Absolute<'a> = Vec<&'a str>;

/// The modules of a crate.
#[derive(Default)]
struct Modules<'a> {
    /// The file of each module.
    files: BTreeMap<Absolute<'a>, &'a str>,
    /// The names that the `use` declarations of each module bring in; `None` for what another crate has.
    imports: BTreeMap<Absolute<'a>, BTreeMap<&'a str, Option<Absolute<'a>>>>,
}

/// The arrows between the files of a crate; files that are built for tests only are left out.
pub(crate) fn arrows(files: &BTreeMap<String, String>) -> Arrows {
    let read: BTreeMap<&String, Vec<Token>> = files.iter().map(|(file, text)| (file, tokens(text))).collect();
    let files = files.keys().map(|file| (module(file), file.as_str())).collect();
    let mut modules = Modules { files, ..Modules::default() };
    let (mut for_tests, mut used) = (BTreeSet::new(), BTreeMap::new());
    for (file, all) in &read {
        let (tokens, test_modules) = without_tests(all);
        let own = module(file);
        for_tests.extend(test_modules.into_iter().map(|name| [own.as_slice(), &[name]].concat()));
        let imports = imports(&tokens).into_iter().map(|(name, path)| (name, modules.absolute(&path, &own))).collect();
        used.insert(*file, modules.mentioned(&tokens, &own));
        modules.imports.insert(own, imports);
    }
    let is_test = |file: &str| (0..=module(file).len()).any(|n| for_tests.contains(&module(file)[..n]));
    let targets = |file: &str, paths: Vec<Absolute>| {
        paths.into_iter().filter_map(|path| modules.target(path)).filter(|target| target != file).collect()
    };
    let kept = used.into_iter().filter(|(file, _)| !is_test(file));
    kept.map(|(file, paths)| (file.clone(), targets(file, paths))).collect()
}

/// The module that a file is.
fn module(file: &str) -> Absolute<'_> {
    let mut path: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(path.last(), Some(&"mod" | &"lib" | &"main")) {
        path.pop();
    }
    path
}

/// Adds the paths of the tree that begins at `at`, each after `before`; returns where the tree ends.
fn paths<'a>(tokens: &[Token<'a>], mut at: usize, before: &[&'a str], out: &mut Vec<Vec<&'a str>>) -> usize {
    let mut path = before.to_vec();
    loop {
        if tokens[at].0 == "{" {
            let end = closing(tokens, at);
            at += 1;
            while at < end {
                at = paths(tokens, at, &path, out);
                while at < end && tokens[at].0 != "," {
                    at += 1;
                }
                at += 1;
            }
            return end + 1;
        }
        path.push(tokens[at].0);
        if tokens.get(at + 1).is_none_or(|(token, _)| *token != "::") || at + 2 >= tokens.len() {
            out.push(path);
            return at + 1;
        }
        at += 2;
    }
}

/// The names that `use` declarations bring in, each with the path that it stands for.
fn imports<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| tokens[at].0 == "use") {
        let end = (at..tokens.len()).find(|&at| tokens[at].0 == ";").unwrap_or(tokens.len());
        let declared = &tokens[at..end];
        let mut named = Vec::new();
        if declared.len() > 1 {
            paths(declared, 1, &[], &mut named);
        }
        for path in named {
            let Some(&last) = path.last().filter(|last| !matches!(**last, "*" | "self")) else { continue };
            let alias = declared.windows(3).find(|three| three[0].0 == last && three[1].0 == "as");
            found.push((alias.map_or(last, |three| three[2].0), path));
        }
    }
    found
}

impl<'a> Modules<'a> {
    /// The paths into the crate that a file's tokens hold.
    fn mentioned(&self, tokens: &[Token<'a>], own: &[&'a str]) -> Vec<Absolute<'a>> {
        let mut found = Vec::new();
        for at in 0..tokens.len() {
            let begins = at == 0 || !matches!(tokens[at - 1].0, "::" | "." | "mod");
            if !begins || tokens.get(at + 1).is_none_or(|(token, _)| *token != "::") {
                continue;
            }
            // `$crate::name`: an exported macro, whose name stands at the top whatever file defines it.
            let exported = tokens[at].0 == "crate" && at > 0 && tokens[at - 1].0 == "$";
            if exported && tokens.get(at + 3).is_none_or(|(token, _)| *token != "::") {
                continue;
            }
            paths(tokens, at, &[], &mut found);
        }
        found.iter().filter_map(|path| self.absolute(path, own)).collect()
    }

    /// The path from the top of the crate, or `None` if it leads out of the crate. `own` is the module that has it.
    fn absolute(&self, path: &[&'a str], own: &[&'a str]) -> Option<Absolute<'a>> {
        let mut base = match path[0] {
            "crate" => Vec::new(),
            "self" | "super" => own.to_vec(),
            // The language's own crate of that name.
            "core" if own.is_empty() => return None,
            first if self.files.contains_key(&[own, &[first]].concat()) => own.to_vec(),
            _ => return None,
        };
        let mut rest = path;
        while let Some((first, more)) = rest.split_first() {
            match *first {
                "super" => drop(base.pop()),
                "crate" | "self" => {}
                _ => break,
            }
            rest = more;
        }
        base.extend(rest);
        Some(base)
    }

    /// The file that a path leads to: that of its longest beginning that is a module; where this module only re-exports the
    /// next name, the file that has the name.
    fn target(&self, mut path: Absolute<'a>) -> Option<String> {
        // A re-export of a re-export, and so on; names that stand for each other would never end.
        for _ in 0..8 {
            let n = (0..=path.len()).rev().find(|&n| self.files.contains_key(&path[..n]))?;
            match path.get(n).and_then(|name| self.imports.get(&path[..n])?.get(name)) {
                Some(Some(to)) if !path.starts_with(to) => path = [to, &path[n + 1..]].concat(),
                Some(None) => return None,
                _ => return Some(self.files[&path[..n]].to_owned()),
            }
        }
        None
    }
}

/// Circles of files that use each other, the largest first.
pub(crate) fn circles(arrows: &Arrows) -> Vec<Vec<&String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = arrows
        .keys()
        .map(|from| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(file) = next.pop() {
                for to in arrows.get(file).into_iter().flatten() {
                    if seen.insert(to) {
                        next.push(to);
                    }
                }
            }
            (from, seen)
        })
        .collect();
    let circle = |file: &String| -> Vec<&String> {
        let both =
            |(other, seen): &(&&String, &BTreeSet<&String>)| seen.contains(file) && reach[file].contains(**other);
        reach.iter().filter(both).map(|(other, _)| *other).collect()
    };
    let mut found: Vec<Vec<&String>> = arrows.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    found.sort_by_key(|circle| (std::cmp::Reverse(circle.len()), circle.clone()));
    found.dedup();
    found
}
