package lnx_test

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// asBytes is the memory of values, for calls that take any type.
func asBytes(v []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}

// What the rails of a link can do: how many elements at once, on all of them and on each.
func ExampleEndpoint_AtomicValid() {
	listing, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo", Caps: lnx.CapAtomic})
	check1(err)
	ep, err := lnx.Open(listing.Links[0])
	check1(err)
	defer ep.Close()

	all, err := ep.AtomicValid(lnx.Float64, lnx.AtomicSum)
	check1(err)
	rails, err := ep.QueryAtomic(lnx.AtomicBase, lnx.Float64, lnx.AtomicSum)
	check1(err)
	fmt.Println(all == min(rails[0], rails[1]))
	_, err = ep.AtomicValid(lnx.Float64, lnx.AtomicBOr)
	fmt.Println(err, errors.Is(err, lnx.ErrNotSupported))
	// Output:
	// true
	// AtomicValid: rail shm has no BOR of DOUBLE: operation not supported true
}

// A sum without an answer, then a look at what it came to.
func ExampleEndpoint_Atomic() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, b, m := openWindow(ctx, []uint64{10, 20, 30})
	defer b.Close()
	defer a.Close()

	more := []uint64{1, 2, 3}
	err := a.Atomic(asBytes(more), m, 0, lnx.Uint64, lnx.AtomicSum, "sums")
	for errors.Is(err, fierr.EAgain) {
		_, _ = a.CQ().Read(nil) // drives the rails
		err = a.Atomic(asBytes(more), m, 0, lnx.Uint64, lnx.AtomicSum, "sums")
	}
	check1(err)
	var entries [1]lnx.Entry
	_, err = a.CQ().Wait(ctx, entries[:])
	check1(err)
	now, err := lnx.Load[uint64](ctx, m, 16)
	check1(err)
	fmt.Println(entries[0].Context, now)
	// Output: sums 33
}

// Each element is swapped if it is what is expected, and its old value comes back.
func ExampleEndpoint_CompareAtomic() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, b, m := openWindow(ctx, []uint64{1, 2})
	defer b.Close()
	defer a.Close()

	expected, wanted, old := []uint64{1, 1}, []uint64{100, 100}, make([]uint64, 2)
	swap := func() error {
		return a.CompareAtomic(asBytes(wanted), asBytes(expected), asBytes(old), m, 0, lnx.Uint64, lnx.AtomicCSwap, nil)
	}
	err := swap()
	for errors.Is(err, fierr.EAgain) {
		_, _ = a.CQ().Read(nil)
		err = swap()
	}
	check1(err)
	var entries [1]lnx.Entry
	_, err = a.CQ().Wait(ctx, entries[:])
	check1(err)
	first, err := lnx.Load[uint64](ctx, m, 0)
	check1(err)
	second, err := lnx.Load[uint64](ctx, m, 8)
	check1(err)
	fmt.Println("were", old, "are", first, second)
	// Output: were [1 2] are 100 2
}
