//! Tests the names of addresses on a real program. The program is compiled and run, and prints
//! where its own code and its global variable lie.

use baton_report::symbols::Symbols;
use baton_trace::{Clock, Module, ProcessIndex, SiteId, Ticks, Trace, TraceBuilder};
use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
static struct { long pad; char lock[40]; } table;
__attribute__((noinline)) void *where(void) { return __builtin_return_address(0); }
static inline __attribute__((always_inline)) void *inner(void) {
    void *at = where(); /* line 7 */
    __asm__ volatile("");
    return at;
}
__attribute__((noinline)) void *outer(void) {
    return inner(); /* line 12 */
}
static int first(struct dl_phdr_info *info, size_t size, void *out) {
    (void)size;
    *(unsigned long *)out = info->dlpi_addr;
    return 1;
}
int main(void) {
    unsigned long bias = 0;
    dl_iterate_phdr(first, &bias);
    printf("%lx %p %p\n", bias, outer(), (void *)&table.lock);
    return 0;
}
"#;

/// Compiles the program and runs it. Returns a trace whose site 1 is the call in `inner`, and the
/// address of the global variable.
fn program(folder: &Path, flags: &[&str]) -> (Trace, u64) {
    let (source, binary) = (folder.join("named.c"), folder.join("named"));
    std::fs::write(&source, SOURCE).expect("the source");
    let compiled = Command::new("cc").args(["-O1", "-o"]).arg(&binary).arg(&source).args(flags).output().expect("cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let out = Command::new(&binary).output().expect("the program runs").stdout;
    let out = String::from_utf8(out).expect("text");
    let numbers: Vec<u64> = out
        .split_whitespace()
        .map(|n| u64::from_str_radix(n.trim_start_matches("0x"), 16).expect("a number"))
        .collect();
    let [bias, code, data] = numbers[..] else { panic!("three numbers: {out}") };
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    builder.site(SiteId(1), &[code]);
    let mut trace = builder.build();
    let (start, end) = (code.min(data) & !0xfff, code.max(data) + 0x1000);
    let path = binary.to_str().expect("text").to_owned();
    trace.processes[0].modules.push(Module { bias, start, end, build_id: Vec::new(), path, life: Module::ALWAYS });
    (trace, data)
}

const PROCESS: ProcessIndex = ProcessIndex(0);

#[test]
fn a_call_site_has_its_inlined_functions_and_a_lock_its_global() {
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [&["-g", "-pie", "-fPIE"][..], &["-g", "-no-pie"]] {
        let (trace, data) = program(folder.path(), flags);
        let mut symbols = Symbols::new();
        let frames = symbols.site(&trace, PROCESS, SiteId(1));
        let found: Vec<_> = frames.iter().map(|f| (f.function.as_str(), f.line, f.inlined)).collect();
        assert_eq!(found, [("inner", Some(7), true), ("outer", Some(12), false)], "{flags:?}");
        assert_eq!(frames[0].place().as_deref(), Some("named.c:7"));
        assert_eq!(symbols.data(&trace, PROCESS, data, Ticks(0)).as_deref(), Some("table+0x8"), "{flags:?}");
        assert_eq!(symbols.problems(), Vec::<String>::new());
    }
}

/// A frame of the preload library, which starts the program's threads, is left out of a site's
/// functions.
#[test]
fn the_captures_own_frames_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut trace, _) = program(folder.path(), &["-g"]);
    let path = "/opt/lib/baton/libbaton_preload.so".to_owned();
    trace.processes[0].modules.push(Module {
        bias: 0x100,
        start: 0x100,
        end: 0x200,
        build_id: Vec::new(),
        path,
        life: Module::ALWAYS,
    });
    trace.processes[0].sites.get_mut(&SiteId(1)).expect("the site").push(0x123);
    let mut symbols = Symbols::new();
    let frames = symbols.site(&trace, PROCESS, SiteId(1));
    assert_eq!(frames.iter().map(|f| f.function.as_str()).collect::<Vec<_>>(), ["inner", "outer"]);
    assert_eq!(symbols.problems(), Vec::<String>::new());
}

#[test]
fn without_debug_information_the_function_remains() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, _) = program(folder.path(), &["-g0"]);
    let mut symbols = Symbols::new();
    let frames = symbols.site(&trace, PROCESS, SiteId(1));
    assert_eq!(frames.iter().map(|f| f.function.as_str()).collect::<Vec<_>>(), ["outer"]);
    assert!(symbols.problems()[0].contains("no line numbers"), "{:?}", symbols.problems());
}

