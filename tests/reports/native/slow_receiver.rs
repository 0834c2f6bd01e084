// SPDX-License-Identifier: GPL-2.0-or-later
// Report: rust-lang/rust#59944, tokio-rs/tokio#4321. An unbounded channel whose receiver is slower than its
// sender. `fixed`: a bounded one.
//
// kind: Rust
// leak channel-unbounded: leak
//   part: native-blocks
//   code: slow_receiver::(main|make_event)
// healthy channel-bounded: fixed
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

struct Event {
    topic: String,
    payload: Vec<u8>,
}

fn make_event(n: u64) -> Event {
    Event { topic: format!("sensor/{}/temperature", n % 1000), payload: vec![1u8; 500] }
}

fn slow_sink(e: Event) {
    thread::sleep(Duration::from_millis(20));
    std::hint::black_box((e.topic, e.payload));
}

fn main() {
    let fixed = std::env::args().nth(1).as_deref() == Some("fixed");
    if fixed {
        let (tx, rx) = mpsc::sync_channel::<Event>(64);
        thread::spawn(move || for e in rx { slow_sink(e) });
        for n in 0.. { tx.send(make_event(n)).unwrap(); thread::sleep(Duration::from_millis(2)); }
    } else {
        let (tx, rx) = mpsc::channel::<Event>();
        thread::spawn(move || for e in rx { slow_sink(e) });
        for n in 0.. { tx.send(make_event(n)).unwrap(); thread::sleep(Duration::from_millis(2)); }
    }
}
