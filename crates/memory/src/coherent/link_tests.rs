//! What breaks a link of load-linked, asked of the memory system alone: each context of a core has a link of its own.

use super::chip::Coherent;
use crate::Memory;
use crate::base::random::{Purpose, Random};
use crate::base::token::Token;
use crate::border::{Access, Answer, Line, Notice, Request};
use baton_chipfile::config::Chip;
use baton_coherence::Bits;
use baton_units::{CoreId, Cycles};

const LINE: Line = Line(5);

struct Asked {
    memory: Coherent<Bits<1>>,
    now: u64,
}

impl Asked {
    /// Two cores of two contexts, an L1 of two lines.
    fn new() -> Asked {
        let settings =
            ["core.contexts=2", "core.atomics=llsc", "core.result_latency=3", "l1.size_bytes=256", "l1.ways=2"];
        let all: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let text = include_str!("../../../../chips/ocor64.toml");
        let chip = Chip::from_toml_at(text, "ocor64.toml", Some(4), &all).expect("a right chip");
        let config = chip.coherent.as_ref().expect("coherent");
        let memory = Coherent::new(&chip, config, 1 << 12, Random::new(1, Purpose::Latency)).expect("it can be built");
        Asked { memory, now: 0 }
    }

    /// Makes an access, and waits until nothing is under way. Returns whether the access was
    /// performed.
    fn ask(&mut self, core: u32, access: Access, line: Line) -> bool {
        let request =
            Request { token: Token::operation(0), core: CoreId(core), line, access, mark: Default::default() };
        let mut done = match self.memory.request(request, Cycles(self.now)) {
            Answer::Served(served) => Some((served.at.0, served.failed)),
            Answer::Pending => None,
        };
        let mut notices = Vec::new();
        while self.memory.next() != u64::MAX {
            self.now = self.memory.advance(self.memory.next(), &mut notices);
            for notice in notices.drain(..) {
                if let Notice::Done { at, failed, .. } = notice {
                    done = Some((at, failed));
                }
            }
        }
        let (at, failed) = done.expect("it is served");
        self.now = self.now.max(at) + 1;
        let conditional = matches!(access, Access::StoreConditional(_));
        assert!(!conditional || self.memory.failed(CoreId(core), access.context() as u8) == failed);
        !failed
    }

    /// Whether the link that context 0 of core 0 set on the line stands after `between`.
    fn stands(between: impl FnOnce(&mut Asked)) -> bool {
        let mut asked = Asked::new();
        asked.ask(0, Access::LoadLinked(0), LINE);
        between(&mut asked);
        asked.ask(0, Access::StoreConditional(0), LINE)
    }
}

#[test]
fn a_link_stands_until_the_line_is_written() {
    assert!(Asked::stands(|_| {}));
    assert!(
        Asked::stands(|asked| _ = asked.ask(0, Access::Load, LINE)),
        "reads break nothing: a sibling's, or one's own"
    );
    assert!(Asked::stands(|asked| _ = asked.ask(1, Access::Load, LINE)), "nor another core's");
    assert!(!Asked::stands(|asked| _ = asked.ask(1, Access::Store, LINE)), "invalidated by another core");
    assert!(!Asked::stands(|asked| _ = asked.ask(0, Access::Store, LINE)), "written by a sibling, in the shared L1");
}

/// A sibling's store-conditional invalidates nothing, but the link breaks all the same, and only
/// one of two siblings wins.
#[test]
fn of_two_siblings_one_wins() {
    let mut asked = Asked::new();
    asked.ask(0, Access::LoadLinked(0), LINE);
    asked.ask(0, Access::LoadLinked(1), LINE);
    assert!(asked.ask(0, Access::StoreConditional(1), LINE));
    assert!(!asked.ask(0, Access::StoreConditional(0), LINE), "a sibling has written since");
    // Context 1 used its link up with its first store-conditional, so its second one fails.
    assert!(!asked.ask(0, Access::StoreConditional(1), LINE));
}

/// Each context has a link of its own: a link to another line leaves the sibling's link alone, and
/// no context can use another's link.
#[test]
fn links_are_a_contexts_own() {
    assert!(Asked::stands(|asked| {
        asked.ask(0, Access::LoadLinked(1), Line(9));
        assert!(!asked.ask(0, Access::StoreConditional(1), LINE), "its link is to another line");
        assert!(asked.ask(0, Access::StoreConditional(1), Line(9)));
    }));
    let mut asked = Asked::new();
    asked.ask(0, Access::LoadLinked(0), LINE);
    assert!(!asked.ask(0, Access::StoreConditional(1), LINE), "it has set none");
}

#[test]
fn an_evicted_line_has_no_link() {
    // Two lines fit.
    assert!(!Asked::stands(|asked| {
        for line in 20..24 {
            asked.ask(0, Access::Load, Line(line));
        }
    }));
}

/// The engine breaks a context's link when a thread leaves its CPU.
#[test]
fn a_switch_of_threads_breaks_the_link_of_its_context_alone() {
    assert!(!Asked::stands(|asked| asked.memory.unlink(CoreId(0), 0)));
    assert!(Asked::stands(|asked| asked.memory.unlink(CoreId(0), 1)));
}
