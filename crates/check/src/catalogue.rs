//! Macros that turn every algorithm in the registries of `sync` into tests of its contracts and
//! abilities.
//!
//! A test file calls [`lock_suite!`](crate::lock_suite) with its world.

/// An algorithm of a registry, and the abilities that are tested.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The algorithm's module in `baton_sync`, which [`room`] makes from its name in the registry.
    pub room: &'static str,
    /// Abilities to test: of a lock `tries`, `gives_up`, `in_order`, `hands_over`; of an event `oldest_first`; of
    /// a queue `shared` (any number of threads on each side), `in_bulk` and `in_device`; of a
    /// reader-writer lock `turns`.
    pub abilities: &'static [&'static str],
}

/// Returns the module of an algorithm by its name, with `_` for `-`. A `1` at the start becomes
/// `one_`, because a module's name needs a letter there.
pub fn room(name: &str) -> String {
    let name = name.replace('-', "_");
    name.strip_prefix('1').map_or_else(|| name.clone(), |rest| format!("one_{rest}"))
}

#[doc(hidden)]
#[macro_export]
macro_rules! catalogue_of {
    ($(#[$doc:meta])* $name:ident; $($room:ident :: $type:ident $($mutex:ident)? [$($ability:ident)*],)*) => {
        $(#[$doc])*
        pub const $name: &[$crate::catalogue::Entry] = &[$(
            $crate::catalogue::Entry { room: stringify!($room), abilities: &[$(stringify!($ability)),*] }
        ),*];
    };
}

baton_sync::every_lock! {
    [catalogue_of]
    /// All locks whose contracts are tested.
    LOCKS;
}

baton_sync::every_barrier! {
    [catalogue_of]
    /// All barriers whose contracts are tested.
    BARRIERS;
}

baton_sync::every_event! {
    [catalogue_of]
    /// All events whose contracts are tested.
    EVENTS;
}

baton_sync::every_queue! {
    [catalogue_of]
    /// All queues whose contracts are tested.
    QUEUES;
}

baton_sync::every_rwlock! {
    [catalogue_of]
    /// All reader-writer locks whose contracts are tested.
    RWLOCKS;
}

baton_sync::every_semaphore! {
    [catalogue_of]
    /// All semaphores whose contracts are tested.
    SEMAPHORES;
}

/// Makes tests of the contracts of every lock in the world `$world`.
#[macro_export]
macro_rules! lock_suite {
    ($world:ty) => {
        ::baton_sync::every_lock!([$crate::lock_suites] $world;);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! lock_suites {
    ($world:ty; $($room:ident :: $type:ident $mutex:ident [$($ability:ident)*],)*) => {$(
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

/// Makes tests of the contracts of every barrier in the world `$world`.
#[macro_export]
macro_rules! barrier_suite {
    ($world:ty) => {
        ::baton_sync::every_barrier!([$crate::barrier_suites] $world;);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! barrier_suites {
    ($world:ty; $($room:ident :: $type:ident [],)*) => {$(
        mod $room {
            use super::*;
            type Barrier = ::baton_sync::barrier::$room::$type<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { barrier, $world, Barrier: meeting long_life alone comings_and_goings told
                dropping_out ended_by_the_first }
        }
    )*};
}

/// Makes tests of the contracts of every event in the world `$world`.
#[macro_export]
macro_rules! event_suite {
    ($world:ty) => {
        ::baton_sync::every_event!([$crate::event_suites] $world;);
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
                settled_by_leaving freed_when_settled freed_when_left leaving_together $($ability)* }
        }
    )*};
}

/// Makes tests of the contracts of every queue in the world `$world`.
#[macro_export]
macro_rules! queue_suite {
    ($world:ty) => {
        ::baton_sync::every_queue!([$crate::queue_suites] $world;);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! queue_suites {
    ($world:ty; $($room:ident :: $type:ident [$($ability:ident)*],)*) => {$(
        mod $room {
            use super::*;
            type Queue = ::baton_sync::queue::$room::$type<<$world as $crate::world::World>::M, u64>;

            $crate::contract_tests! { queue, $world, Queue: transfer long_life full_and_empty tries pairs }
            $($crate::ability_tests! { $ability $world })*
        }
    )*};
}

/// Makes tests of the contracts of every reader-writer lock in the world `$world`.
#[macro_export]
macro_rules! rwlock_suite {
    ($world:ty) => {
        ::baton_sync::every_rwlock!([$crate::rwlock_suites] $world;);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! rwlock_suites {
    ($world:ty; $($room:ident :: $type:ident [$($ability:ident)*],)*) => {$(
        mod $room {
            use super::*;
            type Lock = ::baton_sync::rwlock::$room::$type<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { rwlock, $world, Lock: exclusion readers_and_writers readers_together
                freed_by_the_last }
            $($crate::ability_tests! { $ability $world })*
        }
    )*};
}

/// Makes tests of the contracts of every semaphore in the world `$world`.
#[macro_export]
macro_rules! semaphore_suite {
    ($world:ty) => {
        ::baton_sync::every_semaphore!([$crate::semaphore_suites] $world;);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! semaphore_suites {
    ($world:ty; $($room:ident :: $type:ident [],)*) => {$(
        mod $room {
            use super::*;
            type Semaphore = ::baton_sync::semaphore::$room::$type<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { semaphore, $world, Semaphore: one_permit no_more_than_there_are message
                posts_together tries_and_deadlines freed_by_the_last }
        }
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! contract_tests {
    ($contract:ident, $world:ty, $type:ty: $($test:ident)*) => {
        $crate::contract_tests! { #[doc = ""] $contract, $world, $type: $($test)* }
    };
    (#[$attribute:meta] $contract:ident, $world:ty, $type:ty: $($test:ident)*) => {$(
        #[test]
        #[$attribute]
        fn $test() {
            let _command = $crate::on_failure();
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
        $crate::contract_tests! { ability, $world, Lock: giving_up giving_up_together giving_up_among_waiters }
    };
    (turns $world:ty) => {
        $crate::contract_tests! { turns, $world, Lock: kinds tries giving_up newcomers_wait freed_by_any }
    };
    (shared $world:ty) => {
        $crate::contract_tests! { queue, $world, Queue: both_sides }
    };
    (in_device $world:ty) => {
        $crate::contract_tests! { queue, $world, Queue: room }
    };
    (in_bulk $world:ty) => {
        $crate::contract_tests! { bulk, $world, Queue: bulk_and_burst together }
    };
    (hands_over $world:ty) => {
        $crate::contract_tests! { ability, $world, Lock<$crate::watch::Watched<Machine>>: order }
    };
    (in_order $world:ty) => {
        $crate::contract_tests! { ability, $world, Lock<$crate::watch::Watched<Machine>>: order }
        $crate::contract_tests! { ability, $world, Lock: free_once_left }
    };
}

/// Makes tests of the contracts of an initialization in the world `$world`.
#[macro_export]
macro_rules! once_suite {
    ($world:ty) => {
        $crate::world_tests! { once $world: runs_once awaited forced }
    };
}

/// Makes tests of the contracts of channels over each exact queue in the world `$world`.
#[macro_export]
macro_rules! channel_suite {
    ($world:ty) => {
        $crate::channel_suites! {
            $world; spsc::ExactSpsc mpmc::ExactMpmc ring::ExactRing ring_single::ExactRingSingle
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! channel_suites {
    ($world:ty; $($room:ident :: $type:ident)*) => {$(
        mod $room {
            use super::*;
            type Queue = ::baton_sync::queue::$room::$type<<$world as $crate::world::World>::M, u64>;

            $crate::contract_tests! { channel, $world, Queue: transfer closing closed_by_another expiry capacity }
        }
    )*};
}

/// Makes tests of the contracts of queues that lend their places in the world `$world`.
#[macro_export]
macro_rules! lend_suite {
    ($world:ty) => {
        $crate::lend_suites! { $world; spsc::Spsc ring_single::RingSingle mpmc::Mpmc }
        mod channels {
            use super::*;
            $crate::lend_suites! { channels $world; spsc::ExactSpsc mpmc::ExactMpmc }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! lend_suites {
    (channels $world:ty; $($room:ident :: $type:ident)*) => {$(
        mod $room {
            use super::*;
            type Queue = ::baton_sync::queue::$room::$type<<$world as $crate::world::World>::M, u64>;

            $crate::contract_tests! { lend, $world, Queue: channels }
        }
    )*};
    ($world:ty; $($room:ident :: $type:ident)*) => {$(
        mod $room {
            use super::*;
            type Queue = ::baton_sync::queue::$room::$type<<$world as $crate::world::World>::M, u64>;

            $crate::contract_tests! { lend, $world, Queue: transfer awaited places }
        }
    )*};
}

/// Makes tests of the contracts of channels for which tasks and watchers wait in the world `$world`.
#[macro_export]
macro_rules! watched_suite {
    ($world:ty) => {
        $crate::watched_suites! { $world; mpmc::ExactMpmc }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! watched_suites {
    ($world:ty; $($room:ident :: $type:ident)*) => {$(
        mod $room {
            use super::*;
            type Queue = ::baton_sync::queue::$room::$type<<$world as $crate::world::World>::M, u64>;

            $crate::contract_tests! { watched, $world, Queue: tasks giving_up watching }
        }
    )*};
}

/// Makes tests of the contracts of the queue of segments in the world `$world`, with few places a
/// segment, so that guests go from one segment to the next. Contracts that take long are ignored, and
/// are run by `cargo test --workspace --test loom --test shuttle -- --ignored segments`. A second world,
/// which explores less, has most of them.
#[macro_export]
macro_rules! segments_suite {
    ($world:ty; $($room:ident $places:literal),*) => {
        $crate::segments_suites! { $world; []; [transfer both_sides tries]; $world; $($room $places),* }
    };
    ($world:ty, $brief:ty; $($room:ident $places:literal),*) => {
        $crate::segments_suites! { $world; [both_sides tries]; [transfer]; $brief; $($room $places),* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! segments_suites {
    ($world:ty; $short:tt; $long:tt; $brief:ty; $($room:ident $places:literal),*) => {$(
        mod $room {
            use super::*;
            // One try before a thread sleeps: a checker rarely comes to the end of many.
            type Queue = ::baton_sync::queue::segments::Segments<<$world as $crate::world::World>::M, u64, $places, 1>;

            mod channels {
                use super::*;
                $crate::contract_tests! { channel, $world, Queue: transfer }
            }
            $crate::segments_tests! { $brief; $short; $long }
        }
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! segments_tests {
    ($brief:ty; [$($short:ident)*]; [$($long:ident)*]) => {
        $crate::contract_tests! { queue, $brief, Queue: $($short)* }
        mod long {
            use super::*;
            $crate::contract_tests! { #[ignore = "takes long"] queue, $brief, Queue: $($long)* }
        }
    };
}

/// Makes tests of the contracts of the queue with flows in memory in the world `$world`; or, with
/// `steps`, of its steps one by one. The contracts then are ignored, and are run by
/// `cargo test --workspace --test loom -- --ignored flows`.
#[macro_export]
macro_rules! flow_suite {
    ($world:ty) => {
        mod soft {
            use super::*;
            type Queue = ::baton_sync::flow::soft::Soft<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { flow, $world, Queue: atomic parallel directed ordered two_send }
        }
    };
    (steps $world:ty) => {
        mod soft {
            use super::*;
            type Queue = ::baton_sync::flow::soft::Soft<<$world as $crate::world::World>::M>;

            $crate::contract_tests! { flow, $world, Queue: two_send another_comes handed_on comes_meanwhile moves_on }

            mod long {
                use super::*;
                $crate::contract_tests! {
                    #[ignore = "takes minutes"] flow, $world, Queue: atomic parallel directed ordered
                }
            }
        }
    };
}

/// Makes tests of the contracts of the work-stealing deque in the world `$world`.
#[macro_export]
macro_rules! deque_suite {
    ($world:ty) => {
        $crate::world_tests! { deque $world: taken_once last_one in_order }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! world_tests {
    ($contract:ident $world:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            let _command = $crate::on_failure();
            $crate::contract::$contract::$test::<$world>();
        }
    )*};
}

/// Makes tests of the contracts of the OpenMP runtime in the world `$world`.
#[macro_export]
macro_rules! omp_suite {
    ($world:ty) => {
        $crate::omp_tests! { $world: regions: regions fork_and_join critical loops reduction tasks }
        $crate::omp_parts_suite! { $world }
    };
}

/// Makes tests of the contracts of the parts of an OpenMP team in the world `$world`.
#[macro_export]
macro_rules! omp_parts_suite {
    ($world:ty) => {
        $crate::omp_tests! { $world: parts: meeting gathered gathered_behind_a_task told_under_another_lock thieves_wake_each_other shares slots_awaited
    turns copied copied_without_the_copier cancelled cancelled_unmet beyond_the_ring rings_grow larger_ring crew }
        $crate::omp_tests! { $world: tasks: before_a_barrier made_late behind_a_taskwait by_another within_a_task outliving_its_maker
        dependences several_dependences readers_together awaited_dependence groups groups_of_descendants made_late_in_a_group
        cancelled_groups registered detached detached_at_the_end released_before_a_dependence released_in_a_group
        awaited_event priorities from_several }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! omp_tests {
    ($world:ty: $room:ident: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            let _command = $crate::on_failure();
            $crate::contract::omp::$room::$test::<$world>();
        }
    )*};
}

/// Makes tests of the contracts of the machine of the world `$world`.
#[macro_export]
macro_rules! machine_suite {
    ($world:ty) => {
        $crate::machine_tests! {
            $world: message rows read_rows expiry ping_pong fences exchange_fences cells memory touches storage shared kept
                polls_in_turn nodes
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! machine_tests {
    ($world:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            let _command = $crate::on_failure();
            $crate::contract::machine::$test::<$world>();
        }
    )*};
}
