// SPDX-License-Identifier: Apache-2.0
//! usage: custom SECONDS LOG
//!
//! As test-programs/custom.c does: what each thread works on, by the library's own functions. One thread's
//! labels hold while a function runs, the other's are in a set that it enters.
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::{env, fs, hint, thread, time};

const CHANGING: i64 = -1;

struct Changes {
    tid: i32,
    of: Vec<(i64, i64)>,
}

impl Changes {
    fn new() -> Self {
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        Changes { tid, of: Vec::with_capacity(1 << 20) }
    }

    fn note(&mut self, number: i64) {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        self.of.push((now.tv_sec * 1_000_000_000 + now.tv_nsec, number));
    }
}

fn next_random(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1664525).wrapping_add(1013904223);
    *state >> 16
}

fn work(changes: &mut Changes, number: i64, random: &mut u32) {
    changes.note(number);
    for i in 0..10000 + next_random(random) % 100000 {
        hint::black_box(i);
    }
    if next_random(random) % 16 == 0 {
        thread::sleep(time::Duration::from_micros(300));
    }
    changes.note(CHANGING);
}

fn labels_of(number: i64) -> Vec<(String, String)> {
    let mut labels = vec![("number".to_string(), number.to_string())];
    if number % 3 == 0 {
        labels.push(("route".to_string(), format!("/r/{number}")));
    }
    if number % 5 == 0 {
        labels.push(("empty".to_string(), String::new()));
    }
    if number % 7 == 0 {
        labels.push(("long".to_string(), "x".repeat(300)));
    }
    labels
}

fn run(is_nested: bool, ends: &AtomicBool) -> Changes {
    let mut changes = Changes::new();
    let mut random = if is_nested { 1 } else { 7 };
    let mut set = custom_labels::Labelset::new();

    changes.note(CHANGING);
    while !ends.load(Ordering::Relaxed) {
        let number = if next_random(&mut random) % 8 == 0 { 0 } else { 1 + next_random(&mut random) as i64 };

        if number == 0 {
            work(&mut changes, 0, &mut random);
        } else if is_nested {
            custom_labels::with_labels(labels_of(number), || work(&mut changes, number, &mut random));
        } else {
            for key in ["number", "route", "empty", "long"] {
                set.delete(key);
            }
            for (key, value) in labels_of(number) {
                set.set(key, value);
            }
            set.enter(|| work(&mut changes, number, &mut random));
        }
    }
    changes
}

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().collect();
    let ends = Arc::new(AtomicBool::new(false));
    let mut line = String::new();

    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(());
    }
    let threads = [true, false].map(|is_nested| {
        let ends = ends.clone();
        thread::spawn(move || run(is_nested, &ends))
    });
    thread::sleep(time::Duration::from_secs(args[1].parse().unwrap()));
    ends.store(true, Ordering::Relaxed);
    let mut log = io::BufWriter::new(fs::File::create(&args[2])?);
    for thread in threads {
        let changes = thread.join().unwrap();
        for (time, number) in changes.of {
            writeln!(log, "{} {} {}", changes.tid, time, number)?;
        }
    }
    log.flush()?;
    println!("done");
    while io::stdin().lock().read_line(&mut line)? > 0 {}
    Ok(())
}
