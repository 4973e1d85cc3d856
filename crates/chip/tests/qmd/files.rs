//! Chip files with a queue device: which settings are accepted, and which are refused.

use super::{allocate, chip, dequeue, enqueue, run, word};
use baton_chip::Chip;
use baton_machine::device::Ticket;

fn refused(settings: &[&str]) -> String {
    let text = include_str!("../../../../chips/caf16.toml");
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(text, "caf16.toml", &settings).expect_err("a chip that cannot be").to_string()
}

#[test]
fn what_does_not_fit_is_refused() {
    for (settings, says) in [
        (&["device.outstanding=17"][..], "key `device.qmd.depth` is 16; expected at least device.outstanding, 17"),
        (&["device.qmd.entries=0"], "key `device.qmd.entries` is 0; expected a whole number from 1"),
        (&["device.qmd.queues=0"], "key `device.qmd.queues`"),
        (&["device.qmd.buffers=own"], "expected \"shared\" or \"context\""),
        (&["device.qmd.engines=3"], "expected a whole number from 1 to 2"),
    ] {
        let error = refused(settings);
        assert!(error.contains(says), "{settings:?}: {error}");
    }
    // Where contexts share a buffer, what finds no room waits in the device's port.
    chip(&["device.outstanding=17", "device.qmd.buffers=shared"]);
}

#[test]
fn the_papers_chips_have_devices_that_work() {
    let text = include_str!("../../../../chips/caf64.toml");
    let chip64 = Chip::from_toml(text, "caf64.toml").expect("a right chip");
    assert_eq!(chip64.devices.as_ref().map(|devices| devices.count), Some(16));
    for chip in [chip(&[]), chip64] {
        let body = || {
            let queue = allocate(128, 1);
            let tickets: Vec<_> = (0..128).map(|item| enqueue(queue, item)).collect();
            tickets.into_iter().for_each(|ticket| assert_eq!(word(ticket.wait()), 0));
            (0..128).for_each(|item| assert_eq!(word(dequeue(queue).wait()), item));
        };
        run(&chip, 1, vec![(0, Box::new(body))]).expect("it ends");
    }
}
