// SPDX-License-Identifier: Apache-2.0
// usage: strings N LOG
//
// As valued_strings.cc, with the texts of Rust. Those of str are valid UTF-8.
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

static SUM: AtomicUsize = AtomicUsize::new(0);
const LOGGED: usize = 255;

pub struct Request {
    pub version: u8,
    pub name: String,
    pub route: &'static str,
    pub body: Vec<u8>,
}

// Compilers may not keep what is not used.
fn size(text: &[u8]) -> usize {
    text.len() + text.first().map_or(0, |byte| *byte as usize)
}

// A slice takes two registers; a String is passed by a pointer to it; the last ones are on the stack.
#[no_mangle]
#[inline(never)]
pub fn handle(route: &str, id: u64, data: &[u8], owned: String, request: &Request, boxed: Box<str>, last: &str) {
    let texts = size(route.as_bytes()) + size(data) + size(boxed.as_bytes()) + size(last.as_bytes());
    SUM.fetch_add(texts + owned.len() + request.name.len() + id as usize, Ordering::Relaxed);
}

#[no_mangle]
#[inline(never)]
pub fn borrow(string: &String, vector: &Vec<u8>, id: u64) {
    SUM.fetch_add(string.len() + vector.len() + id as usize, Ordering::Relaxed);
}

#[derive(Clone, Copy)]
pub enum Colour {
    Red,
    Green = 7,
    Blue,
}

pub struct Numbers {
    pub byte: u8,
    pub short: i16,
    pub long: i64,
    pub colour: Colour,
}

#[no_mangle]
#[inline(never)]
pub fn count(tiny: i8, short: u16, int: i32, word: u32, long: i64, numbers: &Numbers, colour: Colour, id: u64) {
    let own = numbers.byte as i64 ^ numbers.short as i64 ^ numbers.long ^ numbers.colour as i64;
    let all = tiny as i64 ^ short as i64 ^ int as i64 ^ word as i64 ^ long ^ own ^ colour as i64 ^ id as i64;
    SUM.fetch_add(all as usize, Ordering::Relaxed);
}

fn mix(i: u64) -> u64 {
    let i = (i ^ i >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    let i = (i ^ i >> 27).wrapping_mul(0x94d049bb133111eb);
    i ^ i >> 31
}

fn length(i: u64, k: u64) -> usize {
    const LENGTHS: [usize; 8] = [0, 15, 16, 255, 256, 5000, 1, 300];
    match LENGTHS[((i + k) % 8) as usize] {
        300 => (mix(i * 8 + k) % 300) as usize,
        n => n,
    }
}

fn text(i: u64, k: u64) -> String {
    let random = mix(i * 8 + k);
    let n = length(i, k);
    let mut text = String::new();
    while text.len() < n {
        let byte = mix(random.wrapping_add(text.len() as u64));
        match byte % 30 {
            26..=27 if text.len() + 2 <= n => text.push('\u{e9}'),
            28.. => text.push('\0'),
            letter => text.push((b'a' + (letter % 26) as u8) as char),
        }
    }
    text
}

fn bytes(i: u64, k: u64) -> Vec<u8> {
    (0..length(i, k)).map(|at| mix(mix(i * 8 + k).wrapping_add(at as u64)) as u8).collect()
}

fn put(line: &mut String, key: &str, text: &[u8]) {
    write!(line, "\"{}\": [\"", key).unwrap();
    for byte in &text[..text.len().min(LOGGED)] {
        write!(line, "{:02x}", byte).unwrap();
    }
    write!(line, "\", {}], ", text.len() > LOGGED).unwrap();
}

fn call(i: u64, log: &mut impl Write) {
    let (route, data, owned, boxed, last) = (text(i, 0), bytes(i, 1), text(i, 2), text(i, 3), text(i, 4));
    let request = Request { version: 1, name: text(i, 5), route: "/always/the/same", body: bytes(i, 6) };
    let mut line = String::from("{");
    put(&mut line, "route", route.as_bytes());
    put(&mut line, "data", &data);
    put(&mut line, "owned", owned.as_bytes());
    put(&mut line, "boxed", boxed.as_bytes());
    put(&mut line, "last", last.as_bytes());
    put(&mut line, "name", request.name.as_bytes());
    put(&mut line, "fixed", request.route.as_bytes());
    put(&mut line, "body", &request.body);
    let random = mix(i) as i64;
    let numbers = Numbers { byte: random as u8, short: random as i16, long: random, colour: Colour::Blue };
    let (colour, name) = if i % 2 == 0 { (Colour::Red, "Red") } else { (Colour::Green, "Green") };
    write!(line, "\"tiny\": {}, \"short\": {}, \"int\": {}, \"word\": {}, \"long\": {}, ", random as i8, random as u16, random as i32,
           random as u32, random).unwrap();
    write!(line, "\"own_byte\": {}, \"own_short\": {}, \"own_colour\": \"Blue\", \"colour\": \"{}\", ", numbers.byte, numbers.short,
           name).unwrap();
    writeln!(log, "{}\"id\": {}}}", line, i).unwrap();
    count(random as i8, random as u16, random as i32, random as u32, random, &numbers, colour, i);
    SUM.fetch_add(request.version as usize, Ordering::Relaxed);
    borrow(&owned, &data, i);
    handle(&route, i, &data, owned, &request, boxed.into_boxed_str(), &last);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let n: u64 = arguments[1].parse().unwrap();
    let mut log = std::io::BufWriter::new(std::fs::File::create(&arguments[2]).unwrap());
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).unwrap() == 0 {
        std::process::exit(1);
    }
    for i in 0..n {
        call(i, &mut log);
    }
    log.flush().unwrap();
    println!("done");
    std::io::stdin().read_to_string(&mut line).unwrap();
}
