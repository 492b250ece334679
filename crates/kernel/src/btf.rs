//! The types of the running kernel, as its BTF describes them.

pub struct Btf<'a> {
    bytes: &'a [u8],
    /// The offset of each type's description, by number; there is no type 0.
    types: Vec<usize>,
}

#[derive(Debug)]
pub struct Member {
    pub name: String,
    pub type_id: u32,
    /// In bytes.
    pub offset: usize,
}

const KIND_PTR: u32 = 2;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;

/// Bytes that describe a type of this kind with `count` members.
pub fn length(kind: u32, count: usize) -> usize {
    12 + match kind {
        1 | 14 | 17 => 4,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * count,
        6 | 13 => 8 * count,
        _ => 0,
    }
}

impl<'a> Btf<'a> {
    /// `None`: not BTF that this program can read.
    pub fn parse(bytes: &'a [u8]) -> Option<Btf<'a>> {
        if bytes.len() < 24 || bytes[..2] != [0x9f, 0xeb] {
            return None;
        }
        let start = word(bytes, 4) + word(bytes, 8);
        let end = start + word(bytes, 12);
        if end > bytes.len() || word(bytes, 4) + word(bytes, 16) + word(bytes, 20) > bytes.len() {
            return None;
        }
        let mut types = vec![0];
        let mut at = start;
        while at + 12 <= end {
            types.push(at);
            let info = word(bytes, at + 4);
            at += length((info >> 24) as u32 & 31, info & 0xffff);
        }
        Some(Btf { bytes, types })
    }

    fn kind(&self, id: u32) -> u32 {
        (word(self.bytes, self.types[id as usize] + 4) >> 24) as u32 & 31
    }

    fn name(&self, offset: usize) -> &[u8] {
        let start = word(self.bytes, 4) + word(self.bytes, 16) + offset;
        self.bytes[start..].split(|&byte| byte == 0).next().unwrap_or_default()
    }

    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        (1..self.types.len() as u32).find(|&id| {
            self.kind(id) == kind && self.name(word(self.bytes, self.types[id as usize])) == name.as_bytes()
        })
    }

    pub fn structure(&self, name: &str) -> Option<u32> {
        self.find(KIND_STRUCT, name)
    }

    pub fn function(&self, name: &str) -> Option<u32> {
        self.find(KIND_FUNC, name)
    }

    /// The type to which programs of a tracepoint attach.
    pub fn tracepoint(&self, name: &str) -> Option<u32> {
        self.find(KIND_TYPEDEF, &format!("btf_trace_{name}"))
    }

    /// Bytes of a struct.
    pub fn size(&self, id: u32) -> usize {
        word(self.bytes, self.types[id as usize] + 8)
    }

    pub fn members(&self, id: u32) -> Vec<Member> {
        let at = self.types[id as usize];
        if !matches!(self.kind(id), KIND_STRUCT | KIND_UNION) {
            return Vec::new();
        }
        let count = word(self.bytes, at + 4) & 0xffff;
        (0..count)
            .map(|i| at + 12 + 12 * i)
            .map(|at| Member {
                name: String::from_utf8_lossy(self.name(word(self.bytes, at))).into_owned(),
                type_id: word(self.bytes, at + 4) as u32,
                offset: (word(self.bytes, at + 8) & 0xff_ffff) / 8,
            })
            .collect()
    }

    /// Arguments of the function that a member points to.
    pub fn arguments(&self, pointer: u32) -> Option<usize> {
        let to = |id: u32| word(self.bytes, self.types[id as usize] + 8) as u32;
        let function = (self.kind(pointer) == KIND_PTR).then(|| to(pointer))?;
        (self.kind(function) == KIND_FUNC_PROTO)
            .then(|| word(self.bytes, self.types[function as usize] + 4) & 0xffff)
    }
}

pub fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}
