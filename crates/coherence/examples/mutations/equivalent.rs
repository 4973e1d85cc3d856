//! Mutants that make no difference, and why.

/// One reason why mutants make no difference, with the rows and changes to which it applies.
#[derive(Debug)]
pub(crate) struct Reason {
    /// The rows, as `controller state event`.
    rows: &'static [&'static str],
    changes: &'static [&'static str],
    /// Why no check can notice the change.
    pub(crate) why: &'static str,
}

impl Reason {
    /// Whether the reason applies to the mutant with this row and change.
    pub(crate) fn covers(&self, row: &str, change: &str) -> bool {
        self.rows.contains(&row) && self.changes.contains(&change)
    }
}

/// The reasons for all surviving mutants.
pub(crate) const REASONS: &[Reason] = &[
    Reason {
        rows: &["cache I OfferE", "cache IS_D DataE"],
        changes: &["next O"],
        why: "O may do less than E: the next store asks the home in vain. Slower, not wrong",
    },
    Reason {
        rows: &["cache O Evict", "cache O PushHome"],
        changes: &["`PutM > home` for `PutO > home`"],
        why: "the home goes by its directory; the two kinds are told apart for the counters only",
    },
    Reason {
        rows: &["cache M Evict", "cache M PushHome"],
        changes: &["`PutO > home` for `PutM > home`"],
        why: "the home goes by its directory; the two kinds are told apart for the counters only",
    },
    Reason {
        rows: &["cache MI_A FwdGetM", "cache MI_A Recall"],
        changes: &["next MI_A"],
        why: "only the PutAck comes after it, and it is taken alike",
    },
    Reason {
        rows: &["cache EI_A FwdGetM", "cache EI_A Recall"],
        changes: &["next EI_A"],
        why: "only the PutAck comes after it, and it is taken alike",
    },
    Reason {
        rows: &["cache OI_A FwdGetM", "cache OI_A Inv", "cache OI_A Recall"],
        changes: &["next OI_A"],
        why: "only the PutAck comes after it, and it is taken alike",
    },
    Reason {
        rows: &["cache SI_A Inv", "cache SI_A Recall"],
        changes: &["next SI_A"],
        why: "only the PutAck comes after it, and it is taken alike",
    },
    Reason {
        rows: &["home S PutS-last", "home O PutS-last"],
        changes: &["`sharers := none` for `sharers - requestor`"],
        why: "the sender is the only sharer",
    },
    Reason {
        rows: &["cache IS_D_O DataE", "cache IS_D_X DataE"],
        changes: &[
            "`DataS > deferred readers` before `complete`",
            "`line > deferred writer or home` before `complete`",
        ],
        why: "what completes is a load, which changes nothing, and all of it is one step",
    },
    Reason {
        rows: &["cache IS_D_X DataE"],
        changes: &["`complete once` for `complete`"],
        why: "nothing is kept here either; a link would break in the same step",
    },
    Reason {
        rows: &["cache IS_D_X DataE", "cache IM_AD_X DataM", "cache IM_A_X Ack-last"],
        changes: &["`line > deferred writer or home` before `DataS > deferred readers`"],
        why: "both get the same data in the same step; the network orders neither",
    },
];
