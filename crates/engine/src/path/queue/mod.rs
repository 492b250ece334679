//! What waits at a link, and which packet leaves next: one file for each queue discipline.

pub mod discipline;
pub mod droptail;
pub mod fifo;

use discipline::Discipline;

/// The discipline of a link that the scenario lets vary or impairs; every other one is droptail in closed form.
pub fn named(link: &cwnd_scenario::Link, _: u64) -> Option<Box<dyn Discipline>> {
    link.is_managed().then(|| Box::new(fifo::Fifo::new(link)) as Box<dyn Discipline>)
}
