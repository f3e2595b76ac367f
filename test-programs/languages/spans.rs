// SPDX-License-Identifier: Apache-2.0
// usage: spans SECONDS LOG
//
// As spans.cc, with calls that are left by returns and panics.
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Read;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn gettid() -> i32;
}

const MONOTONIC: i32 = 1;

static ENDS: AtomicBool = AtomicBool::new(false);
static SUM: AtomicUsize = AtomicUsize::new(0);

struct Thread {
    random: u32,
    changes: Vec<(i64, i32)>,
}

thread_local!(static SELF: RefCell<Thread> = RefCell::new(Thread { random: 1, changes: Vec::new() }));

fn note(number: i32) {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(MONOTONIC, &mut time) };
    SELF.with(|own| own.borrow_mut().changes.push((time.seconds * 1_000_000_000 + time.nanoseconds, number)));
}

fn next_random() -> u32 {
    SELF.with(|own| {
        let mut own = own.borrow_mut();
        own.random = own.random.wrapping_mul(1664525).wrapping_add(1013904223);
        own.random >> 16
    })
}

// Within the call of this number.
#[inline(never)]
fn work(number: i32) {
    note(number);
    for i in 0..next_random() % 30000 {
        SUM.fetch_add(i as usize, Ordering::Relaxed);
    }
    note(-1);
}

#[no_mangle]
#[inline(never)]
pub fn handle(route: &str, number: i32, depth: u32) -> usize {
    work(number);
    if depth > 0 {
        nested(number, depth - 1);
    }
    work(number);
    match next_random() % 8 {
        0 => resume_unwind(Box::new(number)),
        1 => _ = catch_unwind(|| nested(number, 0)),
        _ => (),
    }
    work(number);
    route.len() + route.as_bytes()[1] as usize
}

#[inline(never)]
fn nested(outer: i32, depth: u32) {
    let number = 1 + (next_random() % 1000) as i32;
    SUM.fetch_add(handle(&format!("/r/{number}"), number, depth), Ordering::Relaxed);
    work(outer);
}

fn run(random: u32) -> String {
    SELF.with(|own| own.borrow_mut().random = random);
    while !ENDS.load(Ordering::Relaxed) {
        work(0);
        _ = catch_unwind(|| nested(0, next_random() % 8));
        work(0);
    }
    let mut log = String::new();
    let tid = unsafe { gettid() };
    SELF.with(|own| own.borrow().changes.iter().for_each(|(time, number)| writeln!(log, "{tid} {time} {number}").unwrap()));
    log
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).unwrap() == 0 {
        std::process::exit(1);
    }
    let threads: Vec<_> = [1, 7].map(|random| std::thread::spawn(move || run(random))).into();
    std::thread::sleep(std::time::Duration::from_secs(arguments[1].parse().unwrap()));
    ENDS.store(true, Ordering::Relaxed);
    let logs: String = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    std::fs::write(&arguments[2], logs).unwrap();
    println!("done");
    std::io::stdin().read_to_string(&mut line).unwrap();
}
