//! Products of square matrices, as bench_c/dense.h has them.

use super::{Joins, timed};
use crate::measure::Bench;
use crate::work::{fresh, mix, sum};

const LEAF: usize = 32;

/// A part of a matrix, in row order: where it starts, and the stride of the whole.
#[derive(Clone, Copy)]
struct Factor<'a> {
    data: &'a [f64],
    stride: usize,
}

impl<'a> Factor<'a> {
    fn at(self, row: usize, column: usize) -> Factor<'a> {
        Factor { data: &self.data[row * self.stride + column..], ..self }
    }
}

/// A part of the product, which no other task touches while this one has it.
struct Product {
    start: *mut f64,
    stride: usize,
}

// SAFETY: a task that divides a product gives away parts that do not overlap.
unsafe impl Send for Product {}

impl Product {
    fn at(&self, row: usize, column: usize) -> Product {
        Product { start: self.start.wrapping_add(row * self.stride + column), ..*self }
    }

    /// C += A B, where A is rows by inner, and B inner by columns.
    fn add(&self, a: Factor, b: Factor, [rows, inner, columns]: [usize; 3]) {
        for i in 0..rows {
            // SAFETY: the part has `rows` rows of `columns` elements, which are ours alone.
            let c =
                unsafe { std::slice::from_raw_parts_mut(self.start.add(i * self.stride), columns) };
            for k in 0..inner {
                let factor = a.data[i * a.stride + k];
                for (c, b) in c.iter_mut().zip(&b.data[k * b.stride..]) {
                    *c += factor * b;
                }
            }
        }
    }
}

pub fn matmul<S: Joins>(here: &mut S::Here<'_>, c: &mut [f64], a: &[f64], b: &[f64], n: usize) {
    let factor = |data| Factor { data, stride: n };
    let product = Product { start: c.as_mut_ptr(), stride: n };
    multiply::<S>(here, product, factor(a), factor(b), [n; 3]);
}

/// Divides along the longest side.
fn multiply<S: Joins>(
    here: &mut S::Here<'_>,
    c: Product,
    a: Factor,
    b: Factor,
    [rows, inner, columns]: [usize; 3],
) {
    let longest = rows.max(inner).max(columns);
    let half = longest / 2;
    if longest <= LEAF {
        c.add(a, b, [rows, inner, columns]);
    } else if rows == longest {
        let below = c.at(half, 0);
        S::join(
            here,
            move |here| multiply::<S>(here, c, a, b, [half, inner, columns]),
            move |here| multiply::<S>(here, below, a.at(half, 0), b, [rows - half, inner, columns]),
        );
    } else if columns == longest {
        let right = c.at(0, half);
        S::join(
            here,
            move |here| multiply::<S>(here, c, a, b, [rows, inner, half]),
            move |here| multiply::<S>(here, right, a, b.at(0, half), [rows, inner, columns - half]),
        );
    } else {
        multiply::<S>(here, c.at(0, 0), a, b, [rows, half, columns]);
        multiply::<S>(here, c, a.at(0, half), b.at(half, 0), [rows, inner - half, columns]);
    }
}

pub fn matmul_tasks(n: usize) -> u64 {
    fn forks([rows, inner, columns]: [usize; 3]) -> u64 {
        let longest = rows.max(inner).max(columns);
        let half = longest / 2;
        if longest <= LEAF {
            0
        } else if rows == longest {
            1 + forks([half, inner, columns]) + forks([rows - half, inner, columns])
        } else if columns == longest {
            1 + forks([rows, inner, half]) + forks([rows, inner, columns - half])
        } else {
            forks([rows, half, columns]) + forks([rows, inner - half, columns])
        }
    }
    1 + forks([n; 3])
}

