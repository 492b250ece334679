//! The handshake without cryptography, as s2n-quic's traits of TLS have it.

use crate::null::{Handshake, SAMPLE_BYTES, TAG_BYTES};
use bytes::Bytes;
use s2n_codec::EncoderValue;
use s2n_quic::provider::tls::{ConnectionInfo, Provider};
use s2n_quic_core::application::ServerName;
use s2n_quic_core::crypto::tls::{
    ApplicationParameters, CipherSuite, Context, Endpoint, HandshakeType, HelloOffsets, Session,
};
use s2n_quic_core::crypto::{
    CryptoSuite, HandshakeHeaderKey, HandshakeKey, HeaderKey, HeaderProtectionMask, InitialHeaderKey,
    InitialKey, Key, OneRttHeaderKey, OneRttKey, RetryKey, ZeroRttHeaderKey, ZeroRttKey, packet_protection,
    retry::IntegrityTag, scatter,
};
use s2n_quic_core::transport;
use std::convert::Infallible;
use std::task::Poll;

/// All that is needed instead of cryptography.
#[derive(Debug)]
pub struct Null;

#[derive(Debug)]
pub struct NullSession {
    handshake: Handshake,
    /// Packet number spaces that have keys, without the first.
    spaces: u8,
    is_complete: bool,
}

impl NullSession {
    fn new(is_client: bool, parameters: &impl EncoderValue) -> NullSession {
        let handshake = Handshake::new(is_client, parameters.encode_to_vec());
        NullSession { handshake, spaces: 0, is_complete: false }
    }
}

impl Provider for Null {
    type Server = Null;
    type Client = Null;
    type Error = Infallible;

    fn start_server(self) -> Result<Null, Infallible> {
        Ok(Null)
    }

    fn start_client(self) -> Result<Null, Infallible> {
        Ok(Null)
    }
}

impl Endpoint for Null {
    type Session = NullSession;

    fn new_server_session<P: EncoderValue>(&mut self, parameters: &P, _: ConnectionInfo) -> NullSession {
        NullSession::new(false, parameters)
    }

    fn new_client_session<P: EncoderValue>(&mut self, parameters: &P, _: ServerName) -> NullSession {
        NullSession::new(true, parameters)
    }

    fn max_tag_length(&self) -> usize {
        TAG_BYTES
    }
}

impl Session for NullSession {
    fn poll<C: Context<Self>>(&mut self, context: &mut C) -> Poll<Result<(), transport::Error>> {
        while let Some(bytes) = context.receive_initial(None).or_else(|| context.receive_handshake(None)) {
            self.handshake.read(&bytes);
        }
        loop {
            let mut bytes = Vec::new();
            let has_keys = self.handshake.write(&mut bytes);
            if bytes.is_empty() && !has_keys {
                break;
            }
            match self.spaces {
                _ if bytes.is_empty() => {}
                0 => context.send_initial(bytes.into()),
                _ => context.send_handshake(bytes.into()),
            }
            if has_keys && self.spaces == 0 {
                context.on_handshake_keys(Null, Null)?;
            } else if has_keys {
                context.on_application_protocol(Bytes::from_static(b"bulk"))?;
                let transport_parameters = self.handshake.peer_parameters().unwrap_or_default();
                context.on_one_rtt_keys(Null, Null, ApplicationParameters { transport_parameters })?;
            }
            self.spaces += u8::from(has_keys);
        }
        if !self.handshake.is_over() {
            return Poll::Pending;
        }
        if !std::mem::replace(&mut self.is_complete, true) {
            context.on_handshake_complete()?;
        }
        Poll::Ready(Ok(()))
    }

    fn parse_hello(
        _: HandshakeType,
        _header: &[u8],
        _received_len: u64,
        _max_len: u64,
    ) -> Result<Option<HelloOffsets>, transport::Error> {
        Ok(Some(HelloOffsets { payload_offset: 0, payload_len: 0 }))
    }
}

impl CryptoSuite for NullSession {
    type HandshakeKey = Null;
    type HandshakeHeaderKey = Null;
    type InitialKey = Null;
    type InitialHeaderKey = Null;
    type OneRttKey = Null;
    type OneRttHeaderKey = Null;
    type ZeroRttKey = Null;
    type ZeroRttHeaderKey = Null;
    type RetryKey = Null;
}

impl Key for Null {
    fn decrypt(&self, _: u64, _: &[u8], payload: &mut [u8]) -> Result<(), packet_protection::Error> {
        if payload.len() < TAG_BYTES { Err(packet_protection::Error::DECRYPT_ERROR) } else { Ok(()) }
    }

    fn encrypt(
        &mut self,
        _: u64,
        _: &[u8],
        payload: &mut scatter::Buffer,
    ) -> Result<(), packet_protection::Error> {
        payload.flatten();
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn aead_confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn aead_integrity_limit(&self) -> u64 {
        u64::MAX
    }

    fn cipher_suite(&self) -> CipherSuite {
        CipherSuite::Unknown
    }
}

impl HeaderKey for Null {
    fn opening_header_protection_mask(&self, _sample: &[u8]) -> HeaderProtectionMask {
        HeaderProtectionMask::default()
    }

    fn opening_sample_len(&self) -> usize {
        SAMPLE_BYTES
    }

    fn sealing_header_protection_mask(&self, _sample: &[u8]) -> HeaderProtectionMask {
        HeaderProtectionMask::default()
    }

    fn sealing_sample_len(&self) -> usize {
        SAMPLE_BYTES
    }
}

impl InitialKey for Null {
    type HeaderKey = Null;

    fn new_server(_id: &[u8]) -> (Null, Null) {
        (Null, Null)
    }

    fn new_client(_id: &[u8]) -> (Null, Null) {
        (Null, Null)
    }
}

impl OneRttKey for Null {
    fn derive_next_key(&self) -> Null {
        Null
    }
}

impl RetryKey for Null {
    fn generate_tag(_payload: &[u8]) -> IntegrityTag {
        IntegrityTag::default()
    }

    fn validate(_payload: &[u8], _tag: IntegrityTag) -> Result<(), packet_protection::Error> {
        Ok(())
    }
}

impl InitialHeaderKey for Null {}
impl HandshakeKey for Null {}
impl HandshakeHeaderKey for Null {}
impl OneRttHeaderKey for Null {}
impl ZeroRttKey for Null {}
impl ZeroRttHeaderKey for Null {}
