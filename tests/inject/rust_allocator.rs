// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program in Rust with jemalloc, as the crate tikv-jemallocator links it. Says how often it was called.
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering};

extern "C" {
    fn je_mallocx(size: usize, flags: i32) -> *mut u8;
    fn je_rallocx(block: *mut u8, size: usize, flags: i32) -> *mut u8;
    fn je_sdallocx(block: *mut u8, size: usize, flags: i32);
}

struct Jemalloc;
static COUNT: AtomicU64 = AtomicU64::new(0);

fn flags(layout: Layout) -> i32 {
    layout.align().trailing_zeros() as i32
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        je_mallocx(layout.size(), flags(layout))
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        je_rallocx(block, size, flags(layout))
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        je_sdallocx(block, layout.size(), flags(layout))
    }
}

#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;

#[inline(never)]
fn work_inside() -> u64 {
    let mut sum = 0;
    for i in 0..1000u64 {
        let numbers: Vec<u64> = (0..i % 50).collect();
        let text = format!("{}{}", i, sum);
        sum += numbers.iter().sum::<u64>() + text.len() as u64;
    }
    sum
}

fn main() {
    let before = COUNT.load(Ordering::Relaxed);
    let sum = work_inside();
    println!("inside={} {}", COUNT.load(Ordering::Relaxed) - before, sum);
}
