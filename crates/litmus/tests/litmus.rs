//! Litmus tests are read as herd reads them, wrong ones are explained, and the enumeration of
//! x86-TSO gives the verdicts that are known.
#![expect(clippy::disallowed_methods, reason = "the workload runs on the native machine")]

use baton_litmus::run::{Meet, Round};
use baton_litmus::{Test, tso};
use baton_machine::Native;
use baton_machine::units::Cycles;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

#[path = "litmus-queues/tests.rs"]
mod queues;

/// The answer to each test's question under x86-TSO ([`Test::observed`]), by file.
const VERDICTS: &[(&str, bool)] = &[
    ("fences/3.SB", true),
    ("fences/3.SB+mfences", false),
    ("fences/R+mfence", false),
    ("fences/RWC+mfence", false),
    ("fences/SB+mfence+po", true),
    ("fences/SB+mfences", false),
    ("fences/SB+sfences", true),
    ("locked/IRIW+locks", false),
    ("locked/MP+xadd", false),
    ("locked/SB+lock-other", false),
    ("locked/SB+xchg+po", true),
    ("locked/SB+xchgs", false),
    ("locked/add-long", true),
    ("locked/and+or+xor", true),
    ("locked/cmpxchg-fails", false),
    ("locked/cmpxchg-one-wins", true),
    ("locked/inc+inc", true),
    ("locked/sub+xadd", true),
    ("locked/xchg-mutex", true),
    ("plain/2+2W", false),
    ("plain/CoRR", false),
    ("plain/CoWR", true),
    ("plain/IRIW", false),
    ("plain/LB", false),
    ("plain/MP", false),
    ("plain/MP+branch", false),
    ("plain/R", true),
    ("plain/RWC", true),
    ("plain/S", false),
    ("plain/SB", true),
    ("plain/SB+long", true),
    ("plain/SB+pointer", true),
    ("plain/SB+rfi", true),
    ("plain/WRC", false),
    ("plain/inc", true),
    ("plain/n6", true),
];

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    files.sort_by_key(|path| name(path));
    files
}

fn name(path: &Path) -> String {
    let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy();
    format!("{folder}/{}", path.file_stem().unwrap().to_string_lossy())
}

fn read(path: &Path) -> Test {
    Test::parse(&std::fs::read_to_string(path).unwrap(), &path.display().to_string()).unwrap()
}

#[test]
fn the_enumeration_gives_the_known_verdicts() {
    let found: Vec<String> = files().iter().map(|path| name(path)).collect();
    let listed: Vec<&str> = VERDICTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, listed, "a file without a verdict, or a verdict without a file");
    for (path, (name, expected)) in files().iter().zip(VERDICTS) {
        let test = read(path);
        let states = tso::allowed(&test, 100_000).unwrap();
        assert_eq!(test.observed(states.iter()), *expected, "{name}");
    }
}

#[derive(Clone)]
struct Met(Arc<Barrier>);
impl Meet for Met {
    fn meet(&self, _: u32, _: Cycles) {
        self.0.wait();
    }
}

/// On an x86-64 host the real processor must stay within the enumeration, too.
#[test]
#[cfg(target_arch = "x86_64")]
fn this_processor_stays_within_the_enumeration() {
    for path in files() {
        let test = Arc::new(read(&path));
        let states = tso::allowed(&test, 100_000).unwrap();
        let meet = Met(Arc::new(Barrier::new(test.threads.len())));
        let ready = Round { runs: 60, seed: 3, stride: 8, line: 8 }.ready::<Native>(&test, &meet);
        let threads: Vec<_> = ready.bodies.into_iter().map(std::thread::spawn).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let seen = (ready.finals)();
        assert_eq!(seen.values().sum::<u64>(), 60);
        for state in seen.keys() {
            assert!(states.contains(state), "{}: {}", name(&path), test.describe(state));
        }
    }
}

/// A test around one line of code for each thread.
fn wrapped(initial: &str, code: &str, condition: &str) -> String {
    let threads = code.split('|').count();
    let names: Vec<String> = (0..threads).map(|i| format!("P{i}")).collect();
    format!("X86_64 T\n{{ {initial} }}\n {} ;\n {code} ;\n{condition}\n", names.join(" | "))
}

