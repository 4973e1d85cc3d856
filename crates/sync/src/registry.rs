//! The shape of the registries of barriers, events and queues: a table of what is said, and a visitor that is called
//! with the type that a name stands for.

/// Makes a registry: the table, the error for an unknown name, the visitor and `visit`.
macro_rules! registry {
    (
        $(#[$table_doc:meta])* $table:ident: $info:ty,
        $(#[$error_doc:meta])* $error:ident $noun:literal,
        $(#[$visitor_doc:meta])* $visitor:ident $contract:ident $([$($bound:tt)*])?,
        $($room:ident :: $entry:ident),* $(,)?
    ) => {
        $(#[$table_doc])*
        pub const $table: &[$info] = &[$(<$room::$entry<Native> as $contract<Native>>::INFO),*];

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
            /// What comes out.
            type Out;
            /// Called with the type.
            fn visit<T: $contract<M $(, $($bound)*)?>>(self) -> Self::Out;
        }

        /// Calls `visitor` with the type that `name` stands for on machine `M`.
        pub fn visit<M: Machine, V: $visitor<M>>(name: &str, visitor: V) -> Result<V::Out, $error> {
            $(if name == <$room::$entry<M> as $contract<M>>::INFO.name {
                return Ok(visitor.visit::<$room::$entry<M>>());
            })*
            Err($error(name.to_owned()))
        }
    };
}

pub(crate) use registry;
