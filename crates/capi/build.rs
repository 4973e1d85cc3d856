//! Gives the shared library its soname, `libbaton.so.MAJOR`, which programs that link it record.

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo names the version");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbaton.so.{major}");
    println!("cargo::rerun-if-changed=build.rs");
}
