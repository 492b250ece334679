//! A server that sends a file to each client with quinn and Elastic-TCP, and a client, over loopback.
//!
//! cargo run -p cwnd-quic --example file_server

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use std::error::Error;
use std::sync::Arc;

const FILE_BYTES: usize = 4_000_000;

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let elastic = cwnd_quic::quinn::factory("elastic", &[])?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(elastic);

    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = certified.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    config.transport_config(Arc::new(transport));
    let server = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        let incoming = server.accept().await.ok_or("the server was closed")?;
        send_file(incoming.await?).await
    });

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = Endpoint::client("127.0.0.1:0".parse()?)?;
    client.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let connection = client.connect(address, "localhost")?.await?;
    let file = connection.accept_uni().await?.read_to_end(FILE_BYTES).await?;
    connection.close(0u32.into(), b"");
    if file.len() != FILE_BYTES {
        return Err(format!("{} bytes arrived of {FILE_BYTES}", file.len()).into());
    }
    let window_bytes = serving.await?.map_err(|error| error.to_string())?;
    println!("{} bytes arrived; the window was {window_bytes} bytes at the end", file.len());
    Ok(())
}

/// Returns the window after the client has it all.
async fn send_file(connection: Connection) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let mut stream = connection.open_uni().await?;
    stream.write_all(&vec![7; FILE_BYTES]).await?;
    stream.finish()?;
    stream.stopped().await?;
    Ok(connection.congestion_state().window())
}
