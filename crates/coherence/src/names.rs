//! Enumerations that know the list of their values and a readable name of each.

/// Declares a fieldless enum with `ALL` (every value in order), `COUNT` and `name` (as the tables
/// print it).
macro_rules! named {
    ($(#[$doc:meta])* $enum:ident { $($(#[$item_doc:meta])* $item:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $enum { $($(#[$item_doc])* $item),* }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$item),*];
            pub const COUNT: usize = Self::ALL.len();

            /// Returns the name that the value has in the tables.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$item => $name),* }
            }
        }

        impl Default for $enum {
            /// The first value of the list.
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
