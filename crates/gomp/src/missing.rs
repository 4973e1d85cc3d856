//! Functions that are not implemented: a call of one ends the program with a message that names the
//! function.

/// Ends the program with a message that it needs `what`.
pub fn missing(what: &str) -> ! {
    eprintln!("libbaton_gomp: {what} is not implemented");
    std::process::abort()
}
