//! A program at a wire, which loses and marks the packets that a scenario names (`losses`, `marks`).
//!
//! The kernel runs it for each packet that a link's queue has sent (TCX, Linux 6.6). It is written here in the kernel's own
//! instructions: it has a comparison for each range and each span, and no loop.

use cwnd_kernel::Call;
use cwnd_scenario::{Flow, Handshake, Impairments, PacketSet, Scenario};
use std::collections::BTreeMap;

/// Descriptors that guests use for nothing else: of a wire's counts, and its program behind it.
const FIRST_FD: i32 = 10_000;

/// The descriptors of a wire's counts and of its program.
pub fn descriptors(wire: usize) -> (i32, i32) {
    let first = FIRST_FD + 2 * wire as i32;
    (first, first + 1)
}

/// Returns true if a program has to look at the wire's packets.
pub fn is_needed(impairments: &Impairments) -> bool {
    impairments.losses.is_some() || impairments.marks.is_some()
}

/// The calls of `bpf()` that make a wire's counts (guest/filter.c) and load its program. Packets of a handshake have numbers
/// where scenarios have one.
pub fn calls(scenario: &Scenario, wire: usize, impairments: &Impairments) -> [Call; 2] {
    const MAP_CREATE: i32 = 0;
    const ARRAY: u32 = 2;
    const COUNTS_BYTES: u32 = 32;
    const PROG_LOAD: i32 = 5;
    const SCHED_CLS: u32 = 3;
    const INSTRUCTIONS_AT: usize = 8;
    const LICENSE_AT: usize = 16;
    let crosses = |flow: &&Flow| {
        let mut links = flow.path.iter().chain(&flow.reverse_path);
        links.any(|&link| link as usize == wire)
    };
    let mut users = scenario.flows.iter().filter(crosses);
    let has_handshake = users.any(|flow| flow.stack.handshake != Handshake::Off);
    let (counts, program) = descriptors(wire);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let code = program_of(counts, impairments, has_handshake);
    let count = (code.len() / Code::INSTRUCTION_BYTES) as u32;
    let of = |command, fd, attr, inputs| Call { command, attr, inputs, fd: Some(fd) };
    [
        of(MAP_CREATE, counts, words(&[ARRAY, 4, COUNTS_BYTES, 1]), Vec::new()),
        of(
            PROG_LOAD,
            program,
            words(&[SCHED_CLS, count, 0, 0, 0, 0]),
            vec![(INSTRUCTIONS_AT, code), (LICENSE_AT, b"Dual MIT/GPL\0".to_vec())],
        ),
    ]
}

/// Places in the counts.
const NUMBER: i16 = 0;
const BEGIN_NS: i16 = 8;
const LOST: i16 = 16;
const MARKED: i16 = 24;

/// Registers: R0 has what a call returns, R1 to R3 its arguments, R6 to R9 outlive it; the stack ends at R10.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const PACKET: u8 = 6;
const COUNTS: u8 = 7;
const ASKED: u8 = 8;
const SENT_NS: u8 = 9;
const STACK: u8 = 10;

/// Helpers of the kernel.
const KTIME_GET_NS: i32 = 5;
const SKB_LOAD_BYTES: i32 = 26;
const SKB_ECN_SET_CE: i32 = 97;

/// Verdicts of a program at a device.
const NEXT: i32 = -1;
const DROP: i32 = 2;

