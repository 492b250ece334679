//! From the TOML to a [`Scenario`](crate::Scenario): every default, unit and preset is settled here.

pub mod expect;
pub mod flows;
pub mod impairments;
pub mod layout;
pub mod links;
pub mod queue;
pub mod scenario;
pub mod traffic;
pub mod variation;
