//! The example of the documentation runs.

#[path = "../../examples/file_server.rs"]
mod file_server;

#[test]
fn the_file_server_sends_its_file_to_a_client() {
    file_server::main().unwrap();
}
