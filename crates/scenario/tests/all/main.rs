//! The tests of scenarios as their readers see them, in one program.

mod any_text;
mod errors;
mod files;
mod keys;
mod queues;
mod resolution;
mod samples;
mod sweep;
mod text;
mod topologies;
mod traffic;
mod varying;
