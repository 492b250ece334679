//! The roots of `parts/fixed.h` against the definition of a root, in 128 bits.

use crate::compiler::{assert_success, headers, host, scratch};
use std::fs::File;
use std::process::Command;

#[test]
fn roots_are_exact_up_to_the_largest_number() {
    let numbers = numbers();
    let input = scratch("fixed.txt");
    let text: String = numbers.iter().map(|n| format!("{n}\n")).collect();
    std::fs::write(&input, text).unwrap();
    let roots = assert_success(Command::new(build()).stdin(File::open(&input).unwrap())).stdout;
    let roots = String::from_utf8(roots).unwrap();
    assert_eq!(roots.lines().count(), numbers.len());
    for (&n, line) in numbers.iter().zip(roots.lines()) {
        let (square, cube) = line.split_once(' ').unwrap();
        let is_root = |text: &str, power| {
            let root: u128 = text.parse().unwrap();
            root.pow(power) <= u128::from(n) && u128::from(n) < (root + 1).pow(power)
        };
        assert!(is_root(square, 2), "{square} is not the square root of {n}");
        assert!(is_root(cube, 3), "{cube} is not the cube root of {n}");
    }
}

fn build() -> std::path::PathBuf {
    let program = scratch("fixed");
    assert_success(
        host()
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I"])
            .arg(headers())
            .arg(headers().join("tests/fixed.c"))
            .arg("-o")
            .arg(&program),
    );
    program
}

/// Small numbers, powers of two, squares, cubes and their neighbours, and numbers of every length.
fn numbers() -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..2000).collect();
    numbers.extend((0..64).flat_map(|bit| around(1 << bit)));
    numbers.extend(around(u64::MAX));
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for index in 0..20_000 {
        // xorshift64: any spread will do.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        numbers.push(random >> (index % 64));
        numbers.extend(around((random >> 32).pow(2)));
        numbers.extend(around((random % 2_642_246).pow(3)));
    }
    numbers.extend(around(u64::from(u32::MAX).pow(2)));
    numbers.extend(around(2_642_245_u64.pow(3)));
    numbers
}

fn around(n: u64) -> [u64; 3] {
    [n.saturating_sub(1), n, n.saturating_add(1)]
}
