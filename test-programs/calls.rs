// SPDX-License-Identifier: Apache-2.0
//! usage: calls_rs N: the like of calls.cc, with Rust's names.

use std::io::{stdin, stdout, Read, Write};

/// As std::hint::black_box, which Rust has from 1.66 on.
#[inline(always)]
fn black_box(value: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&value) }
}

mod shapes {
    use super::black_box;

    pub trait Shape {
        fn grow(&self, by: u64) -> u64;
    }

    pub struct Circle;

    pub struct Square;

    impl Circle {
        #[inline(never)]
        pub fn shrink(&self, by: u64) -> u64 {
            black_box(by) - 1
        }
    }

    impl Shape for Circle {
        #[inline(never)]
        fn grow(&self, by: u64) -> u64 {
            black_box(by) + 2
        }
    }

    impl Shape for Square {
        #[inline(never)]
        fn grow(&self, by: u64) -> u64 {
            black_box(by) * 3
        }
    }

    #[inline(never)]
    pub fn draw(n: u64) -> u64 {
        black_box(n) + 4
    }
}

fn main() {
    use shapes::Shape;

    let n: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut letter = [0u8];
    let _ = stdin().read(&mut letter);
    for i in 1..=n {
        black_box(shapes::Circle.grow(i));
    }
    for i in 1..=2 * n {
        black_box(shapes::Square.grow(i));
    }
    for i in 1..=3 * n {
        black_box(shapes::Circle.shrink(i));
    }
    for i in 1..=4 * n {
        black_box(shapes::draw(i));
    }
    println!("done");
    let _ = stdout().flush();
    let _ = stdin().read_to_end(&mut Vec::new());
}
