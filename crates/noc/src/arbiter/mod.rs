//! Arbiters: each decides which of several requesters gets a resource.
//!
//! An arbiter gives each contender a key, and the smallest key wins. That one operation serves
//! every place where a router arbitrates (virtual channels, switch inputs, switch outputs). The
//! router compares keys as it meets the bids, so that a bid without a rival costs nothing.
//!
//! To add an arbiter, add a file here and a line in [`every_arbiter!`](crate::every_arbiter). The
//! declaration in the file ([`Registered`]) gives its name in configurations, and the router is
//! compiled for each arbiter separately.

mod added;
mod contract;

pub use added::{Added, AddedKind, add, arbiters, names};
pub use contract::{Arbiter, ArbiterInfo, Contender, Registered};

use crate::error::{NocError, lookup};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Calls the macro that is named in brackets with the tokens that follow the brackets, and then the
/// list of all arbiters as `module::Type,`.
#[macro_export]
macro_rules! every_arbiter {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            round_robin::RoundRobin,
            matrix::Matrix,
            age::Age,
            fixed::Fixed,
            ranked::Ranked,
        }
    };
}

macro_rules! modules {
    ($($module:ident :: $Arbiter:ident,)*) => {
        $(
            mod $module;
            pub use $module::$Arbiter;
        )*

        /// The arbiters that a configuration can name, each by its type's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each type says what it is")]
        pub enum ArbiterKind {
            $($Arbiter,)*
            Added(AddedKind),
        }

        impl ArbiterKind {
            /// Returns the arbiter's declaration of name and properties.
            pub fn info(self) -> ArbiterInfo {
                match self {
                    $(ArbiterKind::$Arbiter => <$Arbiter as Registered>::INFO,)*
                    ArbiterKind::Added(added) => added.info(),
                }
            }
        }

        /// All built-in arbiters with their names in configurations; [`arbiters`] has the added
        /// ones too.
        pub const ARBITERS: [(&str, ArbiterKind); [$(stringify!($module)),*].len()] =
            [$((<$Arbiter as Registered>::INFO.name, ArbiterKind::$Arbiter)),*];
    };
}
every_arbiter!([modules]);

impl std::str::FromStr for ArbiterKind {
    type Err = NocError;

    fn from_str(name: &str) -> Result<ArbiterKind, NocError> {
        lookup("arbiter", name, arbiters())
    }
}

impl Serialize for ArbiterKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info().name)
    }
}

impl<'de> Deserialize<'de> for ArbiterKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ArbiterKind, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Evaluates an expression with the arbiter that a configuration names, compiled once for each
/// arbiter type: `with_arbiter!(&config, |arbiter| Network::with_arbiter(&config, arbiter))`.
#[macro_export]
macro_rules! with_arbiter {
    ($config:expr, |$arbiter:ident| $body:expr) => {
        $crate::every_arbiter!([$crate::match_arbiter] $config, |$arbiter| $body;)
    };
}

/// The `match` inside [`with_arbiter!`](crate::with_arbiter).
#[doc(hidden)]
#[macro_export]
macro_rules! match_arbiter {
    ($config:expr, |$arbiter:ident| $body:expr; $($module:ident :: $Arbiter:ident,)*) => {
        match &$config {
            config => match config.arbiter {
                $($crate::arbiter::ArbiterKind::$Arbiter => {
                    let $arbiter = <$crate::arbiter::$Arbiter as $crate::arbiter::Registered>::of(&config.ranked);
                    $body
                })*
                $crate::arbiter::ArbiterKind::Added(added) => {
                    let $arbiter = added.of(&config.ranked);
                    $body
                }
            },
        }
    };
}

pub(crate) use with_arbiter;
