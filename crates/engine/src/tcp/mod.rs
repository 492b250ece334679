//! The two ends of a connection, and what travels between them.

pub mod application;
pub mod delivery_rate;
pub mod non_sack;
pub mod packet;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
