//! What waits at a link, and which packet leaves next: one file for each queue discipline.

pub mod discipline;
pub mod droptail;
