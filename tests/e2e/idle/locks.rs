// SPDX-License-Identifier: Apache-2.0
// Threads that share a mutex, and workers that wait on a channel. locks MS
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let ms: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_millis(ms);
    let lock = Arc::new(Mutex::new(0));
    let mut threads = Vec::new();
    let mut senders = Vec::new();
    for _ in 0..3 {
        let (sender, receiver) = mpsc::channel::<u32>();
        let lock = lock.clone();
        let mutex = thread::Builder::new().name("mutex".into());
        threads.push(mutex.spawn(move || {
            while Instant::now() < end {
                let mut count = lock.lock().unwrap();
                *count += 1;
                thread::sleep(Duration::from_millis(2));
            }
        }).unwrap());
        senders.push(sender);
        let worker = thread::Builder::new().name("worker".into());
        threads.push(worker.spawn(move || while receiver.recv().is_ok() {}).unwrap());
    }
    println!("ready");
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
        for sender in &senders {
            sender.send(1).unwrap();
        }
    }
    drop(senders);
    for thread in threads {
        thread.join().unwrap();
    }
}
