package main

import (
	"math"
	"math/bits"
	"sync"
)

// The Unbalanced Tree Search, as bench_c/uts.h has it.

type utsNode struct {
	digest [5]uint32
	depth  int
}

var (
	utsBinomial   bool
	utsSize       int
	utsLogFailure = math.Log(1 - 1/(1+4.0))
	utsNodes      int
)

// SHA-1 of a message of so many words, few enough for one block.
func sha1(message ...uint32) [5]uint32 {
	var w [80]uint32
	n := copy(w[:15], message)
	w[n] = 0x80000000
	w[15] = 32 * uint32(n)
	for i := 16; i < 80; i++ {
		w[i] = bits.RotateLeft32(w[i-3]^w[i-8]^w[i-14]^w[i-16], 1)
	}
	start := [5]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}
	a, b, c, d, e := start[0], start[1], start[2], start[3], start[4]
	for _, word := range w[:20] {
		next := bits.RotateLeft32(a, 5) + (d ^ b&(c^d)) + e + word + 0x5a827999
		a, b, c, d, e = next, a, bits.RotateLeft32(b, 30), c, d
	}
	for _, word := range w[20:40] {
		next := bits.RotateLeft32(a, 5) + (b ^ c ^ d) + e + word + 0x6ed9eba1
		a, b, c, d, e = next, a, bits.RotateLeft32(b, 30), c, d
	}
	for _, word := range w[40:60] {
		next := bits.RotateLeft32(a, 5) + (b&c | d&(b|c)) + e + word + 0x8f1bbcdc
		a, b, c, d, e = next, a, bits.RotateLeft32(b, 30), c, d
	}
	for _, word := range w[60:] {
		next := bits.RotateLeft32(a, 5) + (b ^ c ^ d) + e + word + 0xca62c1d6
		a, b, c, d, e = next, a, bits.RotateLeft32(b, 30), c, d
	}
	return [5]uint32{start[0] + a, start[1] + b, start[2] + c, start[3] + d, start[4] + e}
}

func utsRoot() *utsNode {
	seed := uint32(19)
	if utsBinomial {
		seed = 42
	}
	return &utsNode{digest: sha1(0, 0, 0, 0, seed)}
}

func (node *utsNode) child(i int) utsNode {
	d := &node.digest
	return utsNode{sha1(d[0], d[1], d[2], d[3], d[4], uint32(i)), node.depth + 1}
}

func (node *utsNode) children() int {
	chance := float64(node.digest[4]&0x7fffffff) / 2147483648
	if utsBinomial {
		switch {
		case node.depth == 0:
			return utsSize
		case chance < 0.124875:
			return 8
		}
		return 0
	}
	if node.depth >= utsSize {
		return 0
	}
	count := int(math.Floor(math.Log(1-chance) / utsLogFailure))
	if count > 100 {
		count = 100
	}
	return count
}

func (node *utsNode) count() int {
	sum := 1
	for i := node.children() - 1; i >= 0; i-- {
		child := node.child(i)
		sum += child.count()
	}
	return sum
}

func (node *utsNode) visit() int {
	count := node.children()
	if count == 0 {
		return 1
	}
	sums := make([]int, count)
	var children sync.WaitGroup
	for i := range sums {
		children.Add(1)
		go func(child utsNode, sum *int) {
			*sum = child.visit()
			children.Done()
		}(node.child(i), &sums[i])
	}
	children.Wait()
	sum := 1
	for _, s := range sums {
		sum += s
	}
	return sum
}

func prepareUTS(n int) func() {
	utsSize = n
	switch {
	case !utsBinomial && n == 10:
		utsNodes = 4130071
	case utsBinomial && n == 2000:
		utsNodes = 4112897
	default:
		utsNodes = utsRoot().count()
	}
	return func() { found = -1 }
}

func prepareDeepUTS(n int) func() {
	utsBinomial = true
	return prepareUTS(n)
}

func runUTS(int) {
	found = utsRoot().visit()
}

func checkUTS(int, usage) answer {
	return answer{utsNodes, uint64(found), found == utsNodes, ""}
}
