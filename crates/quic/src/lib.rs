//! The congestion control algorithms of [cwnd](cwnd_algorithms) in QUIC stacks: the text that was simulated, re-run against its
//! paper and loaded into kernels decides about the window of a QUIC connection, too.
//!
//! Each stack is a feature of this crate, and a function that takes the name of an algorithm and its parameters. Their defaults are
//! those of the paper or the RFC; Linux's build, where it differs, is `("variant", "linux")`.
//!
//! # quinn
//!
//! ```
//! # #[cfg(feature = "quinn")]
//! # fn main() -> Result<(), cwnd_quic::Error> {
//! let mut transport = quinn::TransportConfig::default();
//! transport.congestion_controller_factory(cwnd_quic::quinn::factory("elastic", &[])?);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "quinn"))]
//! # fn main() {}
//! ```
//!
//! # noq
//!
//! ```
//! # #[cfg(feature = "noq")]
//! # fn main() -> Result<(), cwnd_quic::Error> {
//! let mut transport = noq::TransportConfig::default();
//! transport.congestion_controller_factory(cwnd_quic::noq::factory("cubic", &[("beta", "0.8")])?);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "noq"))]
//! # fn main() {}
//! ```
//!
//! # s2n-quic
//!
//! ```
//! # #[cfg(feature = "s2n-quic")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let controller = cwnd_quic::s2n::endpoint("bbr3", &[])?;
//! let server = s2n_quic::Server::builder().with_congestion_controller(controller)?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "s2n-quic"))]
//! # fn main() {}
//! ```
//!
//! # What a stack cannot give
//!
//! | | quinn | noq | s2n-quic | aioquic |
//! |---|---|---|---|---|
//! | pacing at the algorithm's rate | no: `bbr`, `bbr3` and `copa` are refused | yes | yes | no: as quinn |
//! | number of ECN marks | no, an event: `dctcp` is refused | no: as quinn | yes | no marks at all |
//! | packets with ECT(1), for `prague` (RFC 9331) | no | no | no | no |
//! | what a packet met when it was sent, losses one by one | no | yes | yes | no |
//! | spurious losses | no: a reduction is final | yes | no | no |
//! | whether the application or cwnd limited the sender | the application | both | both | neither: half of the window must be in flight |
//!
//! quinn, noq and aioquic pace at 5/4 of the window in an RTT (RFC 9002, 7.7) while the algorithm sets no rate, and so does the
//! adapter for s2n-quic. `fast-start` and `newvegas` set one in slow start, which quinn and aioquic do not see. No stack reports
//! its peer's receive window, nor one-way delays: `ledbat` runs with `("delay", "rtt")` alone.
//!
//! # How bytes become segments
//!
//! A segment is a packet of the path's MTU; bytes are counted to the nearest. When the MTU changes, cwnd and ssthresh keep their bytes.
//! Other state of an algorithm, such as CUBIC's last maximum, stays in packets until the next loss. A window of data is reduced once:
//! packets that were sent before a reduction do not cause another. Persistent congestion (RFC 9002, 7.6) is a timeout; a probe
//! timeout is nothing. The least window is two packets, the initial one ten, or fewer above 1472 bytes (RFC 9002, 7.2).
//!
//! A stack that is not here can run a [`Bridge`] by itself.

#![warn(missing_docs)]

mod bridge;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "s2n-quic")]
pub mod s2n;
mod setup;

pub use bridge::{Bridge, Sent};
pub use setup::{Error, Setup, Stack};
