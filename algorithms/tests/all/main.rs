//! The tests of the algorithms and of their driver, in one program.

mod auto;
mod bpf;
mod cases;
mod compiler;
mod driver;
mod fixed;
mod growth;
mod properties;
mod rate_limited;
mod sanitized;
mod sender;
mod stream;
mod texts;
mod vectors;
mod wraps;
