//! A congestion controller that a caller brings.

use crate::end::{Asked, Controllers, NoqFactory, QuinnFactory};
use crate::{Stack, s2n};
use s2n_quic::provider::congestion_controller::Endpoint;
use std::sync::Arc;

/// A congestion controller of a caller's own, for one of the stacks. The flows whose algorithm is the stack's own of a given name,
/// as `quinn:newreno`, have it instead.
#[derive(Clone)]
pub struct Own {
    pub(crate) instead_of: String,
    pub(crate) controllers: Controllers,
}

impl Own {
    /// Controllers of quinn instead of those of `name`, as `newreno`.
    pub fn quinn(name: &str, factory: QuinnFactory) -> Own {
        Own { instead_of: format!("quinn:{name}"), controllers: Controllers::Quinn(factory) }
    }

    /// Controllers of noq instead of those of `name`, as `newreno`.
    pub fn noq(name: &str, factory: NoqFactory) -> Own {
        Own { instead_of: format!("noq:{name}"), controllers: Controllers::Noq(factory) }
    }

    /// Controllers of s2n-quic instead of those of `name`, as `cubic`; `make` is asked for each connection.
    pub fn s2n_quic<E: Endpoint>(name: &str, make: impl Fn() -> E + 'static) -> Own {
        let connect = move |asked: &Asked, seen| s2n::connect_with(asked, seen, make());
        Own { instead_of: format!("s2n-quic:{name}"), controllers: Controllers::S2nQuic(Arc::new(connect)) }
    }

    /// The algorithm that it stands for, as scenarios have it: `quinn:newreno`.
    pub fn algorithm(&self) -> &str {
        &self.instead_of
    }

    pub(crate) fn stack(&self) -> Stack {
        match self.controllers {
            Controllers::Quinn(_) => Stack::Quinn,
            Controllers::Noq(_) => Stack::Noq,
            Controllers::S2nQuic(_) => Stack::S2nQuic,
        }
    }
}
