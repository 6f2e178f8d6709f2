//! The core and nothing else, linked as one wasm module by `cargo xtask test pure`, which then reads its imports.
//! It is never run: the allocator has no memory and a panic ends in a loop.
#![cfg(target_family = "wasm")]
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr::null_mut;

use oncegate_core as _;

struct NoMemory;

#[expect(
    unsafe_code,
    reason = "the trait is unsafe to implement; answering null is allowed for every layout"
)]
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NO_MEMORY: NoMemory = NoMemory;

#[panic_handler]
fn halt(_: &PanicInfo<'_>) -> ! {
    loop {}
}
