package main

import "sync"

// Products of square matrices, as bench_c/dense.h has them.

const denseLeaf = 32

// A part of a matrix, in row order; the stride is that of the whole.
type part struct {
	data   []float64
	stride int
}

func (p part) at(row, column int) part {
	return part{p.data[row*p.stride+column:], p.stride}
}

var factorA, factorB, product []float64

func prepareDense(n int) func() {
	factorA, factorB, product = make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range factorA {
		factorA[i] = float64(mix(uint64(1+i))%9) - 4
		factorB[i] = float64(mix(uint64(1+n*n+i))%9) - 4
	}
	return func() {
		for i := range product {
			product[i] = 0
		}
	}
}

// C += A B, where A is rows by inner, and B inner by columns.
func denseAdd(c, a, b part, rows, inner, columns int) {
	for i := 0; i < rows; i++ {
		out := c.data[i*c.stride : i*c.stride+columns]
		for k := 0; k < inner; k++ {
			factor := a.data[i*a.stride+k]
			row := b.data[k*b.stride : k*b.stride+columns]
			for j := range row {
				out[j] += factor * row[j]
			}
		}
	}
}

func longest(rows, inner, columns int) int {
	if rows < columns {
		rows = columns
	}
	if rows < inner {
		rows = inner
	}
	return rows
}

// Divides along the longest side.
func multiply(c, a, b part, rows, inner, columns int) {
	most := longest(rows, inner, columns)
	half := most / 2
	switch {
	case most <= denseLeaf:
		denseAdd(c, a, b, rows, inner, columns)
	case rows == most:
		both(func() { multiply(c.at(half, 0), a.at(half, 0), b, rows-half, inner, columns) },
			func() { multiply(c, a, b, half, inner, columns) })
	case columns == most:
		both(func() { multiply(c.at(0, half), a, b.at(0, half), rows, inner, columns-half) },
			func() { multiply(c, a, b, rows, inner, half) })
	default:
		multiply(c, a, b, rows, half, columns)
		multiply(c, a.at(0, half), b.at(half, 0), rows, inner-half, columns)
	}
}

func matmulForks(rows, inner, columns int) int {
	most := longest(rows, inner, columns)
	half := most / 2
	switch {
	case most <= denseLeaf:
		return 0
	case rows == most:
		return 1 + matmulForks(half, inner, columns) + matmulForks(rows-half, inner, columns)
	case columns == most:
		return 1 + matmulForks(rows, inner, half) + matmulForks(rows, inner, columns-half)
	}
	return matmulForks(rows, half, columns) + matmulForks(rows, inner-half, columns)
}

func runMatmul(n int) {
	multiply(part{product, n}, part{factorA, n}, part{factorB, n}, n, n, n)
}

// Quadrants: 0 and 1 above, 2 and 3 below. Each product multiplies a sum of quadrants of A by
// one of B: the first, and the second with its sign.
type operand struct {
	first, second int
	sign          float64
}

var operands = [7][2]operand{
	{{0, 3, 1}, {0, 3, 1}}, {{2, 3, 1}, {0, 0, 0}}, {{0, 0, 0}, {1, 3, -1}}, {{3, 0, 0}, {2, 0, -1}},
	{{0, 1, 1}, {3, 0, 0}}, {{2, 0, -1}, {0, 1, 1}}, {{1, 3, -1}, {2, 3, 1}},
}

// How often each product is in a quadrant of C.
var shares = [4][7]float64{
	{1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0},
}

func (o operand) of(out []float64, m part, half int) {
	first := m.at(o.first/2*half, o.first%2*half)
	second := m.at(o.second/2*half, o.second%2*half)
	for i := 0; i < half; i++ {
		x, y := first.data[i*m.stride:], second.data[i*m.stride:]
		for j := range out[i*half : (i+1)*half] {
			out[i*half+j] = x[j] + o.sign*y[j]
		}
	}
}

func square(c []float64, a, b part, n int) {
	if n <= denseLeaf || n%2 != 0 {
		for i := range c {
			c[i] = 0
		}
		denseAdd(part{c, n}, a, b, n, n, n)
		return
	}
	half := n / 2
	size := half * half
	space := make([]float64, 21*size)
	var products sync.WaitGroup
	products.Add(7)
	for i := 0; i < 7; i++ {
		go func(own []float64, pair *[2]operand) {
			x, y := own[size:2*size], own[2*size:]
			pair[0].of(x, a, half)
			pair[1].of(y, b, half)
			square(own[:size], part{x, half}, part{y, half}, half)
			products.Done()
		}(space[3*i*size:3*(i+1)*size], &operands[i])
	}
	products.Wait()
	for q := range shares {
		out := part{c, n}.at(q/2*half, q%2*half)
		for i := 0; i < half; i++ {
			row := out.data[i*n : i*n+half]
			for j := range row {
				row[j] = 0
			}
			for p, share := range shares[q] {
				if share == 0 {
					continue
				}
				from := space[3*p*size+i*half:]
				for j := range row {
					row[j] += share * from[j]
				}
			}
		}
	}
}

func strassenForks(n int) int {
	if n <= denseLeaf || n%2 != 0 {
		return 0
	}
	return 7 + 7*strassenForks(n/2)
}

func runStrassen(n int) {
	square(product, part{factorA, n}, part{factorB, n}, n)
}

// C = A B, checked by Freivalds: C x = A (B x).
func checkDense(n, forks int) answer {
	times := func(m, x []float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			for j := range x {
				out[i] += m[i*n+j] * x[j]
			}
		}
		return out
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(mix(uint64(i)) % 1021)
	}
	left, wanted := times(product, x), times(factorA, times(factorB, x))
	sum, right := uint64(0), true
	for i := range left {
		right = right && left[i] == wanted[i]
	}
	for i, c := range product {
		sum += mix(uint64(i)) * uint64(int64(c))
	}
	return answer{1 + forks, sum, right, ""}
}

func checkMatmul(n int, _ usage) answer {
	return checkDense(n, matmulForks(n, n, n))
}

func checkStrassen(n int, _ usage) answer {
	return checkDense(n, strassenForks(n))
}
