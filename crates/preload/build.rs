//! Keeps the library's own system calls out of its hook of `syscall`: inside of the library, the linker binds that name to
//! `__wrap_syscall` (`src/base/syscall.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=syscall");
}
