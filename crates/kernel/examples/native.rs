//! Loads the kernel's own cubic or bbr behind programs, under another name: native cubic NAME.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (which, name) = (arguments.next(), arguments.next());
    let (Some(which), Some(name)) = (which, name) else { panic!("native cubic|bbr NAME") };
    if let Err(error) = cwnd_kernel::testing::load_native(&cwnd_kernel::Host::this(), &which, &name) {
        eprintln!("{error}\n{}", error.log);
        std::process::exit(1);
    }
}
