//! Idle states, as wake-ups show them: the longer a CPU has been idle, the longer its wake-up
//! takes. Where the times rise for good, a deeper state begins: first the CPU polls, then it is
//! halted, then come the deeper states.

use super::Sheet;
use super::system::steps;
use baton_chip::config::keys::Value;
use baton_host::costs::Spread;
use baton_host::costs::futex::PERCENTS;

/// A range of sleeps whose wake-ups take about as long.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    /// The longest of the sleeps, in nanoseconds.
    last: u64,
    latency: Spread,
}

/// A level begins where this wake-up and all later ones take over a quarter longer than the level
/// before. Noise alone makes some difference, but that difference goes down again.
const STEP: f64 = 1.25;

impl Level {
    /// The level of these sleeps and their wake-ups, of which there is at least one.
    fn of(wakes: &[(u64, Spread)]) -> Level {
        Level { last: wakes[wakes.len() - 1].0, latency: middle(wakes.iter().map(|(_, s)| *s)) }
    }
}

/// The middle of the medians, of the low ends and of the high ends.
fn middle(spreads: impl Iterator<Item = Spread> + Clone) -> Spread {
    let middle = |pick: fn(&Spread) -> f64| {
        let mut all: Vec<f64> = spreads.clone().map(|s| pick(&s)).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Spread {
        median: middle(|s| s.median),
        low: middle(|s| s.low),
        high: middle(|s| s.high),
        samples: spreads.clone().map(|s| s.samples).sum(),
    }
}

/// The levels of wake-ups, by the length of the sleep before.
fn levels(wakes: &[(u64, Spread)]) -> Vec<Level> {
    let mut found: Vec<Level> = Vec::new();
    let mut from = 0;
    while from < wakes.len() {
        let rises = |at: usize| {
            let before = middle(wakes[from..at].iter().map(|(_, s)| *s)).median;
            wakes[at..].iter().all(|(_, later)| later.median > STEP * before)
        };
        let end = (from + 1..wakes.len()).find(|&at| rises(at)).unwrap_or(wakes.len());
        found.push(Level::of(&wakes[from..end]));
        from = end;
    }
    found
}

/// Number of the shortest sleeps after which the CPU sees the woken thread by itself: the waker's
/// call takes less than half of what it takes after any longer sleep, because the waker sends no
/// interrupt. 0 if no sleep is like that, or all are.
fn polled(calls: &[f64]) -> usize {
    let cheap = |n: &usize| {
        let (polled, rest) = calls.split_at(*n);
        polled.iter().all(|call| rest.iter().all(|later| 2.0 * call < *later))
    };
    (1..calls.len()).rev().find(cheap).unwrap_or(0)
}

impl Sheet<'_> {
    /// Writes the wake-ups of CPUs that still poll for work, of halted CPUs, and of CPUs that have
    /// been idle for longer.
    pub(super) fn wakes(&mut self) {
        let call = self.median("futex-wake-none");
        let wakes: Vec<(u64, Spread)> =
            self.found.wake_by_sleep.iter().map(|w| (w.slept_ns, w.latency.less(call))).collect();
        let calls: Vec<f64> = self.found.wake_by_sleep.iter().map(|w| w.call.median).collect();
        let polled = polled(&calls);
        let mut levels = levels(&wakes[polled..]);
        self.spread(call, levels.first().map_or(0, |level| level.last));
        let tried = steps(self.found);
        let seen = match polled {
            0 => "whose wake-up was still fast",
            _ => {
                self.calls(polled, levels[0].last);
                levels.insert(0, Level::of(&wakes[..polled]));
                "after which the waker's call was still cheap"
            }
        };
        let [first, deeper @ ..] = &levels[..] else { return };
        let Some(halted) = deeper.first() else {
            let how = format!("wake of a sleeper, after any of the sleeps {tried}, less the call");
            self.price("os.wake_polling", &first.latency, &how);
            self.price("os.wake_idle", &first.latency, &how);
            let how = "wake-ups take as long after a short sleep as after a long one: no polling seen";
            self.put("os.idle_poll", Value::Whole(0), how);
            return;
        };
        let up_to = |ns: u64| format!("up to {} µs", ns / 1_000);
        let how = format!("wake of a sleeper that has slept {}, less the call", up_to(first.last));
        self.price("os.wake_polling", &first.latency, &how);
        let how = format!("wake of a sleeper that has slept longer, {}, less the call", up_to(halted.last));
        self.price("os.wake_idle", &halted.latency, &how);
        let how = format!("the longest of the sleeps {tried} {seen}");
        self.put("os.idle_poll", Value::Whole(self.cycles(first.last as f64)), how);
        let states: Vec<String> = deeper
            .windows(2)
            .map(|pair| format!("{}:{}", self.cycles(pair[0].last as f64), self.cycles(pair[1].latency.median)))
            .collect();
        if !states.is_empty() {
            let how = format!("sleeps, of {tried}, behind which wake-ups take a quarter longer for good");
            self.put("os.idle_states", Value::Text(states.join(" ")), how);
        }
    }

    /// Writes what the waker's call takes if the sleeper's CPU still polls, as after the `polled`
    /// shortest sleeps, and what it takes if that CPU needs an interrupt, after sleeps of up to
    /// `last` nanoseconds, which is how long waiters at a lock sleep.
    fn calls(&mut self, polled: usize, last: u64) {
        let rows = &self.found.wake_by_sleep;
        let until = rows.iter().take_while(|row| row.slept_ns <= last).count();
        let [polls, halted] = [&rows[..polled], &rows[polled..until]].map(|rows| middle(rows.iter().map(|w| w.call)));
        let up_to = |row: usize| format!("up to {} µs", rows[row].slept_ns / 1_000);
        let [short, long] = [up_to(polled - 1), up_to(until - 1)];
        self.price("os.futex_wake_polling", &polls, &format!("wake of a sleeper that has slept {short}, at the waker"));
        self.price("os.futex_wake", &halted, &format!("wake of a sleeper that has slept longer, {long}, at the waker"));
    }

    /// Writes how wake-ups vary behind sleeps of up to `last` nanoseconds, which is how long
    /// waiters at a lock sleep.
    fn spread(&mut self, call: f64, last: u64) {
        let rows = self.found.wake_by_sleep.iter().filter(|row| row.slept_ns <= last);
        let rows: Vec<_> = rows.map(|row| row.percentiles_ns).collect();
        let Some(text) = thousandths(&rows, call) else { return };
        let how = "wakes of sleepers behind short sleeps, less the call, by percent over the median: the middle of the sleeps'";
        self.put("os.wake_spread", Value::Text(text), how);
    }
}