fn program_of(counts_fd: i32, impairments: &Impairments, has_handshake: bool) -> Vec<u8> {
    const ETHERNET_BYTES: i32 = 14;
    /// The IPv4 header, which has no options, and the TCP header up to its flags.
    const HEADERS_BYTES: i32 = 34;
    const HEADERS: i16 = -40;
    const LENGTH_AT: i16 = HEADERS + 2;
    const PROTOCOL_AT: i16 = HEADERS + 9;
    const SECOND_OF_SOURCE_AT: i16 = HEADERS + 13;
    const TCP_WORDS_AT: i16 = HEADERS + 32;
    const FLAGS_AT: i16 = HEADERS + 33;
    const TCP: i32 = 6;
    /// Senders are 10.1.x.x, receivers 10.2.x.x.
    const SENDERS: i32 = 1;
    const FIN_RST: i32 = 5;
    const SYN: i32 = 2;
    let mut code = Code::default();
    code.move_register(PACKET, R1);
    code.move_number(R2, ETHERNET_BYTES);
    code.move_register(R3, STACK);
    code.add(R3, HEADERS.into());
    code.move_number(R4, HEADERS_BYTES);
    code.call(SKB_LOAD_BYTES);
    code.jump_if(Jump::NotEqual, R0, 0, "pass");
    code.load(Size::Byte, R1, STACK, PROTOCOL_AT);
    code.jump_if(Jump::NotEqual, R1, TCP, "pass");
    // Data have numbers, and ACKs: not what ends a connection, nor what begins it in a scenario without a handshake.
    code.load(Size::Byte, R1, STACK, SECOND_OF_SOURCE_AT);
    code.jump_if(Jump::NotEqual, R1, SENDERS, "empty");
    code.load(Size::Half, R1, STACK, LENGTH_AT);
    code.read_big_endian_16(R1);
    code.load(Size::Byte, R2, STACK, TCP_WORDS_AT);
    code.shift_right(R2, 4);
    code.shift_left(R2, 2);
    code.add(R2, 20);
    code.jump_if_register(Jump::NotEqual, R1, R2, "count");
    if !has_handshake {
        code.jump("pass");
    }
    code.label("empty");
    code.load(Size::Byte, R1, STACK, FLAGS_AT);
    code.jump_if(Jump::AnyBit, R1, if has_handshake { FIN_RST } else { FIN_RST | SYN }, "pass");
    code.label("count");
    code.map_value(COUNTS, counts_fd);
    // Before the run no packet has a number.
    code.load(Size::Double, R1, COUNTS, BEGIN_NS);
    code.jump_if(Jump::Equal, R1, 0, "pass");
    code.increase(COUNTS, NUMBER);
    code.load(Size::Double, ASKED, COUNTS, NUMBER);
    code.call(KTIME_GET_NS);
    code.load(Size::Double, R1, COUNTS, BEGIN_NS);
    code.move_register(SENT_NS, R0);
    code.subtract_register(SENT_NS, R1);
    if let Some(losses) = &impairments.losses {
        code.look_for(losses, "lose", "lose by time", "stays");
        code.label("stays");
    }
    if let Some(marks) = &impairments.marks {
        code.look_for(marks, "mark", "mark by time", "pass");
    }
    code.label("pass");
    code.move_number(R0, NEXT);
    code.exit();
    // The kernel takes no instruction that nothing leads to.
    if impairments.marks.is_some() {
        code.label("mark");
        code.move_register(R1, PACKET);
        code.call(SKB_ECN_SET_CE);
        code.jump_if(Jump::Equal, R0, 0, "pass");
        code.increase(COUNTS, MARKED);
        code.jump("pass");
    }
    if impairments.losses.is_some() {
        code.label("lose");
        code.increase(COUNTS, LOST);
        code.move_number(R0, DROP);
        code.exit();
    }
    code.finish()
}

#[derive(Clone, Copy)]
enum Size {
    Half = 0x08,
    Byte = 0x10,
    Double = 0x18,
}

/// Conditions of a jump; of numbers without a sign.
#[derive(Clone, Copy)]
enum Jump {
    Equal = 0x10,
    AnyBit = 0x40,
    NotEqual = 0x50,
    Less = 0xa0,
    LessOrEqual = 0xb0,
}

/// Instructions as the kernel reads them: an opcode, two registers, an offset and a number.
#[derive(Default)]
struct Code {
    instructions: Vec<[u8; Code::INSTRUCTION_BYTES]>,
    labels: BTreeMap<&'static str, usize>,
    jumps: Vec<(usize, &'static str)>,
}

impl Code {
    const INSTRUCTION_BYTES: usize = 8;
    /// Instructions whose second operand is a register instead of a number.
    const REGISTER: u8 = 0x08;
    const JUMP: u8 = 0x05;
    const ALU64: u8 = 0x07;
    const LOAD_NUMBER: u8 = 0x18;

    fn add_instruction(&mut self, opcode: u8, to: u8, from: u8, offset: i16, number: i32) {
        let [low, high] = offset.to_le_bytes();
        let [a, b, c, d] = number.to_le_bytes();
        self.instructions.push([opcode, from << 4 | to, low, high, a, b, c, d]);
    }

    fn calculate(&mut self, operation: u8, to: u8, number: i32) {
        self.add_instruction(operation | Code::ALU64, to, 0, 0, number);
    }

    fn calculate_register(&mut self, operation: u8, to: u8, from: u8) {
        self.add_instruction(operation | Code::ALU64 | Code::REGISTER, to, from, 0, 0);
    }

