//! Says what differs from the last full run (2026-11-22, rules 2920d65165091114). No rule of a
//! claim does.

/// The paragraph at the head of the study's page that says what changed since the last full run.
pub(super) const CHANGED: &str = "Changed since the last full run (2026-11-22). No claim's rule. The programs: a third shape, crowds with meetings, in 13 of the 25, fitted \
on the baseline alone, so means over a program's draws are over all its shapes. Each draw also runs with marks at the home, which is ours, and under an oracle, which tells \
whether an order can change anything in it; draws whose overhead that changes by 5% or more run so under two further seeds. `never-sleep` and `cheap-sleep` moved to crowds with the order at the home, as on botss they could not fail; `reversed` is new; all three are also run with releases first in both arms, after a first look showed the home's order to owe much to its releases. \
Figure 10: shares with marks are of the original's 3,000 cycles, as the paper's are. Crowds have lines of their own and may meet, so that marks on releases can do something. \
The price of waking is open down to a sixteenth, the account is open, and `spin-park-granted` is one of the locks. Draws are refitted for each lock, kind of try and price \
before a set of choices is called implausible. New: prices of waking where the lock is granted to the woken thread, levels by places of a home's arbiter with gates and area, real programs with the \
order at the home and with `mcs` in software.";
