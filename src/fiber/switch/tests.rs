use super::*;

struct Pair {
    here: Context,
    there: Context,
    sum: usize,
}

unsafe extern "C" fn add_and_return(arg: *mut c_void) -> ! {
    let pair = arg.cast::<Pair>();
    let mut n = 1;
    loop {
        // SAFETY: the test keeps the pair, and continues this context once each time.
        let got = unsafe {
            (*pair).sum += n;
            let back = (*pair).here;
            switch(&raw mut (*pair).there, back, std::ptr::without_provenance_mut(n))
        };
        n = got.addr();
    }
}

/// Calls `test` with a pair and the end of a stack for its other side; returns the sum.
fn with_a_stack(test: impl FnOnce(*mut Pair, *mut u8)) -> usize {
    let mut stack = vec![0u128; 4096];
    let mut pair = Pair { here: std::ptr::null_mut(), there: std::ptr::null_mut(), sum: 0 };
    test(&raw mut pair, stack.as_mut_ptr_range().end.cast());
    pair.sum
}

#[test]
fn to_and_fro() {
    const N: usize = 100_000;
    // SAFETY: the stack is the test's own.
    let sum = with_a_stack(|pair, top| unsafe {
        let got = begin(&raw mut (*pair).here, top, add_and_return, pair.cast());
        assert_eq!(got.addr(), 1);
        for n in 2..N {
            let to = (*pair).there;
            let got = switch(&raw mut (*pair).here, to, std::ptr::without_provenance_mut(n));
            assert_eq!(got.addr(), n);
        }
    });
    assert_eq!(sum, (N - 1) * N / 2);
}

unsafe extern "C" fn store(this: *mut c_void, context: Context) {
    // SAFETY: the test keeps the place.
    unsafe { this.cast::<Context>().write(context) };
}

unsafe extern "C" fn count_and_hand_over(arg: *mut c_void) -> ! {
    let pair = arg.cast::<Pair>();
    loop {
        // SAFETY: the test keeps the pair, and continues this context once each time.
        unsafe {
            (*pair).sum += 1;
            let back = (*pair).here;
            hand_over((&raw mut (*pair).there).cast(), back, store);
        }
    }
}

#[test]
fn handed_over_to_and_fro() {
    const N: usize = 100_000;
    // SAFETY: the stack is the test's own.
    let sum = with_a_stack(|pair, top| unsafe {
        let got = begin(&raw mut (*pair).here, top, count_and_hand_over, pair.cast());
        assert!(got.is_null());
        for _ in 1..N {
            let to = (*pair).there;
            assert!(hand_over((&raw mut (*pair).here).cast(), to, store).is_null());
        }
    });
    assert_eq!(sum, N);
}
