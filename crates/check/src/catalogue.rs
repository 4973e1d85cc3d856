//! Every algorithm with its abilities, and the macros that make a test of each contract.
//!
//! A test file calls [`lock_suite!`](crate::lock_suite) with its world. Whoever adds an algorithm adds a line here; a
//! test compares these lines with the registries, so that one that is in no suite is found.

/// A line of the catalogue: a name in a registry, and the abilities that are tested.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The algorithm's room in `baton_sync`; its name in the registry, with `_` for `-`.
    pub room: &'static str,
    /// `tries`, `gives_up`, `in_order`.
    pub abilities: &'static [&'static str],
}

/// Passes every lock to the macro `$then`.
#[doc(hidden)]
#[macro_export]
macro_rules! every_lock {
    ($then:ident ! { $($before:tt)* }) => {
        $crate::$then! { $($before)*
            tas::Tas [tries gives_up],
            ttas::Ttas [tries gives_up],
            ticket::Ticket [tries in_order],
            ticket_prop::TicketProp [tries in_order],
            mcs::Mcs [tries in_order],
            clh::Clh [tries in_order],
            k42::K42 [tries in_order],
            hemlock::Hemlock [tries in_order],
            cohort::CohortLock [tries],
            spin_park::SpinPark [tries gives_up],
            futex::Futex [tries gives_up],
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! catalogue_of {
    ($(#[$doc:meta])* $name:ident; $($room:ident :: $type:ident [$($ability:ident)*],)*) => {
        $(#[$doc])*
        pub const $name: &[$crate::catalogue::Entry] = &[$(
            $crate::catalogue::Entry { room: stringify!($room), abilities: &[$(stringify!($ability)),*] }
        ),*];
    };
}

every_lock!(catalogue_of! {
    /// Every lock whose contract is tested.
    LOCKS;
});

/// The contracts of every lock in the world `$world`, as tests.
#[macro_export]
macro_rules! lock_suite {
    ($world:ty) => {
        $crate::every_lock!(lock_suites! { $world; });
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! lock_suites {
    ($world:ty; $($room:ident :: $type:ident [$($ability:ident)*],)*) => {$(
        mod $room {
            #[allow(unused_imports)]
            use super::*;
            type Machine = <$world as $crate::world::World>::M;
            type Lock<M = Machine> = ::baton_sync::lock::$room::$type<M>;

            $crate::contract_tests! { lock, $world, Lock: exclusion long_life nesting comings_and_goings
                freed_by_the_last false_wakeups }
            $($crate::ability_tests! { $ability $world })*
        }
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! contract_tests {
    ($contract:ident, $world:ty, $type:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::contract::$contract::$test::<$world, $type>();
        }
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! ability_tests {
    (tries $world:ty) => {
        $crate::contract_tests! { ability, $world, Lock: tries tries_among_waiters }
    };
    (gives_up $world:ty) => {
        $crate::contract_tests! { ability, $world, Lock: giving_up giving_up_among_waiters }
    };
    (in_order $world:ty) => {
        $crate::contract_tests! { ability, $world, Lock<$crate::watch::Watched<Machine>>: order }
    };
}

/// The contracts of the machine of the world `$world`, as tests.
#[macro_export]
macro_rules! machine_suite {
    ($world:ty) => {
        $crate::machine_tests! { $world: message expiry ping_pong fences cells memory storage }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! machine_tests {
    ($world:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::contract::machine::$test::<$world>();
        }
    )*};
}
