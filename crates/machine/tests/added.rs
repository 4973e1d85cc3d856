//! Wait policies that a program adds. The test has a program to itself, because the list of
//! policies closes when it is first read.

use baton_machine::wait::{Argument, Between, Idle, POLICIES, Steps, WaitInfo, add, policies};
use baton_machine::{Atomic, Machine, Native, Ordering, Wait, WaitResult};

const NAP: WaitInfo = WaitInfo {
    name: "nap",
    what: "try n times with PAUSE between, then futex",
    source: "-",
    limits: "",
    argument: Some(Argument { bare: 32, least: 1, most: u32::MAX, shown_if_bare: true }),
};

#[test]
fn an_added_policy_is_found_by_name_and_carried_out() {
    let watch = WaitInfo { name: "watch", argument: None, ..NAP };
    add(NAP, |n| Steps::tries_then(n, Between::Pause, Idle::Futex)).unwrap();
    add(watch, |_| Steps::tries(Between::Pause)).unwrap();
    let refused = |info, steps| add(info, steps).unwrap_err().to_string();
    assert_eq!(refused(NAP, |_| Steps::idle(Idle::Futex)), "another wait policy is named `nap`");
    assert_eq!(
        refused(WaitInfo { name: "spin", ..NAP }, |_| Steps::idle(Idle::Futex)),
        "another wait policy is named `spin`"
    );
    let endless = refused(WaitInfo { name: "endless", ..NAP }, |n| Steps { tries: n, ..Steps::tries(Between::Pause) });
    assert_eq!(endless, "wait policy `endless`: an idle wait follows tries that end, and no others");

    let nap: Wait = "nap(7)".parse().unwrap();
    assert_eq!((nap.to_string(), nap.info().name, nap.parks()), ("nap(7)".to_owned(), "nap", true));
    assert_eq!(nap.steps(), Steps::tries_then(7, Between::Pause, Idle::Futex));
    let bare: Wait = "nap".parse().unwrap();
    assert_eq!((bare.to_string(), bare.steps().tries), ("nap(32)".to_owned(), 32));
    let watch: Wait = "watch".parse().unwrap();
    assert_eq!((watch.to_string(), watch.parks()), ("watch".to_owned(), false));
    let unknown = "nop".parse::<Wait>().unwrap_err().to_string();
    assert!(unknown.contains("watch") && unknown.contains("nap(n) with n up to 16777215"), "{unknown}");
    assert!("nap(16777216)".parse::<Wait>().is_err());
    assert_eq!(policies().len(), POLICIES.len() + 2);

    for wait in [nap, watch] {
        assert_eq!(Native::check(wait), Ok(()));
        let cell = &<Native as Machine>::Atomic::<u32>::new(0);
        std::thread::scope(|threads| {
            let waiter = threads.spawn(move || Native::wait_while(cell, 0, wait, None));
            cell.store(1, Ordering::Release);
            Native::wake::<u32>(cell, 1, wait);
            assert!(matches!(waiter.join().unwrap(), WaitResult::Changed(1)), "{wait}");
        });
    }
    let late = refused(WaitInfo { name: "late", ..NAP }, |_| Steps::idle(Idle::Futex));
    assert!(late.starts_with("wait policy `late` comes too late"), "{late}");
}
