//! A link in closed form: when a packet leaves, and what becomes of it, is known when it arrives.

mod delayed;
mod droptail;
pub mod fifo;
pub mod late_losses;
pub mod losses;
pub mod passing;
pub mod reverse;
pub mod timing;
