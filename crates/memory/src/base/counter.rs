//! Counters. Each counter is declared once, with its name, its unit and its meaning, where its
//! group is declared. Sums, JSON, the schema, tables and pages are made from the declarations.

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Accesses to memory.
    Accesses,
    /// Atomic operations.
    Atomics,
    /// Copies of lines in private caches.
    Copies,
    /// Cycles of the chip's reference clock.
    Cycles,
    /// Flits, once for each router that they pass.
    FlitHops,
    /// Interrupts that a CPU takes.
    Interrupts,
    /// Lines of memory.
    Lines,
    /// Messages of the coherence protocol.
    Messages,
    /// Operations of guests.
    Operations,
    /// Packets of the network.
    Packets,
    /// Requests to a cache or to a device.
    Requests,
    /// Runs of an application.
    Runs,
    /// Guest threads.
    Threads,
    /// How often something happened.
    Times,
    /// Tries of waits.
    Tries,
}

impl Unit {
    /// Returns the unit's name in tables and in the schema.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Accesses => "accesses",
            Unit::Atomics => "atomics",
            Unit::Copies => "copies",
            Unit::Cycles => "cycles",
            Unit::FlitHops => "flit hops",
            Unit::Interrupts => "interrupts",
            Unit::Lines => "lines",
            Unit::Messages => "messages",
            Unit::Operations => "operations",
            Unit::Packets => "packets",
            Unit::Requests => "requests",
            Unit::Runs => "runs",
            Unit::Threads => "threads",
            Unit::Times => "times",
            Unit::Tries => "tries",
        }
    }
}

/// The declaration of a counter: its name in results, its unit and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The counter's name in results. The names of a group's counters of cycles end in `_cycles`;
    /// those of activities (`times!`) do not.
    pub name: &'static str,
    /// What is counted, for example packets or cycles.
    pub unit: Unit,
    /// The counter's meaning, in a sentence.
    pub what: &'static str,
}

/// A group of counters, such as those of a core.
pub trait Counters {
    /// Declarations of the group's counters, in their order.
    const DECLARED: &'static [Counter];

    /// Yields each counter's declaration with its value, in the order of the declarations.
    fn values(&self) -> impl Iterator<Item = (&'static Counter, u64)>;
}

/// Declares a group of counters, each as `/// meaning` and `name: Unit`. Generates the struct, the
/// sum of two such structs, the declarations and the JSON in their order. For a counter with `max`
/// behind its unit, the sum is the larger of the two values.
#[macro_export]
macro_rules! counters {
    (@name $name:ident Cycles) => {
        concat!(stringify!($name), "_cycles")
    };
    (@name $name:ident $unit:ident) => {
        stringify!($name)
    };
    (@add $to:expr, $more:expr) => {
        $to += $more
    };
    (@add $to:expr, $more:expr, max) => {
        $to = $to.max($more)
    };
    ($(#[doc = $group:literal])+ $vis:vis struct $Group:ident {
        $($(#[doc = $what:literal])+ $name:ident: $unit:ident $($max:ident)?,)+
    }) => {
        $(#[doc = $group])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $Group {
            $($(#[doc = $what])+ pub $name: u64,)+
        }

        impl $crate::base::counter::Counters for $Group {
            const DECLARED: &'static [$crate::base::counter::Counter] = &[$($crate::base::counter::Counter {
                name: $crate::counters!(@name $name $unit),
                unit: $crate::base::counter::Unit::$unit,
                what: concat!($($what),+).trim_ascii_start(),
            }),+];

            fn values(&self) -> impl Iterator<Item = (&'static $crate::base::counter::Counter, u64)> {
                Self::DECLARED.iter().zip([$(self.$name),+])
            }
        }

        impl std::ops::AddAssign for $Group {
            fn add_assign(&mut self, other: $Group) {
                $($crate::counters!(@add self.$name, other.$name $(, $max)?);)+
            }
        }

        impl serde::Serialize for $Group {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let values = $crate::base::counter::Counters::values(self);
                serializer.collect_map(values.map(|(counter, value)| (counter.name, value)))
            }
        }
    };
}

/// Declares the activities that cycles may be charged to, each as `/// meaning` and `Variant =
/// "name in results"`. Generates the enum, and its declarations as counters.
#[macro_export]
macro_rules! times {
    ($(#[doc = $group:literal])+ $vis:vis enum $Group:ident {
        $($(#[doc = $what:literal])+ $variant:ident = $name:literal,)+
    }) => {
        $(#[doc = $group])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Group {
            $($(#[doc = $what])+ $variant,)+
        }

        impl $Group {
            /// Number of activities.
            $vis const COUNT: usize = Self::DECLARED.len();

            /// All activities, in the order of their numbers.
            $vis const ALL: [$Group; Self::COUNT] = [$($Group::$variant),+];

            /// The declaration of each activity as a counter, in the order of `ALL`.
            $vis const DECLARED: &'static [$crate::base::counter::Counter] = &[$($crate::base::counter::Counter {
                name: $name,
                unit: $crate::base::counter::Unit::Cycles,
                what: concat!($($what),+).trim_ascii_start(),
            }),+];

            /// Returns the activity's name in results.
            $vis const fn name(self) -> &'static str {
                Self::DECLARED[self as usize].name
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::{Counters, Unit};

    counters! {
        /// A group.
        struct Group {
            /// The packets that passed
            /// this way.
            passed: Packets,
            /// The time that they took.
            taken: Cycles,
            /// The longest time of a packet.
            longest: Cycles max,
        }
    }

    #[test]
    fn a_group_follows_from_its_declaration() {
        let declared: Vec<_> = Group::DECLARED.iter().map(|one| (one.name, one.unit, one.what)).collect();
        let expected = [
            ("passed", Unit::Packets, "The packets that passed this way."),
            ("taken_cycles", Unit::Cycles, "The time that they took."),
            ("longest_cycles", Unit::Cycles, "The longest time of a packet."),
        ];
        assert_eq!(declared, expected);
        let mut sum = Group { passed: 1, taken: 20, longest: 9 };
        sum += Group { passed: 2, taken: 30, longest: 7 };
        let values: Vec<_> = sum.values().map(|(counter, value)| (counter.name, value)).collect();
        assert_eq!(values, [("passed", 3), ("taken_cycles", 50), ("longest_cycles", 9)]);
    }

    #[test]
    fn a_reason_follows_from_its_declaration() {
        times! {
            /// Where cycles went.
            enum Spent {
                /// Computing.
                Work = "computing",
                /// Asleep.
                Asleep = "asleep",
            }
        }
        assert_eq!(Spent::ALL.map(Spent::name), ["computing", "asleep"]);
        assert_eq!((Spent::COUNT, Spent::DECLARED[1].what, Spent::DECLARED[1].unit), (2, "Asleep.", Unit::Cycles));
    }
}
