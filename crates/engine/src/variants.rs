//! The one door to `ns2/`: parts of a run that its profile and its clock choose, named by what they do.

pub use crate::ns2::retransmissions::RetransmissionOrder;
pub use crate::ns2::timer::{MillisecondTimer, fine_timeout_ns};
pub use crate::ns2::timing::Ns2Timing as Seconds;
