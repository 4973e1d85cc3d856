//! Turns Rust and C++ symbols into readable names. Other symbols only lose their version suffix.

/// A readable form of `symbol`, without Rust's hash suffix. A symbol that is in neither scheme
/// stays as it is, without its version suffix.
pub fn demangle(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    if symbol.starts_with("_Z")
        && let Ok(parsed) = cpp_demangle::BorrowedSymbol::new(symbol.as_bytes())
        && let Ok(name) = parsed.demangle()
    {
        return name;
    }
    // The version suffix of a dynamic symbol ("malloc@@GLIBC_2.2.5") says nothing about the
    // function.
    symbol.split_once('@').filter(|(name, _)| !name.is_empty()).map_or(symbol, |(name, _)| name).to_owned()
}

/// The position of the word `operator` in a function's name. It is the last one outside of template
/// arguments and parameters: a lambda's name is `main::{lambda(int)#1}::operator()(int) const`.
fn operator(name: &str) -> Option<usize> {
    let own = |at: usize| {
        let before = &name[..at];
        let opened = |open: char, close: char| before.matches(open).count() > before.matches(close).count();
        let whole = at == 0 || before.ends_with("::") || before.ends_with(' ');
        let sign = !name[at + 8..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        whole && sign && !opened('(', ')') && !opened('<', '>')
    };
    name.match_indices("operator").map(|(at, _)| at).filter(|at| own(*at)).last()
}

/// The name without template arguments and parameters, for short lines:
/// `std::vector<int>::push(int)` becomes `std::vector::push`.
pub fn short(name: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut braces) = (0usize, 0usize);
    let bytes = name.as_bytes();
    // An operator's name may contain the brackets that are counted below.
    if let Some(at) = operator(name) {
        let sign: String = name[at + 8..].split('(').next().unwrap_or_default().to_owned();
        return short(&name[..at]) + "operator" + if sign.is_empty() { "()" } else { &sign };
    }
    for (i, c) in name.char_indices() {
        braces = match c {
            '{' => braces + 1,
            '}' => braces.saturating_sub(1),
            _ => braces,
        };
        match c {
            // `{lambda(int)#1}` is a name; its parentheses belong to the name.
            _ if braces > 0 && depth == 0 => out.push(c),
            // Rust's `<T as Trait>::method` and C++'s `(anonymous namespace)` begin with brackets
            // that belong to the name, so such a name is returned whole.
            '<' | '(' if i == 0 => return name.to_owned(),
            '(' if depth == 0 && name[i..].starts_with("(anonymous namespace)") => return name.to_owned(),
            '<' => depth += 1,
            '>' if i > 0 && bytes[i - 1] != b'-' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    if out.is_empty() { name.to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_reads_as_it_was_written() {
        assert_eq!(demangle("pthread_mutex_lock"), "pthread_mutex_lock");
        assert_eq!(demangle("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(
            demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)"
        );
        assert_eq!(demangle("_Z"), "_Z", "a broken symbol stays as it is");
    }

    #[test]
    fn a_short_name_keeps_what_tells_it_apart() {
        assert_eq!(short("std::vector<int, std::allocator<int> >::push_back(int&&)"), "std::vector::push_back");
        assert_eq!(short("Index::add(char const*, unsigned long)"), "Index::add");
        assert_eq!(short("<T as core::fmt::Write>::write_fmt"), "<T as core::fmt::Write>::write_fmt");
        assert_eq!(short("Less::operator()(int, int) const"), "Less::operator()");
        assert_eq!(short("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda(int)#1}::operator()");
        assert_eq!(short("operator()(int)"), "operator()");
        assert_eq!(short("Index::find(abc::Key) const"), "Index::find");
        assert_eq!(short("std::vector<(anonymous namespace)::Entry>::clear()"), "std::vector::clear");
        assert_eq!(short("find((anonymous namespace)::Entry)"), "find");
        for whole in ["(anonymous namespace)::find(int)", "ours::(anonymous namespace)::find(int)"] {
            assert_eq!(short(whole), whole);
        }
        assert_eq!(short("void apply<Less::operator()>(int)"), "void apply");
        assert_eq!(short("Less<int>::operator<(int) const"), "Less::operator<");
        assert_eq!(short("main"), "main");
    }
}
