//! Gives the shared library its name in programs that link it: the major version is part of it.

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo names the version");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbaton.so.{major}");
    println!("cargo::rerun-if-changed=build.rs");
}