    fn add(&mut self, to: u8, number: i32) {
        self.calculate(0x00, to, number);
    }

    fn subtract_register(&mut self, to: u8, from: u8) {
        self.calculate_register(0x10, to, from);
    }

    fn shift_left(&mut self, to: u8, bits: i32) {
        self.calculate(0x60, to, bits);
    }

    fn shift_right(&mut self, to: u8, bits: i32) {
        self.calculate(0x70, to, bits);
    }

    fn move_number(&mut self, to: u8, number: i32) {
        self.calculate(0xb0, to, number);
    }

    fn move_register(&mut self, to: u8, from: u8) {
        self.calculate_register(0xb0, to, from);
    }

    fn read_big_endian_16(&mut self, to: u8) {
        self.add_instruction(0xdc, to, 0, 0, 16);
    }

    fn load(&mut self, size: Size, to: u8, base: u8, offset: i16) {
        self.add_instruction(0x61 | size as u8, to, base, offset, 0);
    }

    fn store_double(&mut self, base: u8, offset: i16, from: u8) {
        self.add_instruction(0x7b, base, from, offset, 0);
    }

    /// Adds one to a number of 64 bits; uses R1.
    fn increase(&mut self, base: u8, offset: i16) {
        self.load(Size::Double, R1, base, offset);
        self.add(R1, 1);
        self.store_double(base, offset, R1);
    }

    fn load_wide(&mut self, to: u8, kind: u8, low: i32, high: i32) {
        self.add_instruction(Code::LOAD_NUMBER, to, kind, 0, low);
        self.add_instruction(0, 0, 0, 0, high);
    }

    fn load_number(&mut self, to: u8, number: u64) {
        self.load_wide(to, 0, number as u32 as i32, (number >> 32) as i32);
    }

    /// The address of the only value of an array.
    fn map_value(&mut self, to: u8, map_fd: i32) {
        const PSEUDO_MAP_VALUE: u8 = 2;
        self.load_wide(to, PSEUDO_MAP_VALUE, map_fd, 0);
    }

    fn call(&mut self, helper: i32) {
        self.add_instruction(0x85, 0, 0, 0, helper);
    }

    fn exit(&mut self) {
        self.add_instruction(0x95, 0, 0, 0, 0);
    }

    fn label(&mut self, label: &'static str) {
        self.labels.insert(label, self.instructions.len());
    }

    fn jump(&mut self, label: &'static str) {
        self.jumps.push((self.instructions.len(), label));
        self.add_instruction(Code::JUMP, 0, 0, 0, 0);
    }

    fn jump_if(&mut self, jump: Jump, left: u8, right: i32, label: &'static str) {
        self.jumps.push((self.instructions.len(), label));
        self.add_instruction(Code::JUMP | jump as u8, left, 0, 0, right);
    }

    fn jump_if_register(&mut self, jump: Jump, left: u8, right: u8, label: &'static str) {
        self.jumps.push((self.instructions.len(), label));
        self.add_instruction(Code::JUMP | Code::REGISTER | jump as u8, left, right, 0, 0);
    }

    /// Goes to `found` if the packet belongs to the set, else to `missed`; to `by_time` where its number does not decide.
    fn look_for(
        &mut self,
        set: &PacketSet,
        found: &'static str,
        by_time: &'static str,
        missed: &'static str,
    ) {
        self.look_in(&set.numbers, ASKED, Jump::LessOrEqual, found, by_time);
        self.label(by_time);
        self.look_in(&set.spans_ns, SENT_NS, Jump::Less, found, missed);
        self.jump(missed);
    }

