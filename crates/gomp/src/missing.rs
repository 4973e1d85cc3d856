//! What is not implemented: a call ends the program with a message that names it.

/// Ends the program: it needs `what`.
pub fn missing(what: &str) -> ! {
    eprintln!("libbaton_gomp: {what} is not implemented");
    std::process::abort()
}
