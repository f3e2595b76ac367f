// SPDX-License-Identifier: Apache-2.0
use std::collections::HashMap;
use std::panic;
use std::thread;

#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

#[inline(never)]
fn words(n: usize) -> usize {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for i in 0..n {
        *counts.entry(format!("word {}", i % 997)).or_insert(0) += 1;
    }
    let mut lines: Vec<String> = counts.iter().map(|(w, c)| format!("{w} {c}")).collect();
    lines.sort_by(|a, b| a.cmp(b));
    lines.join("\n").len()
}

#[inline(never)]
fn descend(n: usize, f: &dyn Fn(usize) -> usize) -> usize {
    if n == 0 { f(1000) } else { descend(n - 1, f) + 1 }
}

fn work() -> ! {
    loop {
        let mut sum = descend(100, &|n| words(n) + fibonacci(20) as usize);
        if cfg!(panic = "unwind") {
            sum += panic::catch_unwind(|| descend(30, &|n| { if n > 0 { panic::resume_unwind(Box::new(n)) } n }))
                .unwrap_or(1);
        }
        unsafe { std::ptr::read_volatile(&sum) };
    }
}

fn main() {
    thread::spawn(|| work());
    work()
}
