//! A scheduling policy, added to Baton: the fair policy with time slices four times as long.

use baton_cli::sched::{Params, Policy, fair};

pub const POLICY: Policy = Policy {
    name: "my-patient",
    what: "as fair, with time slices four times as long",
    source: "-",
    make: |cpus, params| {
        let mut params: Params = *params;
        params.time_slice.0 *= 4;
        (fair::POLICY.make)(cpus, &params)
    },
};
