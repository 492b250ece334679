//! What applications send: transfers of a size, when new ones begin, frames and pauses; and UDP.

pub mod application;
pub mod group;
pub mod source;
pub mod udp;
