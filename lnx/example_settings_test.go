package lnx_test

import (
	"context"
	"errors"
	"fmt"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// What a link can do is what all its rails can. What one of them cannot is an error that
// names the rail and the bit.
func ExampleCaps() {
	_, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo", Caps: lnx.CapRMAEvent})
	fmt.Println(errors.Is(err, lnx.ErrNotSupported))
	fmt.Println(err)

	listing, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo", Caps: lnx.CapAtomic})
	check1(err)
	fmt.Println(listing.Links[0].Info.Caps & (lnx.CapTagged | lnx.CapRMA | lnx.CapAtomic | lnx.CapRMAEvent))
	// Output:
	// true
	// no link to open: link shm+tcp:lo: rail tcp;ofi_rxm:lo cannot do FI_RMA_EVENT, which Options.Caps asks for: leave the rail or the capability out: operation not supported
	// FI_RMA|FI_TAGGED|FI_ATOMIC
}

// An option is set on every rail or on none.
func ExampleOption_Set() {
	listing, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo"})
	check1(err)
	ep, err := lnx.Open(listing.Links[0])
	check1(err)
	defer ep.Close()

	check1(lnx.OptMinMultiRecv.Set(ep, 4096))
	room, err := lnx.OptMinMultiRecv.Get(ep)
	check1(err)
	fmt.Println(lnx.OptMinMultiRecv, room)
	err = lnx.NewOption[uint64]("OPT_OF_NOBODY", 9999, lnx.Same).Set(ep, 1)
	fmt.Println(errors.Is(err, fierr.ENoProtoOpt))
	// Output:
	// FI_OPT_MIN_MULTI_RECV 4096
	// true
}

// A counter can be set, and added to, by the program as well, which wakes who waits.
func ExampleCounter_Set() {
	a, b, _, _ := open()
	defer a.Close()
	defer b.Close()
	steps, err := a.OpenCounter(lnx.EventSend)
	check1(err)
	steps.Set(40)
	reached := make(chan error)
	go func() { reached <- steps.Wait(context.Background(), 42) }()
	steps.Add(2)
	fmt.Println(<-reached, steps.Read())

	steps.AddErr(1) // ends the next Wait, as a failed send would
	fmt.Println(errors.Is(steps.Wait(context.Background(), 100), fierr.EAvail), steps.ReadErr())
	steps.SetErr(0)
	fmt.Println(steps.ReadErr())
	check1(steps.Close())
	// Output:
	// <nil> 42
	// true 1
	// 0
}

// Registrations of an endpoint's own buffers are cached on rails that ask for them (verbs,
// cxi; shm and tcp do not): Options bound the cache. Memory for peers is private to its
// region; here all rails register it at once.
func ExampleEndpoint_MRStats() {
	listing, err := lnx.Links(lnx.Options{
		Links: "shm+tcp:lo", Caps: lnx.CapRMA, EagerMR: true, MRCacheEntries: 64, MRCacheBytes: 1 << 30,
	})
	check1(err)
	ep, err := lnx.Open(listing.Links[0])
	check1(err)
	defer ep.Close()

	memory, err := mr.Alloc(1 << 20) // outside the Go heap
	check1(err)
	region, err := ep.Register(memory.Bytes(), mr.RemoteRead)
	check1(err)
	s := ep.MRStats()
	fmt.Println("private", s.Private, "registrations", s.Registrations, "cached", s.Entries)
	fmt.Println(errors.Is(memory.Free(), mr.ErrBusy)) // the region first
	check1(region.Close())
	check1(memory.Free())
	// Output:
	// private 1 registrations 2 cached 0
	// true
}

// Many receives and many messages, with one call each.
func ExampleEndpoint_TSendBatch() {
	a, b, toB, toA := open()
	defer a.Close()
	defer b.Close()
	in, out := make([]lnx.Msg, 100), make([]lnx.Msg, 100)
	for i := range in {
		in[i] = lnx.Msg{IOV: [][]byte{make([]byte, 8)}, Addr: toA, Tag: uint64(i)}
		out[i] = lnx.Msg{IOV: [][]byte{fmt.Appendf(nil, "no. %d", i)}, Addr: toB, Tag: uint64(i)}
	}
	received, err := b.OpenCounter(lnx.EventRecv)
	check1(err)
	_, err = b.TRecvBatch(in, 0) // without completions
	check1(err)
	for rest := out; len(rest) > 0; {
		n, err := a.TSendBatch(rest, 0)
		rest = rest[n:]
		if err != nil && !errors.Is(err, fierr.EAgain) {
			panic(err)
		}
		_, _ = b.CQ().Read(nil) // lets both make progress
	}
	check1(received.Wait(context.Background(), 100))
	fmt.Printf("%s\n", in[42].IOV[0][:6])
	// Output: no. 42
}
