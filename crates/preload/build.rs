//! Keeps the library's own system calls out of its hooks of `syscall` and `sched_yield`: inside of the library, the linker
//! binds these names to `__wrap_syscall` and `__wrap_sched_yield` (`src/base/syscall.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=syscall,--wrap=sched_yield");
}
