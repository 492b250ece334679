//! The tests of scenarios on QUIC stacks, in one program.

mod beside_tcp;
mod causes;
mod golden;
mod own;
mod runs;
