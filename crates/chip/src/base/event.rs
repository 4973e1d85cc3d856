//! The engine's events, each packed into the number by which the queue knows it.
//!
//! The queue keeps an entry for every number up to the largest in use, so the numbers are dense.
//! Thread `n` has the numbers `4n`, `4n + 1` and `4n + 3`. The numbers `4n + 2` belong to the chip
//! for the first six `n` (devices, clocks, switches, the policy's alarm, arrivals, the governor),
//! and to the timers of CPUs 0, 1 and so on after that. Which events happen first within a moment
//! is the queue's business and does not depend on the numbers.

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u32);

/// The unpacked form of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A thread's own operation, wait or computation is over.
    Thread(u32),
    /// A sleeping thread's deadline has come.
    Timeout(u32),
    /// The store at the head of a thread's buffer has been written.
    Store(u32),
    /// The timer of a CPU is due: the tick, or the scheduling policy's timer.
    Timer(u32),
    /// An event of devices or their packets is due.
    Devices,
    /// A planned change of a core's clock is due.
    Clocks,
    /// A planned switch of a core, off or on, is due.
    Switches,
    /// The scheduling policy's alarm is due.
    Alarm,
    /// An application begins.
    Arrivals,
    /// The governor's period is over.
    Governor,
}

/// The number of events of the chip as a whole, which come before the timers of its CPUs.
const CHIP: u32 = 6;

impl Event {
    /// An event of devices or their packets is due.
    pub(crate) const DEVICES: Event = Event(2);
    /// A planned change of a core's clock is due.
    pub(crate) const CLOCKS: Event = Event(4 + 2);
    /// A planned switch of a core, off or on, is due.
    pub(crate) const SWITCHES: Event = Event(2 * 4 + 2);
    /// The scheduling policy's alarm is due.
    pub(crate) const ALARM: Event = Event(3 * 4 + 2);
    /// An application begins.
    pub(crate) const ARRIVALS: Event = Event(4 * 4 + 2);
    /// The governor's period is over.
    pub(crate) const GOVERNOR: Event = Event(5 * 4 + 2);

    /// A thread's own operation, wait or computation is over.
    #[inline(always)]
    pub(crate) fn thread(thread: u32) -> Event {
        Event(thread * 4)
    }

    /// A sleeping thread's deadline has come.
    #[inline(always)]
    pub(crate) fn timeout(thread: u32) -> Event {
        Event(thread * 4 + 1)
    }

    /// The timer of a CPU is due: the tick, or the scheduling policy's timer.
    #[inline(always)]
    pub(crate) fn timer(cpu: u32) -> Event {
        Event((CHIP + cpu) * 4 + 2)
    }

    /// The store at the head of a thread's buffer has been written.
    #[inline(always)]
    pub(crate) fn store(thread: u32) -> Event {
        Event(thread * 4 + 3)
    }

    /// The unpacked form.
    #[inline(always)]
    pub(crate) fn happening(self) -> Happening {
        let number = self.0 / 4;
        match self.0 % 4 {
            0 => Happening::Thread(number),
            1 => Happening::Timeout(number),
            3 => Happening::Store(number),
            _ => match number {
                0 => Happening::Devices,
                1 => Happening::Clocks,
                2 => Happening::Switches,
                3 => Happening::Alarm,
                4 => Happening::Arrivals,
                5 => Happening::Governor,
                _ => Happening::Timer(number - CHIP),
            },
        }
    }
}

impl From<Event> for u32 {
    #[inline(always)]
    fn from(event: Event) -> u32 {
        event.0
    }
}

impl From<u32> for Event {
    #[inline(always)]
    fn from(number: u32) -> Event {
        Event(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_dense_and_distinct() {
        let mut all = vec![
            (Event::DEVICES, Happening::Devices),
            (Event::CLOCKS, Happening::Clocks),
            (Event::SWITCHES, Happening::Switches),
            (Event::ALARM, Happening::Alarm),
            (Event::ARRIVALS, Happening::Arrivals),
            (Event::GOVERNOR, Happening::Governor),
        ];
        for number in 0..10 {
            all.push((Event::thread(number), Happening::Thread(number)));
            all.push((Event::timeout(number), Happening::Timeout(number)));
            all.push((Event::store(number), Happening::Store(number)));
        }
        all.extend((0..4).map(|cpu| (Event::timer(cpu), Happening::Timer(cpu))));
        all.sort_by_key(|(event, _)| *event);
        for (number, (event, happening)) in (0..).zip(all) {
            assert_eq!(u32::from(event), number, "{happening:?}");
            assert_eq!(event.happening(), happening);
        }
    }
}
