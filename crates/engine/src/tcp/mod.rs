//! The two ends of a connection, and what travels between them.

pub mod acknowledgement;
pub mod application;
mod cwnd_time;
pub mod delivery_rate;
mod fast_path;
pub mod handshake;
pub mod loss;
mod ns2;
mod out_of_order;
mod pacing;
pub mod packet;
mod paws;
pub mod rack;
pub mod receiver;
pub mod recovery;
pub mod reduction;
pub mod repairs;
pub mod rtt;
pub mod scoreboard;
mod send_buffer;
pub mod sender;
mod sent_times;
pub mod source;
pub mod ticks;
mod undo;
mod window_use;
mod writing;
