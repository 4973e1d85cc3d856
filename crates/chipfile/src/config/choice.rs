//! Keys whose value is one of a few words.

/// An `enum` of a key's words, with the names that a chip file has for them.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Their names in a chip file.
            pub const NAMES: &[&str] = &[$($text),+];
            /// The name in a chip file.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
            /// The one of that name.
            pub fn named(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    };
}
pub(in crate::config) use choice;
