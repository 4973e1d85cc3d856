//! Arbiters that a program adds. The test has a program to itself, because the list of arbiters
//! closes when it is first read.

use baton_noc::arbiter::{
    self, Arbiter, ArbiterInfo, ArbiterKind, Contender, Matrix, Ranked, Registered, RoundRobin, add,
};
use baton_noc::experiment::Experiment;
use baton_noc::traffic::Flow;
use baton_noc::{Header, Rank};

/// Defines a type that arbitrates like a built-in arbiter but has another name in the registry.
macro_rules! renamed {
    ($Own:ident, $name:literal, $Built:ident) => {
        #[derive(Clone, Default)]
        struct $Own($Built);

        impl Registered for $Own {
            const INFO: ArbiterInfo = ArbiterInfo { name: $name, what: "as the built-in one", starves: false };
            fn of(ranked: &Ranked) -> $Own {
                $Own(<$Built as Registered>::of(ranked))
            }
        }

        impl Arbiter for $Own {
            type State = <$Built as Arbiter>::State;
            const RANKS: bool = $Built::RANKS;
            fn state(&self, requesters: usize) -> Self::State {
                self.0.state(requesters)
            }
            fn key(&self, state: &Self::State, requester: u32, who: impl FnOnce() -> Contender) -> u64 {
                self.0.key(state, requester, who)
            }
            fn pick(&self, state: &Self::State, set: u64, shift: u32, who: impl Fn(u32) -> Contender) -> u32 {
                self.0.pick(state, set, shift, who)
            }
            fn won(&self, state: &mut Self::State, requester: u32) {
                self.0.won(state, requester);
            }
            fn rank(&self, who: Contender) -> u64 {
                self.0.rank(who)
            }
        }
    };
}

renamed!(OwnMatrix, "own-matrix", Matrix);
renamed!(OwnRanked, "own-ranked", Ranked);
renamed!(Taken, "round-robin", RoundRobin);

#[test]
fn an_added_arbiter_is_found_by_name_and_arbitrates_as_if_it_were_built_in() {
    add::<OwnMatrix>().unwrap();
    add::<OwnRanked>().unwrap();
    let refused = [add::<OwnMatrix>(), add::<Taken>()].map(|added| added.unwrap_err().to_string());
    assert_eq!(refused, ["own-matrix", "round-robin"].map(|name| format!("another arbiter is named `{name}`")));
    assert!(arbiter::names().ends_with(&["own-matrix", "own-ranked"]));
    let unknown = "own-matrx".parse::<ArbiterKind>().unwrap_err().to_string();
    assert!(unknown.contains("did you mean `own-matrix`?"), "{unknown}");

    for (own, built_in) in [("own-matrix", "matrix"), ("own-ranked", "ocor")] {
        let run = |name: &str| {
            let mut experiment = Experiment { cycles: 2000, ..Experiment::default() };
            experiment.network.arbiter = name.parse().unwrap();
            // Some packets have ranks.
            let ranked = Header { class: 0, rank: Rank::new(3) };
            experiment.traffic =
                vec![Flow { rate: 0.1, ..Flow::default() }, Flow { rate: 0.1, header: ranked, ..Flow::default() }];
            format!("{:?}", experiment.run().unwrap()).replace(own, built_in)
        };
        assert_eq!(run(own), run(built_in), "{own}");
    }
}
