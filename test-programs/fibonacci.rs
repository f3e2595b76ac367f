// SPDX-License-Identifier: Apache-2.0
//! usage: fibonacci_rs [SECONDS]: the recursion of fibonacci.c, with Rust's names.

use std::time::{Duration, Instant};

mod numbers {
    pub trait Series {
        fn term(&self, n: u32) -> u64;
    }

    pub struct Fibonacci;

    impl Series for Fibonacci {
        #[inline(never)]
        fn term(&self, n: u32) -> u64 {
            if n < 2 {
                u64::from(n)
            } else {
                self.term(n - 1) + self.term(n - 2)
            }
        }
    }
}

fn main() {
    use numbers::Series;

    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut sum = 0u64;
    while Instant::now() < end {
        sum = sum.wrapping_add(numbers::Fibonacci.term(27));
    }
    println!("{sum}");
}
