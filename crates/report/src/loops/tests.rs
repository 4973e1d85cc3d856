use super::{Code, decode, waits_at};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeSet;
use std::process::Command;

/// Functions whose names begin with `wait` wait in a loop; all others work.
const LOOPS: &str = r#"
#include <stdatomic.h>
#include <stddef.h>
struct node { _Atomic(struct node *) next; atomic_int locked; };
atomic_int flag, lock;
atomic_flag taken = ATOMIC_FLAG_INIT;
atomic_uint now_served, next_ticket;
volatile int plain;
void wait_flag(void) { while (!atomic_load(&flag)); }
void wait_plain(void) { while (plain == 0); }
void wait_test_and_set(void) { while (atomic_flag_test_and_set(&taken)); }
void wait_exchange(void) { while (atomic_exchange(&lock, 1)); }
void wait_bit(void) { while (atomic_fetch_or(&lock, 1) & 1); }
void wait_compare_exchange(void) { int free = 0; while (!atomic_compare_exchange_weak(&lock, &free, 1)) free = 0; }
void wait_look_first(void) { for (;;) { while (atomic_load(&lock)); if (!atomic_exchange(&lock, 1)) return; } }
void wait_ticket(void) { unsigned mine = atomic_fetch_add(&next_ticket, 1); while (atomic_load(&now_served) != mine); }
void wait_queue_lock(struct node *node) { while (atomic_load(&node->locked)); }
struct node *wait_successor(struct node *node) { struct node *next; while (!(next = atomic_load(&node->next))); return next; }
unsigned wait_even(void) { unsigned version; while ((version = atomic_load(&now_served)) & 1); return version; }
long sum(const int *a, long n) { long s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
long position(const char *a, int c) { long i = 0; while (a[i] != c) i++; return i; }
unsigned hash(const char *a) { unsigned h = 5381; while (*a) h = h * 33 + *a++; return h; }
long length(struct node *node) { long k = 0; while (node) { k++; node = node->next; } return k; }
struct node *last(struct node *node) { while (node->next) node = node->next; return node; }
unsigned random_number(unsigned s, long n) { for (long i = 0; i < n; i++) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; } return s; }
void fill(int *a, long n) { for (long i = 0; i < n; i++) a[i] = 7; }
void delay(void) { for (volatile int i = 0; i < 100000; i++); }
long turns(void) { long k = 0; while (!atomic_load(&flag)) k++; return k; }
void add(int by) { int old = atomic_load(&lock); while (!atomic_compare_exchange_weak(&lock, &old, old + by)); }
void count(long n) { for (long i = 0; i < n; i++) atomic_fetch_add(&lock, 1); }
int search(const int *a, int n, int k) { int lo = 0, hi = n; while (lo < hi) { int m = (lo + hi) / 2; if (a[m] < k) lo = m + 1; else hi = m; } return lo; }
int divisor(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
int wait_or_look(long n) { for (long i = 0; i < n; i++) if (atomic_load(&flag)) return 1; return 0; }
int main(void) { return 0; }
"#;

/// The same for C++, whose atomics are functions if the compiler does not optimise.
const ATOMICS: &str = r#"
#include <atomic>
std::atomic<bool> flag;
std::atomic_flag taken = ATOMIC_FLAG_INIT;
std::atomic<int> number;
extern "C" {
void wait_flag() { while (!flag.load()); }
void wait_test_and_set() { while (taken.test_and_set(std::memory_order_acquire)); }
void wait_exchange() { while (flag.exchange(true)); }
void wait_compare_exchange() { bool free = false; while (!flag.compare_exchange_weak(free, true)) free = false; }
long turns() { long k = 0; while (!flag.load()) k++; return k; }
void count(long n) { for (long i = 0; i < n; i++) number.fetch_add(1); }
}
int main() {}
"#;

/// A program's sections with code and constants.
struct Sections(Vec<(u64, Vec<u8>)>);

impl Code for Sections {
    fn bytes(&self, address: u64, most: u64) -> &[u8] {
        let inside = |(begin, bytes): &&(u64, Vec<u8>)| *begin <= address && address - begin < bytes.len() as u64;
        self.0.iter().find(inside).map_or(&[], |(begin, bytes)| {
            let at = (address - begin) as usize;
            &bytes[at..bytes.len().min(at + most as usize)]
        })
    }
}

/// Compiles a program, and calls `each` with the name of each of its functions and the loops that are found
/// from the function's addresses: where a loop begins, and its number of instructions.
fn functions(
    compiler: &str,
    (file, source): (&str, &str),
    level: &str,
    mut each: impl FnMut(&str, BTreeSet<(u64, usize)>),
) {
    let folder = std::env::temp_dir().join(format!("baton-loops-{}-{compiler}{level}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), source).unwrap();
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    command.args([level, "-fno-inline-functions", "-o"]).arg(&program).arg(folder.join(file));
    assert!(command.status().expect("a compiler").success(), "{compiler} {level}");
    let bytes = std::fs::read(&program).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let parsed = object::File::parse(&*bytes).unwrap();
    let kept = parsed.sections().filter(|section| matches!(section.name(), Ok(".text" | ".rodata")));
    let code = Sections(kept.map(|section| (section.address(), section.data().unwrap().to_vec())).collect());
    for symbol in parsed.symbols().filter(|symbol| symbol.is_definition() && symbol.size() > 0) {
        let (mut at, end) = (symbol.address(), symbol.address() + symbol.size());
        let mut found = BTreeSet::new();
        while at < end {
            found.extend(waits_at(&code, at).map(|waits| (waits.begin, waits.instructions)));
            let Some(instruction) = decode::decode(at, code.bytes(at, 15)) else { break };
            at = instruction.next;
        }
        each(symbol.name().unwrap(), found);
    }
}

/// Compares what is found in a program with the names of its functions. Returns the numbers of loops that
/// wait, and of functions that work.
fn compared(compiler: &str, source: (&str, &str), level: &str) -> (usize, usize) {
    let (mut waits, mut works) = (0, 0);
    functions(compiler, source, level, |name, found| match name.strip_prefix("wait_") {
        // A thread that looks for a set number of times goes on by itself.
        Some("or_look") | None => {
            assert!(found.is_empty(), "{name} at {level}: {found:x?}");
            works += 1;
        }
        Some(_) => {
            assert!(!found.is_empty(), "{name} at {level}");
            waits += 1;
        }
    });
    (waits, works)
}

#[test]
fn loops_that_only_another_thread_ends_are_told_from_those_that_work() {
    for level in ["-O0", "-O1", "-O2"] {
        let (waits, works) = compared("cc", ("loops.c", LOOPS), level);
        assert!(waits == 11 && works >= 15, "{level}: {waits} and {works}");
    }
}

#[test]
fn functions_that_a_loop_calls_belong_to_it() {
    let (waits, works) = compared("c++", ("atomics.cpp", ATOMICS), "-O0");
    assert!(waits == 4 && works >= 2, "{waits} and {works}");
}

#[test]
fn a_loops_instructions_are_counted() {
    let mut counts = Vec::new();
    functions("cc", ("loops.c", LOOPS), "-O2", |name, found| {
        if name == "wait_plain" {
            counts.extend(found.into_iter().map(|(_, instructions)| instructions));
        }
    });
    assert_eq!(counts, [3]);
}

#[test]
fn what_is_not_known_is_work() {
    // `rdtsc; jmp -4` and `jmp -2`: the time decides, or nothing does.
    let code = Sections(vec![(0x1000, vec![0x0f, 0x31, 0xeb, 0xfc]), (0x2000, vec![0xeb, 0xfe])]);
    assert_eq!(waits_at(&code, 0x1000), None);
    assert_eq!(waits_at(&code, 0x2000), None);
    assert_eq!(waits_at(&code, 0x3000), None, "there is no code");
}
