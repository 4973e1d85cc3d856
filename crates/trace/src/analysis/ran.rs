//! How long threads ran inside a window: what is left of their lives there without their waits and
//! without their time off the CPU.

use super::off_cpu::ThreadOffCpu;
use super::window::Window;
use crate::clock::Ticks;
use crate::trace::Trace;

/// A thread's last event, the number of waits that it is in, and its time in no wait so far.
#[derive(Clone, Copy, Default)]
struct Awake {
    last: Option<Ticks>,
    waits: u32,
    time: Ticks,
}

/// Returns for each thread how long it ran on a CPU inside the window. `off_cpu` is what
/// [`super::off_cpu()`] returns.
pub fn ran(trace: &Trace, off_cpu: &[ThreadOffCpu], window: &Window) -> Vec<Ticks> {
    let mut threads = vec![Awake::default(); trace.threads.len()];
    for event in trace.complete_events() {
        let Some(thread) = threads.get_mut(event.thread.index()) else { continue };
        let last = thread.last.unwrap_or(event.time);
        if thread.waits == 0 {
            thread.time += window.overlap(last, event.time);
        }
        thread.last = Some(event.time.max(last));
        match event.what.wait_edge() {
            Some(true) => thread.waits += 1,
            Some(false) => thread.waits = thread.waits.saturating_sub(1),
            None => {}
        }
    }
    let off = |off: &ThreadOffCpu| off.stretches.iter().map(|s| window.overlap(s.begin, s.end)).sum::<Ticks>();
    threads.iter().zip(off_cpu).map(|(thread, of)| Ticks(thread.time.0.saturating_sub(off(of).0))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::off_cpu::off_cpu;
    use super::*;
    use crate::builder::TraceBuilder;
    use crate::clock::Clock;
    use crate::event::{How, Lock, Mode, OffReason, SiteId, What};

    /// The thread works from 10 to 30, waits for a lock until 50, works until 60, and is off its
    /// CPU until 80. The window begins at 20 and ends at 90.
    #[test]
    fn waits_and_time_off_the_cpu_and_outside_of_the_window_do_not_count() {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let thread = trace.thread("worker");
        let (lock, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId(1));
        trace.push(Ticks(10), thread, What::OnCpu { tid: 0, cpu: 0 });
        trace.push(Ticks(30), thread, What::Request { lock, mode, site });
        trace.push(Ticks(50), thread, What::Acquired { lock, mode, how: How::OPAQUE });
        trace.push(Ticks(60), thread, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        trace.push(Ticks(80), thread, What::OnCpu { tid: 0, cpu: 0 });
        trace.push(Ticks(100), thread, What::Release { lock, mode, site });
        let trace = trace.build();
        let within =
            |begin, end| ran(&trace, &off_cpu(&trace), &Window::between(&trace, &[(Ticks(begin), Ticks(end))]));
        assert_eq!(within(20, 90), [Ticks(10 + 10 + 10)]);
        assert_eq!(within(0, 100), [Ticks(20 + 10 + 20)]);
        assert_eq!(within(32, 48), [Ticks(0)]);
    }
}
