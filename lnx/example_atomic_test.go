package lnx_test

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// openWindow opens two endpoints, of which b has memory that a reaches, and b's rails are
// driven until the context ends.
func openWindow(ctx context.Context, mem []uint64) (a, b *lnx.Endpoint, m *lnx.RemoteMemory) {
	listing, err := lnx.Links(lnx.Options{Links: "shm", Caps: lnx.CapAtomic})
	check1(err)
	a, err = lnx.Open(listing.Links[0])
	check1(err)
	b, err = lnx.Open(listing.Links[0])
	check1(err)
	region, err := b.Register(unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), 8*len(mem)), mr.RemoteRead|mr.RemoteWrite)
	check1(err)
	key, err := region.RemoteKey() // goes to a by a message
	check1(err)
	toB, err := a.AV().Insert(b.Name())
	check1(err)
	m, err = a.Import(toB, key)
	check1(err)
	go func() { _, _ = b.CQ().Wait(ctx, make([]lnx.Entry, 1)) }()
	return a, b, m
}

// Values in the memory of a peer.
func ExampleFetchAdd() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, b, counter := openWindow(ctx, make([]uint64, 4))
	defer b.Close()
	defer a.Close()

	for range 3 {
		ticket, err := lnx.FetchAdd[uint64](ctx, counter, 0, 1)
		check1(err)
		fmt.Println("ticket", ticket)
	}
	was, err := lnx.CompareSwap[int32](ctx, counter, 8, 0, 42)
	check1(err)
	now, err := lnx.Load[int32](ctx, counter, 8)
	check1(err)
	fmt.Println("was", was, "is", now)
	// Output:
	// ticket 0
	// ticket 1
	// ticket 2
	// was 0 is 42
}

// Several elements at once, with a completion.
func ExampleEndpoint_FetchAtomic() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, b, m := openWindow(ctx, []uint64{10, 20, 30, 40})
	defer b.Close()
	defer a.Close()

	n, err := a.FetchAtomicValid(lnx.Uint64, lnx.AtomicMax)
	check1(err)
	fmt.Println("4 at once:", n >= 4)
	operands, before := []uint64{15, 15, 35, 35}, make([]uint64, 4)
	bytes := func(v []uint64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8*len(v)) }
	var entries [1]lnx.Entry
	for {
		err := a.FetchAtomic(bytes(operands), bytes(before), m, 0, lnx.Uint64, lnx.AtomicMax, "largest")
		if err == nil {
			break
		}
		if !errors.Is(err, fierr.EAgain) {
			panic(err)
		}
		_, _ = a.CQ().Read(nil)
	}
	_, err = a.CQ().Wait(ctx, entries[:])
	check1(err)
	fmt.Println(entries[0].Context, before)
	// Output:
	// 4 at once: true
	// largest [10 20 30 40]
}

// Count what has arrived, without looking at completions.
func ExampleEndpoint_OpenCounter() {
	a, b, toB, toA := open()
	defer a.Close()
	defer b.Close()
	received, err := b.OpenCounter(lnx.EventRecv)
	check1(err)
	for tag := range uint64(5) {
		check1(b.TRecvMsg(&lnx.Msg{IOV: [][]byte{make([]byte, 8)}, Addr: toA, Tag: tag}, 0)) // no completions
	}
	go func() {
		for tag := range uint64(5) {
			check1(a.Send(context.Background(), toB, tag, make([]byte, 8)))
		}
	}()
	check1(received.Wait(context.Background(), 5))
	fmt.Println(received.Read(), received.ReadErr())
	// Output: 5 0
}

// What all rails of a link can do, and each of them.
func ExampleOption() {
	listing, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo", Settings: []lnx.Setting{lnx.OptMinMultiRecv.To(1024)}})
	check1(err)
	ep, err := lnx.Open(listing.Links[0])
	check1(err)
	defer ep.Close()
	link, err := lnx.OptInjectTaggedSize.Get(ep)
	check1(err)
	rails, err := lnx.OptInjectTaggedSize.Rails(ep)
	check1(err)
	fmt.Println(link == min(rails[0], rails[1]))
	room, err := lnx.OptMinMultiRecv.Get(ep)
	check1(err)
	fmt.Println(lnx.OptMinMultiRecv, room)
	// Output:
	// true
	// FI_OPT_MIN_MULTI_RECV 1024
}
