//! The worlds to explore: small ones in the tests, and a longer list with large ones in the example
//! `check`.

use baton_coherence::Policy;
use baton_coherence::model::{Config, Operations};

const EVICTIONS: Operations = Operations {
    evictions: true,
    far_atomics: false,
    links: false,
    prefetches: false,
    push_home: false,
    push_to: false,
    recalls: false,
};
const FAR: Operations = Operations { far_atomics: true, ..EVICTIONS };
const LINKS: Operations = Operations { links: true, ..EVICTIONS };
const PUSHES: Operations = Operations { push_home: true, push_to: true, ..EVICTIONS };
const RECALLS: Operations = Operations { recalls: true, ..EVICTIONS };
const HINTS: Operations = Operations { prefetches: true, ..PUSHES };
const ALL: Operations = Operations { far_atomics: true, links: true, recalls: true, ..HINTS };

/// Returns worlds that together exercise every row of `policy` within seconds.
pub fn small(policy: Policy) -> Vec<Config> {
    let two = |name| Config::one_line(name, policy, 2);
    let three = |name| Config::one_line(name, policy, 3);
    vec![
        Config { drain: true, ..two("2 cores, everything") }.with(ALL),
        Config { drain: true, ..three("3 cores, evictions") }.with(EVICTIONS),
        three("3 cores, far atomics").with(FAR),
        three("3 cores, pushes").with(PUSHES),
        three("3 cores, 2 pointers").with(EVICTIONS).pointers(2),
        three("3 cores, 1 pointer").with(EVICTIONS).pointers(1),
        Config::one_line("4 cores, 3 pointers", policy, 4).pointers(3),
        three("3 cores, owner alone").with(EVICTIONS).owner_alone(),
        Config::one_line("4 cores, owner alone", policy, 4).owner_alone(),
        three("3 cores, far atomics, 2 pointers, any order").with(FAR).pointers(2).in_any_order(),
        Config { drain: true, ..three("3 cores, recalls, any order") }.with(RECALLS).in_any_order(),
        Config::one_line("4 cores, 3 pointers, any order", policy, 4).pointers(3).in_any_order(),
        Config::two_lines("2 cores x 2 lines, pushes", policy, 2).with(Operations { push_to: true, ..EVICTIONS }),
    ]
}

/// Returns small and large worlds. Not each world of [`small`] is among them.
pub fn full(policy: Policy) -> Vec<Config> {
    let two = |name| Config::one_line(name, policy, 2);
    let three = |name| Config::one_line(name, policy, 3);
    let lines = |name| Config::two_lines(name, policy, 2);
    let drained = |config| Config { drain: true, ..config };
    vec![
        drained(two("2 cores x 1 line, everything").with(ALL)),
        drained(two("2 cores x 1 line, everything, 1 pointer").with(ALL).pointers(1)),
        drained(three("3 cores x 1 line, evictions").with(EVICTIONS)),
        three("3 cores x 1 line, far atomics").with(FAR),
        three("3 cores x 1 line, LL/SC").with(LINKS),
        three("3 cores x 1 line, prefetches and pushes").with(HINTS),
        three("3 cores x 1 line, recalls").with(RECALLS),
        three("3 cores x 1 line, 1 pointer").with(PUSHES).pointers(1),
        three("3 cores x 1 line, 2 pointers").with(PUSHES).pointers(2),
        Config::one_line("4 cores x 1 line", policy, 4),
        Config::one_line("4 cores x 1 line, 3 pointers", policy, 4).pointers(3),
        drained(three("3 cores x 1 line, owner alone").with(EVICTIONS).owner_alone()),
        three("3 cores x 1 line, LL/SC, owner alone").with(LINKS).owner_alone(),
        three("3 cores x 1 line, prefetches and pushes, owner alone").with(HINTS).owner_alone(),
        Config::one_line("4 cores x 1 line, owner alone", policy, 4).owner_alone(),
        three("3 cores x 1 line, far atomics, recalls").with(Operations { recalls: true, ..FAR }),
        three("3 cores x 1 line, far atomics, pushes").with(Operations { push_to: true, ..FAR }),
        three("3 cores x 1 line, pushes, recalls").with(Operations { push_to: true, ..RECALLS }),
        drained(three("3 cores x 1 line, evictions, any order").with(EVICTIONS).in_any_order()),
        three("3 cores x 1 line, far atomics, recalls, any order")
            .with(Operations { recalls: true, ..FAR })
            .in_any_order(),
        three("3 cores x 1 line, pushes, 2 pointers, any order").with(PUSHES).pointers(2).in_any_order(),
        Config::one_line("4 cores x 1 line, 3 pointers, any order", policy, 4).pointers(3).in_any_order(),
        lines("2 cores x 2 lines, 1 way, 1 MSHR, queue of 1"),
        Config { capacity: 2, ..lines("2 cores x 2 lines, 2 ways, 1 MSHR, queue of 1") },
        Config { mshrs: 2, capacity: 2, ..lines("2 cores x 2 lines, 2 ways, 2 MSHRs, queue of 1") },
        Config { mshrs: 2, capacity: 2, places: 2, ..lines("2 cores x 2 lines, 2 ways, 2 MSHRs, queue of 2") },
        lines("2 cores x 2 lines, 1 way, 1 MSHR, owner alone").owner_alone(),
        lines("2 cores x 2 lines, 1 way, 1 MSHR, far atomics").with(FAR),
        lines("2 cores x 2 lines, 1 way, 1 MSHR, pushes").with(PUSHES),
        lines("2 cores x 2 lines, 1 way, 1 MSHR, recalls").with(RECALLS),
    ]
}
