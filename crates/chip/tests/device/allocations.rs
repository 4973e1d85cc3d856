//! A request and its answer allocate nothing of the host's memory.

use crate::common;
use baton_chip::device::mailbox::{OPEN, RECEIVE, SEND};
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The host's own allocator, with a count by thread of the host: other tests run beside this one.
struct Counting;

// SAFETY: it does what the system's allocator does; the count is a plain number without a
// destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller promises what `System.alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises what `System.dealloc` asks for.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller promises what `System.realloc` asks for.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The host's allocations during the second half of `letters` letters. A thread sends them to
/// itself: it does not wait for the answers of what it sends, and waits for each letter that it
/// receives.
fn allocations(chip: &Chip, letters: u64) -> u64 {
    let mut simulation = Simulation::new(chip, &Options::default()).expect("the host has memory");
    let at = Rc::new(RefCell::new([0; 3]));
    let out = at.clone();
    let device = || Simulated::device(0).expect("a device");
    simulation
        .spawn(Spawn::default(), move || {
            let own = device().call(OPEN, [2, 0]).value;
            for half in 0..2 {
                out.borrow_mut()[half] = ALLOCATIONS.get();
                for letter in 0..letters / 2 {
                    let taken = device().request(RECEIVE, [own, 0]);
                    drop(device().request(SEND, [own, letter]));
                    assert_eq!(taken.wait().value, letter);
                }
            }
            out.borrow_mut()[2] = ALLOCATIONS.get();
        })
        .expect("there is a core");
    simulation.run().expect("it ends");
    let [_, half, end] = *at.borrow();
    end - half
}

#[test]
fn a_request_allocates_nothing() {
    let clock = format!("device.clock_hz={}", common::chip(&[]).core.clock.0);
    let fixed =
        ["device.kind=mailbox", "device.count=1", "device.latency=10", "device.words=8", "device.outstanding=4"];
    let prices = ["device.call=300", "device.interrupt=700"];
    let wires = ["device.link=dedicated", "device.way=25", &clock];
    assert_eq!(allocations(&common::cores(2, &[&fixed[..], &prices, &wires].concat()), 10_000), 0);
    let mesh = ["device.link=network", "device.flits=2", "device.clock_hz=1_000_000_000", "device.places=2"];
    let all: Vec<String> = [&fixed[..], &prices, &mesh].concat().into_iter().map(str::to_owned).collect();
    let file = include_str!("../../../../chips/ocor64.toml");
    assert_eq!(allocations(&Chip::from_toml_at(file, "x.toml", Some(4), &all).expect("a right chip"), 10_000), 0);
}