#[test]
fn what_is_not_supported_is_named_with_its_line() {
    let good = "exists (x=1)";
    let cases = [
        (String::new(), 1, "the file is empty"),
        ("PPC SB\n".into(), 1, "`PPC` is not supported; expected `X86_64`"),
        ("X86_64\n".into(), 1, "the test has no name"),
        ("X86_64 T\n P0 ;\n".into(), 1, "there is no initial state"),
        ("X86_64 T\n{ x=0;\n P0 ;\n".into(), 2, "never closed"),
        ("X86_64 T\n(* open\n{}\n".into(), 2, "a comment is never closed"),
        (wrapped("x=a;", "nop", good), 2, "`a` is no number"),
        (wrapped("uint8_t x;", "nop", good), 2, "type `uint8_t` is not supported"),
        (wrapped("3:rax=0;", "nop", good), 2, "there is no thread 3 (threads: 1)"),
        (wrapped("0:st0=0;", "nop", good), 2, "`st0` is no register"),
        (wrapped("", "vmovdqa (x),%rax", good), 4, "instruction `vmovdqa` is not supported; supported: mov, xchg"),
        (wrapped("", "movq $1,8(x)", good), 4, "address `8(x)` is not supported"),
        (wrapped("", "movq (%rdi),%rax", good), 4, "the initial state gives 0:rdi no address"),
        (wrapped("0:rdi=x;", "xchgq %rdi,(%rdi)", good), 4, "computes the address in rdi"),
        (wrapped("", "mov $1,(x)", good), 4, "the width is not clear"),
        (wrapped("", "movq $1,%eax", good), 4, "another width"),
        (wrapped("uint64_t x;", "movl $1,(x)", good), 4, "accesses of mixed size are not supported"),
        (wrapped("", "movq (x),(y)", good), 4, "these operands of `mov` are not supported"),
        (wrapped("", "lock movq $1,(x)", good), 4, "these operands of `lock mov`"),
        (wrapped("", "xaddq %rax,(x)", good), 4, "these operands of `xadd`"),
        (wrapped("", "jmp nowhere", good), 4, "P0 has no label `nowhere`"),
        (wrapped("", "again: jmp again", good), 4, "loops are not supported"),
        (wrapped("", "movq $1,(x)", ""), 4, "there is no condition"),
        (wrapped("", "movq $1,(x)", "exists (y=1)"), 5, "`y` is no location of this test"),
        (wrapped("", "movq $1,(x)", "exists (1:rax=1)"), 5, "there is no thread `1` (threads: 1)"),
        (wrapped("", "movq $1,(x)", "exists (x=1"), 5, "expected `)`"),
        (wrapped("", "movq $1,(x)", "exists (x)"), 5, "expected `=`"),
        (wrapped("", "movq $1,(x)", "exists (x=1) x"), 5, "`x` is left over"),
        (wrapped("", "movq $1,(x)", &format!("exists {}", "(".repeat(100_000))), 5, "levels of parentheses"),
        ("X86_64 T\n{}\n P0 | P2 ;\n".into(), 3, "expected `P1`, found `P2`"),
        ("X86_64 T\n{}\n P0 | P1 ;\n nop ;\nexists (x=1)\n".into(), 4, "1 columns, expected 2"),
        ("X86_64 T\n{}\n P0 ;\n nop\nexists (x=1)\n".into(), 4, "expected `;` at the end of the row"),
    ];
    for (text, line, expected) in cases {
        let error = Test::parse(&text, "t.litmus").expect_err(&text);
        assert!(error.message.contains(expected), "expected `{expected}`, got `{error}` of\n{text}");
        assert_eq!((error.file.as_str(), error.line), ("t.litmus", line), "{error}\n{text}");
    }
}

#[test]
fn filters_locations_and_comments_are_read() {
    let text = "X86_64 all of it\n\"doc\"\nCycle=x\n{ x=7; (* a (* nested *)\n comment *) 0:r8=-1; }\n P0 ;\n \
                movq %r8,%rax ;\nlocations [x; 0:r8;]\nfilter (x=7 \\/ false)\nforall (not (0:rax=0x1) /\\ true)\n";
    let test = Test::parse(text, "t").unwrap();
    let states: Vec<_> = tso::allowed(&test, 10).unwrap().into_iter().collect();
    assert_eq!(states.len(), 1);
    let all = u64::MAX;
    assert_eq!(test.describe(&states[0]), format!("0:rax={all}; 0:r8={all}; x=7;"));
    assert!(test.observed(states.iter()));
}

/// Bytes cut off anywhere, or replaced, give an error or a test, never a panic.
#[test]
fn damaged_files_do_not_panic() {
    for path in files().iter().step_by(5) {
        let text = std::fs::read_to_string(path).unwrap();
        for at in 0..text.len() {
            let _ = Test::parse(&text[..at], "cut");
            for with in ["(", ":", "%", ";", "|", "§"] {
                let _ = Test::parse(&format!("{}{with}{}", &text[..at], &text[at + 1..]), "replaced");
            }
        }
    }
}
