//! Ways between producers and consumers that are no queue of the registry: each call says which
//! thread makes it, or the way stands for hardware that no processor has. Queues are compared with
//! these models on a simulated chip.
//!
//! | model | stands for |
//! | --- | --- |
//! | [`lanes`] | a queue for each pair of threads, as experts build it |
//! | [`free_ring`] | the ring with critical sections that cost nothing: the baseline that the CAF paper ran |
//! | [`haqu`] | HAQu, as the CAF paper tells of it |
//! | [`posted`] | the queue device behind the instructions of today's processors |
//! | [`posting`] | the queue device, whose producers wait for no answer |

pub mod free_ring;
pub mod haqu;
pub mod lanes;
mod model;
pub mod posted;
pub mod posting;

pub use model::{Channel, Model, ModelInfo, ModelVisitor, Whole};

use baton_machine::Machine;

macro_rules! models {
    ($($room:ident::$model:ident,)*) => {
        /// Every model.
        pub const MODELS: &[ModelInfo] = &[$(<$room::$model<baton_machine::Native> as Model<baton_machine::Native>>::INFO),*];

        /// Passes the type of the model with that name to the visitor; `None` if there is no such
        /// model.
        pub fn visit<M: Machine, V: ModelVisitor<M>>(name: &str, visitor: V) -> Option<V::Out> {
            $(if name == <$room::$model<M> as Model<M>>::INFO.name {
                return Some(visitor.visit::<$room::$model<M>>());
            })*
            None
        }
    };
}

models! {
    lanes::Lanes,
    free_ring::FreeRing,
    haqu::Haqu,
    posted::Posted,
    posted::PostedAhead,
    posting::Posting,
}