/// Quadrants: 0 and 1 above, 2 and 3 below. Each product multiplies a sum of quadrants of A by
/// one of B: the first, and the second with its sign.
type Operand = (usize, usize, f64);
const OPERANDS: [[Operand; 2]; 7] = [
    [(0, 3, 1.0), (0, 3, 1.0)],
    [(2, 3, 1.0), (0, 0, 0.0)],
    [(0, 0, 0.0), (1, 3, -1.0)],
    [(3, 0, 0.0), (2, 0, -1.0)],
    [(0, 1, 1.0), (3, 0, 0.0)],
    [(2, 0, -1.0), (0, 1, 1.0)],
    [(1, 3, -1.0), (2, 3, 1.0)],
];
/// How often each product is in a quadrant of C.
const SHARES: [[f64; 7]; 4] = [
    [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    [1.0, -1.0, 1.0, 0.0, 0.0, 1.0, 0.0],
];

pub fn strassen<S: Joins>(here: &mut S::Here<'_>, c: &mut [f64], a: &[f64], b: &[f64], n: usize) {
    let factor = |data| Factor { data, stride: n };
    square::<S>(here, c, factor(a), factor(b), n);
}

fn square<S: Joins>(here: &mut S::Here<'_>, c: &mut [f64], a: Factor, b: Factor, n: usize) {
    if n <= LEAF || n % 2 != 0 {
        c.fill(0.0);
        Product { start: c.as_mut_ptr(), stride: n }.add(a, b, [n; 3]);
        return;
    }
    let half = n / 2;
    let size = half * half;
    let mut space = vec![0.0; 21 * size];
    products::<S>(here, &mut space, a, b, half, 0);
    for (q, shares) in SHARES.iter().enumerate() {
        let start = (q / 2 * n + q % 2) * half;
        for i in 0..half {
            c[start + i * n..][..half].fill(0.0);
        }
        for (p, &share) in shares.iter().enumerate().filter(|(_, share)| **share != 0.0) {
            for i in 0..half {
                let product = &space[3 * p * size + i * half..][..half];
                for (c, p) in c[start + i * n..].iter_mut().zip(product) {
                    *c += share * p;
                }
            }
        }
    }
}

/// The products from `first` on, each in its part of the space.
fn products<S: Joins>(
    here: &mut S::Here<'_>,
    space: &mut [f64],
    a: Factor,
    b: Factor,
    half: usize,
    first: usize,
) {
    let (own, rest) = space.split_at_mut(3 * half * half);
    let mut one = move |here: &mut S::Here<'_>| {
        let (c, operands) = own.split_at_mut(half * half);
        let (x, y) = operands.split_at_mut(half * half);
        operand(x, a, half, OPERANDS[first][0]);
        operand(y, b, half, OPERANDS[first][1]);
        let factor = |data| Factor { data, stride: half };
        square::<S>(here, c, factor(x), factor(y), half);
    };
    if rest.is_empty() {
        one(here);
    } else {
        S::join(here, one, move |here| products::<S>(here, rest, a, b, half, first + 1));
    }
}

fn operand(out: &mut [f64], a: Factor, half: usize, (first, second, sign): Operand) {
    let quadrant = |q: usize| a.at(q / 2 * half, q % 2 * half);
    let (first, second) = (quadrant(first), quadrant(second));
    for (i, out) in out.chunks_exact_mut(half).enumerate() {
        let (x, y) = (&first.data[i * first.stride..], &second.data[i * second.stride..]);
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = x + sign * y;
        }
    }
}

pub fn strassen_tasks(n: usize) -> u64 {
    fn forks(n: usize) -> u64 {
        if n <= LEAF || n % 2 != 0 { 0 } else { 7 + 7 * forks(n / 2) }
    }
    1 + forks(n)
}

type Multiply<S> = fn(&mut <S as Joins>::Here<'_>, &mut [f64], &[f64], &[f64], usize);

/// C = A B, checked by Freivalds: C x = A (B x).
pub fn main<S: Joins>(
    system: &S,
    bench: &Bench,
    multiply: Multiply<S>,
    tasks: fn(usize) -> u64,
) -> bool {
    let n = bench.n;
    let size = (n * n) as u64;
    let fill = |seed: u64| -> Vec<f64> {
        (seed..seed + size).map(|i| (mix(i) % 9) as f64 - 4.0).collect()
    };
    let (a, b) = (fill(1), fill(1 + size));
    let mut c = fresh(n * n);
    let (spent, ()) = timed(system, bench, |here| multiply(here, &mut c, &a, &b, n));
    let times = |m: &[f64], x: &[f64]| -> Vec<f64> {
        m.chunks(n).map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()).collect()
    };
    let x: Vec<f64> = (0..n as u64).map(|i| (mix(i) % 1021) as f64).collect();
    let right = times(&c, &x) == times(&a, &times(&b, &x));
    let checksum = sum((0..).zip(&c).map(|(i, &c)| mix(i).wrapping_mul(c as i64 as u64)));
    bench.line(&spent, tasks(n), checksum, "", right)
}
