//! The guest's file system: an archive in cpio's `newc` form, which the kernel unpacks.

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_755;

#[derive(Default)]
pub struct Image {
    bytes: Vec<u8>,
    entries: u32,
}

impl Image {
    pub fn add_folder(&mut self, name: &str) {
        self.add(name, DIRECTORY, &[]);
    }

    pub fn add_file(&mut self, name: &str, data: &[u8]) {
        self.add(name, FILE, data);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn add(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.entries += 1;
        let bytes = |length: usize| u32::try_from(length).expect("a file of the image is smaller than 4 GiB");
        // inode, mode, uid, gid, links, mtime, size, device and its minor, the node's, name with its zero, checksum
        let fields =
            [self.entries, mode, 0, 0, 1, 0, bytes(data.len()), 0, 0, 0, 0, bytes(name.len() + 1), 0];
        self.bytes.extend(b"070701");
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08x}").bytes()));
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_a_trailer_ends_the_archive() {
        let mut image = Image::default();
        image.add_folder("proc");
        image.add_file("plan", b"node 0\n");
        let bytes = image.finish();
        assert_eq!(bytes.len() % 4, 0);
        // 110 bytes of header, then the name with its zero, in multiples of four.
        assert_eq!(&bytes[..6], b"070701");
        assert_eq!(&bytes[110..115], b"proc\0");
        assert_eq!(&bytes[116..122], b"070701");
        assert_eq!(&bytes[116 + 54..116 + 62], b"00000007");
        assert_eq!(&bytes[116 + 116..116 + 123], b"node 0\n");
        assert!(bytes.windows(10).any(|window| window == b"TRAILER!!!"));
    }
}
