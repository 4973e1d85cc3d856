//! Links the command to a fixed address: the loader would have to write some 250,000 addresses into
//! it at each start otherwise, which takes half of the time before `baton run` starts its program.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|is| is == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=baton=-no-pie");
    }
}
