//! A log of what a governor was told and answered. It can be replayed: the same periods give the
//! same bytes.
//!
//! Each line is a period. It holds the length and the number of CPUs that run threads; for each CPU
//! its clock, whether it has a thread, and its five sums; then `:` and the clocks of the answer.

use super::{Governor, Period, Sample, Spent};
use baton_units::{Cycles, Hertz};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

/// A governor whose periods and answers are logged.
pub struct Logged {
    inner: Box<dyn Governor>,
    log: Rc<RefCell<String>>,
}

impl Logged {
    /// Wraps a governor. Returns it with the log, which grows with each period.
    pub fn new(inner: Box<dyn Governor>) -> (Logged, Rc<RefCell<String>>) {
        let log = Rc::<RefCell<String>>::default();
        (Logged { inner, log: log.clone() }, log)
    }
}

impl Governor for Logged {
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz> {
        let answer = self.inner.decide(period);
        let mut log = self.log.borrow_mut();
        let _ = write!(log, "{} {}", period.length.0, period.running);
        for sample in period.samples {
            let Spent { computing, memory, spinning, still, idle } = sample.spent;
            let _ = write!(log, " {} {}", sample.clock.0, u32::from(sample.has_thread));
            [computing, memory, spinning, still, idle].into_iter().for_each(|part| _ = write!(log, " {}", part.0));
        }
        log.push(':');
        answer.iter().for_each(|clock| _ = write!(log, " {}", clock.0));
        log.push('\n');
        answer
    }
}

/// Number of fields of a sample in a log.
const FIELDS: usize = 7;

/// Tells the periods of a log to a governor. Returns the new log, with what the governor answers
/// now, or `None` if `log` is not a log.
pub fn replay(log: &str, governor: Box<dyn Governor>) -> Option<String> {
    let (mut logged, new) = Logged::new(governor);
    for line in log.lines() {
        let heard = line.split_once(':')?.0;
        let numbers: Vec<u64> = heard.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let (&[length, running], samples) = numbers.split_at_checked(2)? else { return None };
        let samples: Vec<Sample> = samples.chunks(FIELDS).map(sample).collect::<Option<_>>()?;
        logged.decide(&Period { length: Cycles(length), running: u32::try_from(running).ok()?, samples: &samples });
    }
    Some(new.take())
}

fn sample(numbers: &[u64]) -> Option<Sample> {
    let &[clock, has_thread, computing, memory, spinning, still, idle] = numbers else { return None };
    let [computing, memory, spinning, still, idle] = [computing, memory, spinning, still, idle].map(Cycles);
    let spent = Spent { computing, memory, spinning, still, idle };
    Some(Sample { clock: Hertz(clock), has_thread: has_thread != 0, spent })
}
