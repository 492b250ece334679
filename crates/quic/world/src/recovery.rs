//! A recovery that ends as TCP's does.

use std::time::Instant;

/// QUIC's recovery ends with the first ACK of a packet sent after its beginning (RFC 9002, 7.3.2). TCP's ends when all that was
/// under way then has arrived, what was lost of it again, too; what is lost of later data reduces the window after that.
#[derive(Clone, Debug, Default)]
pub struct TcpRecovery {
    began: Option<Instant>,
    /// While it lasts: the ACK of a packet sent later ends it.
    repaired: Option<Instant>,
    /// When a lost packet was sent that begins the next one.
    next: Option<Instant>,
}

impl TcpRecovery {
    /// A packet sent at `sent` is lost. Whether the controller is to know now.
    pub fn lose(&mut self, now: Instant, sent: Instant) -> bool {
        let is_later = self.began.is_none_or(|began| sent > began);
        match (self.repaired, is_later) {
            (Some(_), true) => self.next = self.next.max(Some(sent)),
            (Some(_), false) => self.repaired = Some(now),
            (None, true) => (self.began, self.repaired) = (Some(now), Some(now)),
            (None, false) => {}
        }
        !(is_later && self.next.is_some())
    }

    /// When an acknowledged packet was sent, for a controller: before the recovery, while that lasts.
    pub fn date(&self, sent: Instant) -> Instant {
        match (self.began, self.repaired) {
            (Some(began), Some(repaired)) if sent <= repaired => sent.min(began),
            _ => sent,
        }
    }

    /// An ACK of packets of which the newest was sent at `newest`; a recovery that begins after it is of a packet sent then.
    pub fn end(&mut self, newest: Instant) -> Option<Instant> {
        self.repaired.take_if(|repaired| newest > *repaired)?;
        self.next.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_second_loss_of_the_same_window_prolongs_it_and_one_of_later_data_waits_for_its_end() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut recovery = TcpRecovery::default();
        assert!(recovery.lose(at(200), at(10)));
        assert!(recovery.lose(at(290), at(90)));
        // Sent after it began, and acknowledged before the second is repaired.
        assert_eq!((recovery.date(at(210)), recovery.end(at(210))), (at(200), None));
        assert!(!recovery.lose(at(420), at(220)));
        assert_eq!((recovery.date(at(291)), recovery.end(at(291))), (at(291), Some(at(220))));
        assert!(recovery.lose(at(491), at(220)));
        assert!(recovery.lose(at(500), at(90)));
    }
}
