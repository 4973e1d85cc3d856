//! Gives the shared library its soname, which programs that link it record: `libbaton.so.MAJOR`, and
//! below version 1.0 `libbaton.so.0.MINOR`, since programs are then built anew for a minor version.

fn main() {
    let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).expect("cargo names the version");
    let abi = match part("MAJOR").as_str() {
        "0" => format!("0.{}", part("MINOR")),
        major => major.to_owned(),
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbaton.so.{abi}");
    println!("cargo::rerun-if-changed=build.rs");
}
