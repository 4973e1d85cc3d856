//! Keys whose value is one of a few words.

/// Declares an `enum` whose variants are the words of a key, with their names in a chip file.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// The names of the variants in a chip file.
            pub const NAMES: &[&str] = &[$($text),+];
            /// Returns the name of this variant in a chip file.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
            /// Returns the variant of that name; `None` if there is none.
            pub fn named(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    };
}
pub(in crate::config) use choice;
