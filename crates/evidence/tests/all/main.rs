//! The tests of captures as their readers see them, in one program.

mod any;
mod causes;
mod damage;
mod readers;
mod write;
