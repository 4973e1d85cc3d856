//! Arbiters: who wins when several want the same.
//!
//! An arbiter gives each contender a key, and the smallest key wins. That one verb serves every place where a router
//! arbitrates (virtual channels, switch inputs, switch outputs), and the router compares keys as it meets the bids,
//! so that a bid without a rival costs nothing.
//!
//! A new arbiter is a new file here and one line in [`every_arbiter!`](crate::every_arbiter): what the file says
//! ([`Registered`]) makes its name in configurations, and every router is compiled for it by itself.

mod contract;

pub use contract::{Arbiter, ArbiterInfo, Contender, Registered};

use crate::error::{NocError, lookup};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Passes every arbiter to the macro that is named in brackets, behind the tokens that follow the brackets: its module and its
/// type.
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
        }

        impl ArbiterKind {
            /// What its file says of it.
            pub const fn info(self) -> ArbiterInfo {
                match self {
                    $(ArbiterKind::$Arbiter => <$Arbiter as Registered>::INFO,)*
                }
            }
        }

        /// All arbiters by name.
        pub const ARBITERS: [(&str, ArbiterKind); [$(stringify!($module)),*].len()] =
            [$((<$Arbiter as Registered>::INFO.name, ArbiterKind::$Arbiter)),*];
    };
}
every_arbiter!([modules]);

impl std::str::FromStr for ArbiterKind {
    type Err = NocError;

    fn from_str(name: &str) -> Result<ArbiterKind, NocError> {
        lookup("arbiter", name, &ARBITERS)
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

/// Evaluates an expression with the arbiter that a configuration names, so that each is compiled for itself:
/// `with_arbiter!(&config, |arbiter| Network::with_arbiter(&config, arbiter))`.
#[macro_export]
macro_rules! with_arbiter {
    ($config:expr, |$arbiter:ident| $body:expr) => {
        $crate::every_arbiter!([$crate::match_arbiter] $config, |$arbiter| $body;)
    };
}

/// The match of [`with_arbiter!`](crate::with_arbiter).
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
            },
        }
    };
}

pub(crate) use with_arbiter;
