//! The reverse of symbolization: finds what a name, as a report prints it, denotes in an object
//! file.

use super::demangle::{demangle, short};
use super::frame::{Frame, is_wrapper};
use super::object_file::ObjectFile;
use object::{Object, ObjectSymbol, SymbolKind};
use std::ops::Range;
use std::path::Path;

/// The address ranges of an object file that a wanted name denotes: the data of a global variable,
/// the code of a function and, if there is debug information, the code of a source line and of
/// functions that were inlined elsewhere. Addresses are the file's own. Empty if the file cannot be
/// read.
///
/// `wants` says whether a name of the file (a symbol, a function, or `FILE:LINE`) is wanted.
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
            // A lock begins in the innermost function of the program's own code, and in the
            // functions into which the compiler inlined that function.
            let frames = open.frames(row.start);
            let wanted = |frame: &Frame| {
                !is_wrapper(frame)
                    && (wants(&short(&frame.function)) || frame.place().is_some_and(|place| wants(&place)))
            };
            if frames.iter().any(wanted) {
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

/// Where the functions of an object file with a wanted name begin, in the file's own addresses.
pub fn functions(path: &Path, wants: impl Fn(&str) -> bool) -> Vec<u64> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let code = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let wanted = code.filter(|symbol| symbol.name().is_ok_and(|name| wants(&short(&demangle(name)))));
    let mut found: Vec<u64> = wanted.map(|symbol| symbol.address()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The global variables of an object file with a wanted name, in the file's own addresses.
pub fn globals(path: &Path, wants: impl Fn(&str) -> bool) -> Vec<Range<u64>> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let data =
        symbols.filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition() && symbol.size() > 0);
    let wanted = data.filter(|symbol| symbol.name().is_ok_and(|name| wants(&short(&demangle(name)))));
    let mut found: Vec<Range<u64>> = wanted.map(|symbol| symbol.address()..symbol.address() + symbol.size()).collect();
    found.sort_unstable_by_key(|range| (range.start, range.end));
    found.dedup();
    found
}