    /// Goes to `found` if the register lies in a range, and to `missed` if it lies before one: ranges rise, so that no later one
    /// has it. `reaches`: `LessOrEqual` if a range's end belongs to it, `Less` if not.
    fn look_in(
        &mut self,
        ranges: &[[u64; 2]],
        register: u8,
        reaches: Jump,
        found: &'static str,
        missed: &'static str,
    ) {
        for [begin, end] in ranges {
            self.load_number(R1, *begin);
            self.jump_if_register(Jump::Less, register, R1, missed);
            self.load_number(R1, *end);
            self.jump_if_register(reaches, register, R1, found);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        for (at, label) in self.jumps {
            let offset = self.labels[label] as i64 - at as i64 - 1;
            let offset = i16::try_from(offset).expect("sets of more members are refused");
            self.instructions[at][2..4].copy_from_slice(&offset.to_le_bytes());
        }
        self.instructions.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interpreter of these instructions, by RFC 9669, with a packet in place of the helpers' kernel.
    struct Machine<'a> {
        packet: &'a [u8],
        now_ns: u64,
        counts: &'a mut [u64; 4],
    }

    impl Machine<'_> {
        fn run(&mut self, code: &[u8]) -> i32 {
            const COUNTS_ADDRESS: u64 = 1 << 40;
            const STACK_ADDRESS: u64 = 1 << 41;
            let mut registers = [0_u64; 11];
            registers[10] = STACK_ADDRESS;
            let mut stack = [0_u8; 512];
            let at_stack = |address: i64| (512 + address - STACK_ADDRESS as i64) as usize;
            let mut at = 0;
            loop {
                let one = &code[8 * at..8 * at + 8];
                let (to, from) = (usize::from(one[1] & 15), usize::from(one[1] >> 4));
                let offset = i64::from(i16::from_le_bytes([one[2], one[3]]));
                let number = i32::from_le_bytes(one[4..8].try_into().unwrap());
                at += 1;
                let (class, operation) = (one[0] & 7, one[0] & 0xf0);
                let right = if one[0] & 8 != 0 { registers[from] } else { i64::from(number) as u64 };
                let address = |base: u64| base as i64 + offset;
                match (one[0], class) {
                    (0x18, _) => {
                        let high = u32::from_le_bytes(code[8 * at + 4..8 * at + 8].try_into().unwrap());
                        let value = u64::from(number as u32) | u64::from(high) << 32;
                        registers[to] = if from == 2 { COUNTS_ADDRESS } else { value };
                        at += 1;
                    }
                    (0x85, _) => match number {
                        KTIME_GET_NS => registers[0] = self.now_ns,
                        SKB_LOAD_BYTES => {
                            let (begin, count) = (registers[2] as usize, registers[4] as usize);
                            let into = at_stack(registers[3] as i64);
                            let found = self.packet.get(begin..begin + count);
                            registers[0] = if found.is_some() { 0 } else { (-14_i64) as u64 };
                            stack[into..into + count].copy_from_slice(found.unwrap_or(&vec![0; count]));
                        }
                        SKB_ECN_SET_CE => registers[0] = u64::from(self.packet[15] & 3 != 0),
                        _ => panic!("helper {number}"),
                    },
                    (0x95, _) => return registers[0] as i32,
                    (0xdc, _) => registers[to] = u64::from((registers[to] as u16).swap_bytes()),
                    (0x69, _) => {
                        let begin = at_stack(address(registers[from]));
                        registers[to] = u64::from(u16::from_le_bytes([stack[begin], stack[begin + 1]]));
                    }
                    (0x71, _) => registers[to] = u64::from(stack[at_stack(address(registers[from]))]),
                    (0x79, _) => {
                        assert_eq!(registers[from], COUNTS_ADDRESS);
                        registers[to] = self.counts[offset as usize / 8];
                    }
                    (0x7b, _) => self.counts[offset as usize / 8] = registers[from],
                    (_, 7) => {
                        let left = registers[to];
                        registers[to] = match operation {
                            0x00 => left.wrapping_add(right),
                            0x10 => left.wrapping_sub(right),
                            0x60 => left << right,
                            0x70 => left >> right,
                            0xb0 => right,
                            _ => panic!("operation {operation:#x}"),
                        };
                    }
                    (_, 5) => {
                        let left = registers[to];
                        let goes = match operation {
                            0x00 => true,
                            0x10 => left == right,
                            0x40 => left & right != 0,
                            0x50 => left != right,
                            0xa0 => left < right,
                            0xb0 => left <= right,
                            _ => panic!("jump {operation:#x}"),
                        };
                        at = if goes { (at as i64 + offset) as usize } else { at };
                    }
                    (opcode, _) => panic!("opcode {opcode:#x}"),
                }
            }
        }
    }

    const ACK: u8 = 0x10;
    const SYN: u8 = 0x02;

    /// A segment with a timestamp behind an Ethernet header, ECN-capable, from 10.`side`.0.1.
    fn segment(side: u8, flags: u8, payload_bytes: u16) -> Vec<u8> {
        let mut packet = vec![0; 14 + 52 + usize::from(payload_bytes)];
        let ip = &mut packet[14..];
        (ip[0], ip[1], ip[9]) = (0x45, 2, 6);
        ip[2..4].copy_from_slice(&(52 + payload_bytes).to_be_bytes());
        ip[12..16].copy_from_slice(&[10, side, 0, 1]);
        (ip[32], ip[33]) = (8 << 4, flags);
        packet
    }

