//! The time that the kernel takes and the places where it puts threads: system calls, ticks,
//! interrupts, migration, and its policy. A key that could not be measured well stays at 0, and its
//! comment says why.

use super::super::findings::Findings;
use super::Sheet;
use baton_chip::config::keys::Value;

/// Keys of the chip file that get a measured figure as it is, each with the name of that figure.
const PRICES: [(&str, &str); 4] =
    [("os.syscall", "syscall"), ("os.interrupt", "interrupt"), ("os.tick_cost", "tick"), ("os.migrate", "migration")];

impl Sheet<'_> {
    /// Writes the prices of the kernel other than those of futexes.
    pub(super) fn system(&mut self) {
        for (key, id) in PRICES {
            self.figure(key, id, 0.0, "");
            if let Some(why) = self.found.why_not(id) {
                self.comments.insert(key, format!("not told, so nothing is charged: {why}"));
            }
        }
        if self.found.figure("tick").is_some() {
            let how = "the kernel's own word (the coarse clock's resolution); the gaps come as often";
            self.put("os.tick", Value::Whole(self.cycles(self.found.kernel.tick_ns as f64)), how);
        } else {
            let how = "no ticks without their cost: slices end by a timer of their own";
            self.comments.insert("os.tick", how.into());
        }
    }

    /// Writes the scheduling policy of the kernel: by the kernel's version, and by where it puts
    /// woken threads.
    pub(super) fn policy(&mut self) {
        let kernel = &self.found.kernel.name;
        // Linux 6.6 brought the policy; Linux 6.12 brought the delayed dequeue that decides where
        // woken threads run.
        if version(kernel).is_none_or(|version| version < (6, 12)) {
            let how = format!("{kernel}: before Linux 6.12, or no Linux");
            self.put("os.scheduler", Value::Text("fair".into()), how);
            return;
        }
        let percent = |share: f64| format!("{:.0}%", share * 100.0);
        let Some(places) = self.found.places else {
            let how = format!("{kernel}; not measured where woken threads go: to idle CPUs, as Linux means them to");
            self.put("os.scheduler", Value::Text("eevdf".into()), how);
            return;
        };
        let sought = places.sought_idle;
        let (name, how) = match sought.share {
            Some(share) if share < 0.5 => {
                ("eevdf-guest", format!("{} of woken threads seek an idle CPU", percent(share)))
            }
            Some(share) => ("eevdf", format!("{} of woken threads seek an idle CPU", percent(share))),
            None => {
                let range = format!("{} to {}", percent(sought.low), percent(sought.high));
                ("eevdf", format!("{range} of woken threads seek an idle CPU, by batch: taken as Linux means it"))
            }
        };
        let pulled = places.pulled;
        let left_out = match pulled.share {
            Some(_) => String::new(),
            None => format!(
                "\nos.wake_pull is left out: {} to {} by batch, no share",
                percent(pulled.low),
                percent(pulled.high)
            ),
        };
        self.put("os.scheduler", Value::Text(name.into()), format!("{kernel}; {how}{left_out}"));
        if let Some(share) = pulled.share {
            let how = format!(
                "of {} threads woken from another CPU, which had had little to do, while theirs idled after work; {} to {} by batch",
                pulled.samples,
                percent(pulled.low),
                percent(pulled.high)
            );
            self.put("os.wake_pull", Value::Share((share * 1000.0).round() / 1000.0), how);
        }
    }
}

/// Linux's version, from the name of a release.
fn version(kernel: &str) -> Option<(u32, u32)> {
    let mut numbers = kernel.strip_prefix("Linux ")?.split(['.', '-', ' ']).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The lengths of the sleeps, as text.
pub(super) fn steps(found: &Findings) -> String {
    let all: Vec<String> = found.wake_by_sleep.iter().map(|w| format!("{}", w.slept_ns / 1_000)).collect();
    format!("{} µs", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn kernels_have_versions() {
        assert_eq!(version("Linux 6.18.44-x"), Some((6, 18)));
        assert_eq!(version("Linux 5.4-rc1"), Some((5, 4)));
        assert_eq!(version("Darwin 23"), None);
    }
}
