//! The shape of the registries of barriers, events, queues, reader-writer locks and semaphores: a
//! table of descriptions, and a visitor that is called with the type that a name stands for.
//!
//! The list of each registry is a macro that passes it to another macro: [`modules`] declares the
//! modules, [`registry`] creates the table, and `crates/check` its contract suites.

/// Declares the modules of a list.
macro_rules! modules {
    ($($room:ident :: $entry:ident $($mutex:ident)? [$($ability:ident)*],)*) => { $(pub mod $room;)* };
}

/// Creates a registry: the table, the error for an unknown name, the visitor and `visit`. For
/// containers, the list's header also names the type of the items.
macro_rules! registry {
    (
        $(#[$table_doc:meta])* $table:ident: $info:ty,
        $(#[$error_doc:meta])* $error:ident $noun:literal,
        $(#[$visitor_doc:meta])* $visitor:ident $contract:ident $([$($bound:tt)*])?,
        $item:tt
        $($room:ident :: $entry:ident [$($ability:ident)*],)*
    ) => {
        $(#[$table_doc])*
        pub const $table: &[$info] = &[$(<$crate::registry::of!($room::$entry, Native, $item) as $contract<Native>>::INFO),*];

        $(#[$error_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $error(pub String);

        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let names: Vec<_> = $table.iter().map(|entry| entry.name).collect();
                write!(f, "unknown {} `{}`; expected one of {}", $noun, self.0, names.join(", "))
            }
        }

        impl std::error::Error for $error {}

        $(#[$visitor_doc])*
        pub trait $visitor<M: Machine> {
            /// The result of the visit.
            type Out;
            /// Called with the type.
            fn visit<T: $contract<M $(, $($bound)*)?>>(self) -> Self::Out;
        }

        /// Calls `visitor` with the type that `name` stands for on machine `M`.
        pub fn visit<M: Machine, V: $visitor<M>>(name: &str, visitor: V) -> Result<V::Out, $error> {
            $(if name == <$crate::registry::of!($room::$entry, M, $item) as $contract<M>>::INFO.name {
                return Ok(visitor.visit::<$crate::registry::of!($room::$entry, M, $item)>());
            })*
            Err($error(name.to_owned()))
        }
    };
}

/// Expands to the type of an entry on a machine.
macro_rules! of {
    ($room:ident :: $entry:ident, $m:ty, ()) => { super::$room::$entry<$m> };
    ($room:ident :: $entry:ident, $m:ty, ($item:ty)) => { super::$room::$entry<$m, $item> };
}

pub(crate) use {modules, of, registry};