    fn impairments(losses: Option<PacketSet>, marks: Option<PacketSet>) -> Impairments {
        Impairments::default().with(|one| (one.losses, one.marks) = (losses, marks))
    }

    #[test]
    fn packets_are_lost_and_marked_by_number_and_by_time_from_the_beginning_of_the_run() {
        let losses = PacketSet::new(vec![[2, 3], [7, 7]], vec![[900, 1100]]);
        let marks = PacketSet::new(vec![[3, 4]], vec![[1200, 1250]]);
        let code = program_of(9, &impairments(Some(losses), Some(marks)), false);
        let begin_ns = u64::from(u32::MAX) + 5;
        let mut counts = [0, begin_ns, 0, 0];
        let data = segment(1, ACK, 1448);
        let mut lost = Vec::new();
        for k in 1..15 {
            let mut machine = Machine { packet: &data, now_ns: begin_ns + 100 * k, counts: &mut counts };
            if machine.run(&code) == DROP {
                lost.push(k);
            }
        }
        // Number k is sent at 100 k: 9 and 10 by time, which ends just before 11. 3 is lost, so that 4 and 12 are marked.
        assert_eq!(lost, [2, 3, 7, 9, 10]);
        assert_eq!(counts, [14, begin_ns, 5, 2]);
    }

    #[test]
    fn data_and_acks_have_numbers_and_the_beginning_and_the_end_of_a_connection_have_none() {
        let third = impairments(Some(PacketSet::new(vec![[3, 3]], Vec::new())), None);
        let code = program_of(9, &third, false);
        let mut before = [0; 4];
        assert_eq!(Machine { packet: &segment(1, ACK, 9), now_ns: 5, counts: &mut before }.run(&code), NEXT);
        assert_eq!(before, [0; 4], "a packet before the run");
        let mut counts = [0, 1, 0, 0];
        let mut numbers_of = |packet: &[u8]| {
            let verdict = Machine { packet, now_ns: 5, counts: &mut counts }.run(&code);
            (counts[0], verdict)
        };
        let mut probe = segment(1, ACK, 100);
        probe[14 + 9] = 17;
        // A SYN, its SYN-ACK, the ACK that ends the handshake, a probe by UDP, and what is too short for a segment.
        for none in [segment(1, SYN, 0), segment(2, SYN | ACK, 0), segment(1, ACK, 0), probe, vec![0; 40]] {
            assert_eq!(numbers_of(&none), (0, NEXT));
        }
        assert_eq!(numbers_of(&segment(1, ACK, 1)), (1, NEXT));
        assert_eq!(numbers_of(&segment(2, ACK, 0)), (2, NEXT));
        assert_eq!(numbers_of(&segment(1, ACK, 1448)), (3, DROP));
        assert_eq!(numbers_of(&segment(2, ACK | 1, 0)), (3, NEXT), "a receiver's FIN");
        // In a scenario with a handshake its packets are on the wire, too.
        let code = program_of(9, &third, true);
        let mut counts = [0, 1, 0, 0];
        for (packet, verdict) in [
            (segment(1, SYN, 0), NEXT),
            (segment(1, ACK, 0), NEXT),
            (segment(1, ACK, 1448), DROP),
            (segment(1, ACK | 1, 0), NEXT),
        ] {
            assert_eq!(Machine { packet: &packet, now_ns: 5, counts: &mut counts }.run(&code), verdict);
        }
        assert_eq!(counts[0], 3);
    }

    /// The first words of a program that `bpftool prog dump xlated` shows as `r6 = r1; r2 = 14; r3 = r10; r3 += -40`.
    #[test]
    fn instructions_are_those_of_the_kernel() {
        let code = program_of(9, &impairments(None, None), false);
        let words: Vec<u64> =
            code.chunks_exact(8).take(4).map(|one| u64::from_be_bytes(one.try_into().unwrap())).collect();
        let wanted =
            [0xbf16_0000_0000_0000, 0xb702_0000_0e00_0000, 0xbfa3_0000_0000_0000, 0x0703_0000_d8ff_ffff];
        assert_eq!(words, wanted);
    }
}
