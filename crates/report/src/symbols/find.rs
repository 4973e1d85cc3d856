//! The other way round: from a name, as a report prints it, to where it is in an object file.

use super::object_file::ObjectFile;
use super::{demangle, short};
use crate::build::{is_wrapper, own};
use object::{Object, ObjectSymbol, SymbolKind};
use std::ops::Range;
use std::path::Path;

/// The stretches of an object file, in its own addresses, that one of the `wanted` names stands for: the data of a global, the code
/// of a function, or, where debug information tells, the code of a line and of a function that was put into others. None where the
/// file cannot be read.
///
/// `wants` says whether a name of the file is one of them: a symbol's, a function's, or `FILE:LINE`.
pub fn find(path: &Path, wants: impl Fn(&str) -> bool) -> Vec<Range<u64>> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let mut found: Vec<Range<u64>> = Vec::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let is_place = matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Text);
        let Ok(name) = symbol.name() else { continue };
        if is_place && symbol.is_definition() && symbol.size() > 0 && wants(&short(&demangle(name))) {
            found.push(symbol.address()..symbol.address() + symbol.size());
        }
    }
    if let Ok(open) = ObjectFile::open(path, &[]) {
        for row in open.rows() {
            // What a report calls the place: the first function that is the program's own.
            let frames = open.frames(row.start);
            let Some(frame) = own(&frames).filter(|frame| !is_wrapper(frame)) else { continue };
            if wants(&short(&frame.function)) || frame.place().is_some_and(|place| wants(&place)) {
                found.push(row);
            }
        }
    }
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