#[test]
fn a_stripped_a_changed_and_a_missing_file_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, data) = program(folder.path(), &["-s"]);
    let mut symbols = Symbols::new();
    let name = &symbols.site(&trace, PROCESS, SiteId(1))[0].function;
    assert!(name.starts_with("named+0x"), "{name}");
    assert!(symbols.data(&trace, PROCESS, data, Ticks(0)).expect("a name").starts_with("named+0x"));

    let (mut trace, _) = program(folder.path(), &["-g"]);
    trace.processes[0].modules[0].build_id = vec![1, 2, 3];
    let mut symbols = Symbols::new();
    symbols.site(&trace, PROCESS, SiteId(1));
    assert!(symbols.problems()[0].contains("has changed"), "{:?}", symbols.problems());

    trace.processes[0].modules[0].build_id = Vec::new();
    std::fs::remove_file(folder.path().join("named")).expect("the program goes");
    let mut symbols = Symbols::new();
    symbols.site(&trace, PROCESS, SiteId(1));
    assert!(symbols.problems()[0].contains("cannot be read"), "{:?}", symbols.problems());
    // An address that lies in no module is shown as a number.
    assert_eq!(symbols.code(&trace, PROCESS, 0x10, Ticks(0))[0].function, "0x10");
}

/// The site of a `std::lock_guard` lies in inlined functions of the standard library; the report
/// names the program's function that wanted the lock.
#[test]
fn a_cpp_site_is_named_after_the_programs_own_function() {
    if !baton_needs::has("c++", "a_cpp_site_is_named_after_the_programs_own_function") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, binary) = (folder.path().join("index.cc"), folder.path().join("index"));
    let text = r#"#include <mutex>
#include <cstdio>
#include <dlfcn.h>
#include <link.h>
extern "C" __attribute__((noinline, noclone)) int pthread_mutex_lock(pthread_mutex_t *) noexcept { static bool once; if (!once) { once = true;
    struct link_map *map; Dl_info info; dladdr1(__builtin_return_address(0), &info, (void **)&map, RTLD_DL_LINKMAP);
    std::printf("%lx %lx\n", (unsigned long)map->l_addr, (unsigned long)__builtin_return_address(0)); } return 0; }
struct Index {
    std::mutex lock;
    long entries = 0;
    __attribute__((noinline)) void add() {
        std::lock_guard<std::mutex> held(lock); // line 12
        entries++;
    }
};
int main() { static Index index; index.add(); return 0; }
"#;
    std::fs::write(&source, text).expect("the source");
    let compiled =
        Command::new("c++").args(["-O2", "-g", "-pthread", "-o"]).arg(&binary).arg(&source).arg("-ldl").output();
    let compiled = compiled.expect("c++");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let out = String::from_utf8(Command::new(&binary).output().expect("it runs").stdout).expect("text");
    let numbers: Vec<u64> = out.split_whitespace().map(|n| u64::from_str_radix(n, 16).expect("a number")).collect();
    let (lock, site, mode) = (baton_trace::Lock::mutex(0x10), SiteId(1), baton_trace::Mode::Exclusive);
    let thread = baton_trace::ThreadIndex(0);
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    builder.site(site, &numbers[1..]);
    builder.push(baton_trace::Ticks(1), thread, baton_trace::What::Acquire { lock, mode, site });
    builder.push(baton_trace::Ticks(2), thread, baton_trace::What::Release { lock, mode, site });
    let mut trace = builder.build();
    let (start, end) = (numbers[1] & !0xffff, numbers[1] + 0x1000);
    let path = binary.to_str().expect("text").to_owned();
    trace.processes[0].modules.push(Module {
        bias: numbers[0],
        start,
        end,
        build_id: Vec::new(),
        path,
        life: Module::ALWAYS,
    });
    let report = baton_report::Profile::of(trace).report;
    assert_eq!(report.sites[0].name, "Index::add (index.cc:12)", "{:?}", report.sites[0].frames);
    assert!(report.sites[0].frames.len() > 2, "inlined frames: {:?}", report.sites[0].frames);
    assert_eq!(report.locks[0].name, "in Index::add (index.cc:12)");
}