/// In the form of a chip file: each percentile divided by its row's median, both less `call`, in
/// thousandths. The middle of the rows counts. `None` if no row's median is above `call`.
fn thousandths(rows: &[[f64; PERCENTS.len()]], call: f64) -> Option<String> {
    let middle = PERCENTS.iter().position(|&percent| percent == 50)?;
    let over = |row: &[f64; PERCENTS.len()], at: usize| (row[at] - call).max(0.0) / (row[middle] - call);
    let rows: Vec<_> = rows.iter().filter(|row| row[middle] > call).collect();
    let mut least = 0;
    let each = PERCENTS.iter().enumerate().map(|(at, percent)| {
        let mut all: Vec<f64> = rows.iter().map(|row| over(row, at)).collect();
        all.sort_by(f64::total_cmp);
        // The middles of different rows may fall even where each row rises.
        least = ((all[all.len() / 2] * 1000.0).round() as u32).clamp(least, 1_000_000);
        format!("{percent}:{least}")
    });
    (!rows.is_empty()).then(|| each.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(medians: &[f64]) -> Vec<(u64, Spread)> {
        let spread = |us: f64| Spread { median: us * 1e3, low: us * 900.0, high: us * 1_200.0, samples: 50 };
        medians.iter().enumerate().map(|(i, &us)| (20_000 << i, spread(us))).collect()
    }

    fn shown(medians: &[f64]) -> Vec<(u64, f64)> {
        levels(&recorded(medians)).iter().map(|level| (level.last / 1_000, level.latency.median / 1e3)).collect()
    }

    #[test]
    fn a_level_begins_where_wake_ups_are_slower_for_good() {
        // The CPU polls for up to 80 µs, is halted for up to 640 µs, and sleeps deeply after that.
        assert_eq!(shown(&[5.0, 5.2, 5.1, 20.0, 21.0, 19.0, 90.0, 88.0]), [(80, 5.1), (640, 20.0), (2_560, 90.0)]);
    }

    #[test]
    fn a_cpu_that_polls_is_told_by_the_cheap_call_of_the_waker() {
        assert_eq!(polled(&[0.8, 11.0, 10.9, 12.0, 16.5]), 1);
        assert_eq!(polled(&[0.8, 0.9, 0.7, 12.0, 11.0]), 3);
        assert_eq!(polled(&[0.8, 0.9, 11.0, 1.0, 12.0]), 0, "a cheap call comes behind");
        assert_eq!(polled(&[11.0, 12.0, 16.0]), 0, "each call sends an interrupt");
        assert_eq!(polled(&[0.8, 0.9, 0.8]), 0, "no call does");
        assert_eq!(polled(&[0.8]), 0);
        assert_eq!(polled(&[]), 0);
    }

    #[test]
    fn percentiles_are_told_over_the_median_less_the_call() {
        let row = |scale: f64| [3.0, 4.0, 5.0, 8.0, 11.0, 14.0, 16.0, 21.0, 31.0].map(|us| us * scale + 1.0 - scale);
        let text = thousandths(&[row(1.0), row(1.0), row(9.0)], 1.0);
        let over = "1:200 5:300 10:400 25:700 50:1000 75:1300 90:1500 95:2000 99:3000";
        assert_eq!(text.as_deref(), Some(over));
        assert_eq!(thousandths(&[], 1.0), None);
        assert!(baton_chip::config::WakeSpread::parse(over).is_some());
    }

    #[test]
    fn one_slow_wake_up_is_no_level() {
        assert_eq!(shown(&[15.0, 29.0, 16.0, 15.5, 17.0]), [(320, 16.0)]);
        assert_eq!(shown(&[15.0]), [(20, 15.0)]);
        assert_eq!(shown(&[]), []);
    }
}
