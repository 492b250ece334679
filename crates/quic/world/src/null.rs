//! A handshake without cryptography: one round trip, as TLS 1.3 takes, and transport parameters in the clear.

/// At the end of each packet, as AES-GCM has it; it holds nothing here.
pub const TAG_BYTES: usize = 16;

/// Sample of the key by which headers are protected: packets are long enough for it, as with AES.
pub const SAMPLE_BYTES: usize = 16;

/// Before a message: its length.
const HEAD_BYTES: usize = 2;

/// The messages of one end, for the stacks' traits `Session`. The client sends its parameters and an end, the server a
/// beginning and its parameters.
#[derive(Debug)]
pub struct Handshake {
    is_client: bool,
    own_parameters: Vec<u8>,
    peer_parameters: Option<Vec<u8>>,
    unread: Vec<u8>,
    /// Messages of the peer.
    read: u8,
    has_begun: bool,
    /// Packet number spaces whose keys were given away, without the first.
    keys: u8,
}

impl Handshake {
    pub fn new(is_client: bool, own_parameters: Vec<u8>) -> Handshake {
        Handshake {
            is_client,
            own_parameters,
            peer_parameters: None,
            unread: Vec::new(),
            read: 0,
            has_begun: false,
            keys: 0,
        }
    }

    /// The parameters of the peer, once they were read.
    pub fn peer_parameters(&self) -> Option<&[u8]> {
        self.peer_parameters.as_deref()
    }

    pub fn is_over(&self) -> bool {
        self.read == 2 && self.keys == 2
    }

    pub fn read(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        while let Some(head) = self.unread.first_chunk::<HEAD_BYTES>() {
            let end = HEAD_BYTES + usize::from(u16::from_be_bytes(*head));
            if self.unread.len() < end {
                return;
            }
            let message: Vec<u8> = self.unread.drain(..end).skip(HEAD_BYTES).collect();
            if self.read == u8::from(self.is_client) {
                self.peer_parameters = Some(message);
            }
            self.read += 1;
        }
    }

    /// Adds to `bytes` what is to be sent in this packet number space; whether there are keys for the next.
    pub fn write(&mut self, bytes: &mut Vec<u8>) -> bool {
        let message = match (self.is_client, self.keys) {
            (true, 0) if !self.has_begun => Some(&*self.own_parameters),
            (true, 1) if self.read == 2 => Some(&[][..]),
            (false, 0) if self.read >= 1 => Some(&[][..]),
            (false, 1) => Some(&*self.own_parameters),
            _ => None,
        };
        let has_keys = match (self.is_client, self.keys) {
            (true, 0) => self.read >= 1,
            _ => message.is_some(),
        };
        if let Some(message) = message {
            let head = u16::try_from(message.len()).expect("parameters are short").to_be_bytes();
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(message);
        }
        self.has_begun = true;
        self.keys += u8::from(has_keys);
        has_keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes as a stack does: until nothing is left, in each packet number space.
    fn write(end: &mut Handshake) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let before = bytes.len();
            if !end.write(&mut bytes) && bytes.len() == before {
                return bytes;
            }
        }
    }

    #[test]
    fn both_ends_have_the_parameters_of_the_other_after_one_round_trip() {
        let (mut client, mut server) =
            (Handshake::new(true, vec![1, 2, 3]), Handshake::new(false, vec![4, 5]));
        let hello = write(&mut client);
        assert_eq!(hello, [0, 3, 1, 2, 3]);
        // In pieces, as a stream may arrive.
        server.read(&hello[..2]);
        assert!(write(&mut server).is_empty());
        server.read(&hello[2..]);
        let answer = write(&mut server);
        assert_eq!(
            (answer.as_slice(), server.peer_parameters()),
            (&[0, 0, 0, 2, 4, 5][..], Some(&[1, 2, 3][..]))
        );
        client.read(&answer);
        let end = write(&mut client);
        assert_eq!(
            (client.peer_parameters(), client.is_over(), server.is_over()),
            (Some(&[4, 5][..]), true, false)
        );
        server.read(&end);
        assert!(server.is_over());
    }
}
