//! An object file from clang: programs, data, BTF.

use crate::btf::{length, word};
use object::{Object as _, ObjectSection, ObjectSymbol, RelocationTarget};

/// Bytes of an instruction.
pub const INSN: usize = 8;

pub struct Object {
    pub programs: Vec<Program>,
    pub data: Vec<Data>,
    /// In a form that every kernel accepts.
    pub btf: Vec<u8>,
}

pub struct Program {
    /// The section's name before the slash: `struct_ops`, `default`, `syscall`, `tp_btf`.
    pub kind: String,
    /// The section's name after the slash: the hook or the tracepoint.
    pub hook: String,
    pub insns: Vec<u8>,
    /// The instructions that load an address: their place, and the data.
    pub addresses: Vec<Address>,
    /// The instructions that call a function of the kernel: their place, and the function's name.
    pub calls: Vec<(usize, String)>,
    /// `struct bpf_func_info` of the section's only function.
    pub func_info: [u32; 2],
    /// `struct bpf_core_relo`, four words each, which the kernel applies.
    pub core_relos: Vec<[u32; 4]>,
}

pub struct Address {
    pub insn: usize,
    pub data: usize,
    pub offset: u32,
}

/// A section of data: becomes a map of one element or, if it is called `.maps.NAME`, the map of that name.
pub struct Data {
    pub section: String,
    pub bytes: Vec<u8>,
}

impl Data {
    pub fn read_only(&self) -> bool {
        self.section.starts_with(".rodata")
    }

    pub fn is_map(&self) -> bool {
        self.section.starts_with(".maps")
    }
}

/// Reads an object of this crate's build script; a fault in one is a bug.
pub fn read(elf: &[u8]) -> Object {
    parse(elf).unwrap_or_else(|error| panic!("a broken object: {error}"))
}

fn parse(elf: &[u8]) -> Result<Object, object::Error> {
    let file = object::File::parse(elf)?;
    let mut data = Vec::new();
    let mut data_sections = Vec::new();
    for section in file.sections() {
        let name = section.name()?;
        if [".rodata", ".data", ".maps"].iter().any(|kind| name.starts_with(kind)) {
            data_sections.push(section.index());
            let mut bytes = section.data()?.to_vec();
            bytes.resize(section.size() as usize, 0);
            data.push(Data { section: name.to_owned(), bytes });
        }
    }
    let section = |name: &str| file.section_by_name(name).map_or(Ok(&[][..]), |section| section.data());
    let (btf, ext) = (section(".BTF")?, section(".BTF.ext")?);
    let func_infos = ext_records(btf, ext, 8);
    let core_relos = ext_records(btf, ext, 24);
    let mut programs = Vec::new();
    for section in file.sections() {
        let name = section.name()?;
        let Some((kind @ ("struct_ops" | "default" | "syscall" | "tp_btf"), hook)) = name.split_once('/')
        else {
            continue;
        };
        let mut insns = section.data()?.to_vec();
        let mut addresses = Vec::new();
        let mut calls = Vec::new();
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(symbol)?;
            let at = offset as usize;
            if symbol.is_undefined() {
                calls.push((at / INSN, symbol.name()?.to_owned()));
                continue;
            }
            let index = data_sections.iter().position(|&index| symbol.section_index() == Some(index));
            let index = index.unwrap_or_else(|| panic!("{name} refers to {:?}", symbol.name()));
            // The instruction holds the offset within the section.
            let within = u32::from_le_bytes(insns[at + 4..at + 8].try_into().expect("four bytes"));
            insns[at + 4..at + 8].fill(0);
            addresses.push(Address {
                insn: at / INSN,
                data: index,
                offset: within + symbol.address() as u32,
            });
        }
        let of_section = |records: &[(String, Vec<u32>)]| -> Vec<Vec<u32>> {
            records.iter().filter(|(of, _)| of == name).map(|(_, words)| words.clone()).collect()
        };
        let func_info = of_section(&func_infos).pop().expect("every program has a type");
        programs.push(Program {
            kind: kind.to_owned(),
            hook: hook.to_owned(),
            insns,
            addresses,
            calls,
            func_info: [func_info[0], func_info[1]],
            core_relos: of_section(&core_relos).iter().map(|w| [w[0], w[1], w[2], w[3]]).collect(),
        });
    }
    Ok(Object { programs, data, btf: acceptable(btf) })
}

/// The records of one table of .BTF.ext, each with its section; the header has the table's offset at `at`.
fn ext_records(btf: &[u8], ext: &[u8], at: usize) -> Vec<(String, Vec<u32>)> {
    let header = word(ext, 4);
    let (start, bytes) = (header + word(ext, at), word(ext, at + 4));
    let mut records = Vec::new();
    if bytes == 0 {
        return records;
    }
    let size = word(ext, start);
    let mut cursor = start + 4;
    while cursor < start + bytes {
        let section = string(btf, word(ext, cursor));
        let count = word(ext, cursor + 4);
        cursor += 8;
        for _ in 0..count {
            let words = (0..size / 4).map(|i| word(ext, cursor + 4 * i) as u32).collect();
            records.push((section.clone(), words));
            cursor += size;
        }
    }
    records
}

const KIND_INT: u32 = 1;
const KIND_STRUCT: u32 = 4;
const KIND_FWD: u32 = 7;
const KIND_FUNC: u32 = 12;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
/// The linkage of a function that is defined elsewhere.
const EXTERN: usize = 2;

/// Replaces variables, functions of the kernel and sections by other types of the same length: the kernel would check
/// them, and nothing here uses them.
fn acceptable(original: &[u8]) -> Vec<u8> {
    let mut btf = original.to_vec();
    let start = word(original, 4) + word(original, 8);
    let end = start + word(original, 12);
    let mut set = |at: usize, values: &[u32]| {
        for (i, value) in values.iter().enumerate() {
            btf[at + 4 * i..at + 4 * i + 4].copy_from_slice(&value.to_le_bytes());
        }
    };
    let (mut at, mut id, mut number) = (start, 1, 0);
    while at < end {
        let info = word(original, at + 4) as u32;
        let (kind, count) = (info >> 24 & 31, info as usize & 0xffff);
        match kind {
            KIND_INT if number == 0 => number = id,
            KIND_VAR => set(at, &[0, KIND_INT << 24, 4, 32]),
            KIND_FUNC if count == EXTERN => set(at + 4, &[KIND_FWD << 24, 0]),
            KIND_DATASEC => {
                set(at, &[0, KIND_STRUCT << 24 | count as u32, 8]);
                (0..count).for_each(|i| set(at + 12 + 12 * i, &[0, number, 0]));
            }
            _ => {}
        }
        at += length(kind, count);
        id += 1;
    }
    btf
}

fn string(btf: &[u8], offset: usize) -> String {
    let start = word(btf, 4) + word(btf, 16) + offset;
    let text = btf[start..].split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
