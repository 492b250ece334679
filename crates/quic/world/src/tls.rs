//! TLS 1.3. Key and certificate are the same in every run and signatures have one length, so that datagrams have the same sizes.

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

/// The server, as its certificate has it.
pub const NAME: &str = "receiver";

/// An Ed25519 key in PKCS #8 (RFC 8410, 7), whose secret is zeros.
const KEY: [u8; 48] = {
    let head = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    let mut key = [0; 48];
    let mut index = 0;
    while index < head.len() {
        key[index] = head[index];
        index += 1;
    }
    key
};

/// Returns the configurations of client and server; the client trusts the server's certificate.
pub fn configs() -> Result<(ClientConfig, ServerConfig), String> {
    let key = PrivatePkcs8KeyDer::from(KEY.to_vec());
    let pair = KeyPair::try_from(&key).map_err(|error| error.to_string())?;
    let params = CertificateParams::new([NAME.to_owned()]).map_err(|error| error.to_string())?;
    let certificate = params.self_signed(&pair).map_err(|error| error.to_string())?.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    let provider = Arc::new(default_provider());
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&[&TLS13]);
    let client =
        client.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let server = server.map_err(|error| error.to_string())?.with_no_client_auth();
    let server = server.with_single_cert(vec![certificate], key.into()).map_err(|error| error.to_string())?;
    Ok((client, server))
}
