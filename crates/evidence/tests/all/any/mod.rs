//! Any bytes as a capture.

use std::io::Cursor;

/// Explains the bytes or refuses them in a line. Says what did not hold.
pub fn explain(bytes: &[u8]) -> Result<(), String> {
    let explained = match cwnd_evidence::explain(Box::new(Cursor::new(bytes.to_vec()))) {
        Ok(explained) => explained,
        Err(refused) => {
            let line = refused.to_string();
            return if line.is_empty() || line.contains('\n') {
                Err(format!("a refusal: {line:?}"))
            } else {
                Ok(())
            };
        }
    };
    for connection in &explained.connections {
        let shares: f64 = connection.causes.iter().map(|share| share.share).sum();
        if (shares - 1.0).abs() > 1e-6 {
            return Err(format!("shares add up to {shares}: {connection:?}"));
        }
        if connection.spans.windows(2).any(|two| two[0].end_s != two[1].start_s) {
            return Err(format!("spans with a gap: {:?}", connection.spans));
        }
    }
    Ok(())
}
