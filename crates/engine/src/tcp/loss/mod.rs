//! How lost segments are found and sent again.

pub mod dupack;
pub mod fack;
pub mod fine_timer;
pub mod rack;
pub mod sack;
pub mod timeout;
pub mod tlp;
