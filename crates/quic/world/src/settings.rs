//! Settings of a stack that no scenario asks for.

/// Protection of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Crypto {
    /// Nothing: packets have the tags, and the handshake its round trip.
    #[default]
    Null,
    /// TLS 1.3 by rustls.
    Tls,
}

impl Crypto {
    pub const ALL: [Crypto; 2] = [Crypto::Null, Crypto::Tls];
}

/// A stack's settings; the defaults are its own. Those of ACKs and pacing show why a stack differs from the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub crypto: Crypto,
    /// How many packets the receiver acknowledges at a time; the sender asks for it (draft-ietf-quic-ack-frequency).
    pub ack_every_pkts: Option<u32>,
    /// Packets leave as soon as the window allows.
    pub is_unpaced: bool,
    /// A recovery lasts as long as TCP's, on noq alone.
    pub has_tcp_recovery: bool,
}

impl From<Crypto> for Settings {
    fn from(crypto: Crypto) -> Settings {
        Settings { crypto, ..Settings::default() }
    }
}
