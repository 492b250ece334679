//! Packet captures in, what limited each connection out.
//!
//! A capture is read once, packet by packet ([`explain`]). A connection keeps its outstanding segments and summaries of its
//! time, so that memory grows with connections and not with packets. At the end each connection's time is divided into
//! causes, which `classify.rs` describes.

mod capture;
mod classify;
mod connection;
mod error;
mod facts;
mod half;
mod policer;
mod record;
mod recorded;
mod report;
mod segment;
pub mod sequence;
mod series;
mod slots;
mod table;
pub mod write;

pub use error::Error;
pub use record::Packet;
pub use recorded::{Recorded, record};
pub use report::{
    CaptureFacts, Cause, ConnectionReport, Explanation, Handshake, Numbers, Place, Retransmissions, Share,
    Span, explain, explain_with,
};
pub use series::{LossAt, Series, Wanted};
