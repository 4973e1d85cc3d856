//! The policies of `baton-sched` that can direct a kernel: those with a placement whose facts this
//! crate can see.

use baton_host::BadInput;
use baton_sched::placement::Placement;
use baton_sched::{Cpus, Params, busy_fcs, crit, lavd, min_tlp, pa, pa_speedup, rr, static_ipc};

/// A policy that places threads.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// The name in the registry of `baton-sched`.
    pub name: &'static str,
    /// Whether the policy needs the programs' measured speed-ups.
    pub by_speedup: bool,
    /// Whether the policy acts on what threads tell of locks, and does nothing without.
    pub hears_locks: bool,
    pub(crate) make: fn(&Cpus, &Params) -> Box<dyn Placement>,
}

const fn policy(name: &'static str, make: fn(&Cpus, &Params) -> Box<dyn Placement>) -> Chosen {
    Chosen { name, by_speedup: false, hears_locks: false, make }
}

/// The policies, in the order in which they are listed.
pub const POLICIES: &[Chosen] = &[
    policy(busy_fcs::POLICY.name, busy_fcs::placement),
    policy(rr::POLICY.name, rr::placement),
    policy(min_tlp::POLICY.name, min_tlp::placement),
    policy(pa::POLICY.name, pa::placement),
    Chosen { by_speedup: true, ..policy(static_ipc::POLICY.name, static_ipc::placement) },
    Chosen { by_speedup: true, ..policy(pa_speedup::POLICY.name, pa_speedup::placement) },
    Chosen { hears_locks: true, ..policy(crit::POLICY.name, crit::placement) },
    Chosen { hears_locks: true, ..policy(lavd::POLICY.name, lavd::placement) },
];

/// Returns the policy with this name.
///
/// # Errors
/// If no policy has the name, or the policy cannot direct this kernel; the error says why.
pub fn find(name: &str) -> Result<&'static Chosen, BadInput> {
    if let Some(found) = POLICIES.iter().find(|policy| policy.name == name) {
        return Ok(found);
    }
    let names = POLICIES.iter().map(|policy| policy.name);
    let why = match name {
        "linux" | "amp-default" => "is what the kernel does without `baton sched`",
        _ if baton_sched::find(name).is_some() => "is not one that can direct a kernel",
        _ => return Err(BadInput::unknown("policy", name, names)),
    };
    let list = names.collect::<Vec<_>>().join(", ");
    Err(BadInput::new(format!("the policy `{name}` {why}; expected one of {list}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_found_or_refused_with_the_reason() {
        for policy in baton_sched::policies() {
            match find(policy.name) {
                Ok(found) => assert_eq!(found.name, policy.name),
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.starts_with(&format!("the policy `{}` ", policy.name)), "{said}");
                    assert!(
                        said.ends_with("expected one of busy-fcs, rr, min-tlp, pa, static-ipc, pa-speedup, crit, lavd")
                    );
                }
            }
        }
        let slip = find("min_tlp").unwrap_err();
        assert_eq!(slip.advice(), Some("did you mean `min-tlp`?"), "{slip}");
    }

    /// A policy that is not known to listen would get no notices, and look as if it had no effect.
    #[test]
    fn policies_that_listen_to_locks_are_known() {
        let cpus = crate::setup::tests::cpus("fast slow");
        let params = crate::setup::params(10_000_000);
        for policy in POLICIES {
            let placement = (policy.make)(&cpus, &params);
            assert_eq!(placement.hears_locks() || placement.sees_futexes(), policy.hears_locks, "{}", policy.name);
        }
    }
}
