//! Every algorithm with its abilities, and the macros that make a test of each contract.
//!
//! A test file calls [`lock_suite!`](crate::lock_suite) with its world. Whoever adds an algorithm adds a line here; a
//! test compares these lines with the registries, so that one that is in no suite is found.

/// A line of the catalogue: a name in a registry, and the abilities that are tested.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The algorithm's room in `baton_sync`; its name in the registry, with `_` for `-`.
    pub room: &'static str,
    /// Of a lock `tries`, `gives_up`, `in_order`; of an event `oldest_first`; of a queue
    /// `shared` (any number of threads on each side) and `in_bulk`.
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
            spin_park_wakes::SpinParkWakes [tries gives_up],
            spin_park_once::SpinParkOnce [tries gives_up],
            adaptive::Adaptive [tries gives_up],
            futex::Futex [tries gives_up],
        }
    };
}

/// Passes every barrier to the macro `$then`.
#[doc(hidden)]
#[macro_export]
macro_rules! every_barrier {
    ($then:ident ! { $($before:tt)* }) => {
        $crate::$then! { $($before)*
            central::Central [],
            tree::Tree [],
            dissemination::Dissemination [],
        }
    };
}

/// Passes every event to the macro `$then`.
#[doc(hidden)]
#[macro_export]
macro_rules! every_event {
    ($then:ident ! { $($before:tt)* }) => {
        $crate::$then! { $($before)*
            queue::QueueEvent [oldest_first],
            count::EventCount [],
        }
    };
}

/// Passes every queue to the macro `$then`.
#[doc(hidden)]
#[macro_export]
macro_rules! every_queue {
    ($then:ident ! { $($before:tt)* }) => {
        $crate::$then! { $($before)*
            spsc::Spsc [],
            ring::Ring [shared in_bulk],
            mpmc::Mpmc [shared],
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

every_barrier!(catalogue_of! {
    /// Every barrier whose contract is tested.
    BARRIERS;
});

every_event!(catalogue_of! {
    /// Every event whose contract is tested.
    EVENTS;
});

every_queue!(catalogue_of! {
    /// Every queue whose contract is tested.
    QUEUES;
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

/// The contracts of every barrier in the world `$world`, as tests.
#[macro_export]
macro_rules! barrier_suite {
    ($world:ty) => {
        $crate::every_barrier!(barrier_suites! { $world; });
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! barrier_suites {
    ($world:ty; $($room:ident :: $type:ident [],)*) => {$(
        mod $room {
            use super::*;
            type Barrier = ::baton_sync::barrier::$room::$type<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { barrier, $world, Barrier: meeting long_life alone comings_and_goings }
        }
    )*};
}

/// The contracts of every event in the world `$world`, as tests.
#[macro_export]
macro_rules! event_suite {
    ($world:ty) => {
        $crate::every_event!(event_suites! { $world; });
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! event_suites {
    ($world:ty; $($room:ident :: $type:ident [$($ability:ident)*],)*) => {$(
        mod $room {
            use super::*;
            type Event = ::baton_sync::event::$room::$type<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { event, $world, Event: condition broadcast bell expiry leaving
                settled_by_leaving freed_when_settled $($ability)* }
        }
    )*};
}

/// The contracts of every queue in the world `$world`, as tests.
#[macro_export]
macro_rules! queue_suite {
    ($world:ty) => {
        $crate::every_queue!(queue_suites! { $world; });
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! queue_suites {
    ($world:ty; $($room:ident :: $type:ident [$($ability:ident)*],)*) => {$(
        mod $room {
            use super::*;
            type Queue = ::baton_sync::queue::$room::$type<<$world as $crate::world::World>::M, u64>;

            $crate::contract_tests! { queue, $world, Queue: transfer long_life full_and_empty tries }
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
    (shared $world:ty) => {
        $crate::contract_tests! { queue, $world, Queue: both_sides }
    };
    (in_bulk $world:ty) => {
        $crate::contract_tests! { bulk, $world, Queue: bulk_and_burst together }
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
