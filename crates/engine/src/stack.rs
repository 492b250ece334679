//! Parts of a sender that some stacks have: where `tcp/` gets them, named by what they do.

pub use crate::ns2::retransmissions::RetransmissionOrder;
pub use crate::ns2::timer::{MillisecondTimer, fine_timeout_ns};
