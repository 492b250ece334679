//! Calls of `bpf()` in a plan.

use cwnd_kernel::Call;

/// A call of `bpf()` as the guest reads it.
pub fn line(call: &Call) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut attr = call.attr.clone();
    // Addresses of this process, which are other ones in each: the guest puts its own there.
    call.inputs.iter().for_each(|(at, _)| attr[*at..at + 8].fill(0));
    let mut line = format!("bpf {} {} {}", call.command, call.fd.unwrap_or(0), hex(&attr));
    for (at, data) in &call.inputs {
        line += &format!(" {at} {}", hex(data));
    }
    line + "\n"
}
