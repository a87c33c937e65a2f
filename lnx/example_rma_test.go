package lnx_test

import (
	"context"
	"errors"
	"fmt"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// openRMA opens two endpoints that know each other and may use each other's memory, as
// two processes would.
func openRMA() (target, initiator *lnx.Endpoint, toTarget lnx.Addr) {
	listing, err := lnx.Links(lnx.Options{Links: "shm", Caps: lnx.CapRMA})
	check1(err)
	target, err = lnx.Open(listing.Links[0])
	check1(err)
	initiator, err = lnx.Open(listing.Links[0])
	check1(err)
	toTarget, err = initiator.AV().Insert(target.Name())
	check1(err)
	_, err = target.AV().Insert(initiator.Name())
	check1(err)
	return target, initiator, toTarget
}

// drive has an endpoint make progress until stop is called, as its own process would.
func drive(ep *lnx.Endpoint) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = ep.CQ().Wait(ctx, make([]lnx.Entry, 1))
	}()
	return func() { cancel(); <-done }
}

// A target registers memory and gives its key away; who has the key uses the memory, as
// far as its access goes.
func ExampleEndpoint_Register() {
	target, initiator, toTarget := openRMA()
	defer target.Close()
	defer initiator.Close()
	window := make([]byte, 4096)
	region, err := target.Register(window, mr.RemoteRead|mr.RemoteWrite)
	check1(err)
	key, err := region.RemoteKey() // send these bytes to the peer
	check1(err)

	remote, err := initiator.Import(toTarget, key)
	check1(err)
	fmt.Println(remote.Len(), remote.Access())
	_, err = remote.Slice(4000, 200)
	fmt.Println(err)

	check1(region.Close()) // the key is worth nothing from here on
	fmt.Println(errors.Is(remote.WriteAt(context.Background(), []byte("late"), 0), fierr.ENoKey))
	// Output:
	// 4096 remote_read|remote_write
	// 200 bytes at offset 4000: the remote memory has 4096: invalid argument
	// true
}

// Goroutines that write to and read from the memory of another endpoint.
func ExampleRemoteMemory_ReadAt() {
	target, initiator, toTarget := openRMA()
	defer target.Close()
	defer initiator.Close()
	region, err := target.Register([]byte("what stands here"), mr.RemoteRead)
	check1(err)
	key, err := region.RemoteKey()
	check1(err)
	defer drive(target)()

	remote, err := initiator.Import(toTarget, key)
	check1(err)
	buf := make([]byte, 6)
	check1(remote.ReadAt(context.Background(), buf, 5))
	fmt.Printf("%s\n", buf)
	// Output: stands
}

// The calls of libfabric: start, then read completions. The target learns of the write
// by the data that comes with it.
func ExampleEndpoint_WriteData() {
	target, initiator, toTarget := openRMA()
	defer target.Close()
	defer initiator.Close()
	window := make([]byte, 64)
	region, err := target.Register(window, mr.RemoteWrite)
	check1(err)
	key, err := region.RemoteKey()
	check1(err)
	remote, err := initiator.Import(toTarget, key)
	check1(err)

	entries := make([]lnx.Entry, 1)
	for {
		err := initiator.WriteData([]byte("hello"), 42, remote, 8, "mine")
		if err == nil {
			break
		}
		if !errors.Is(err, fierr.EAgain) {
			panic(err)
		}
		_, _ = initiator.CQ().Read(entries) // EAGAIN: let both make progress, then try again
		_, _ = target.CQ().Read(entries)
	}
	_, err = target.CQ().Wait(context.Background(), entries)
	check1(err)
	fmt.Printf("%d bytes, data %d: %s\n", entries[0].Len, entries[0].Data, window[8:13])
	_, err = initiator.CQ().Wait(context.Background(), entries)
	check1(err)
	fmt.Println(entries[0].Context, entries[0].Flags)
	// Output:
	// 5 bytes, data 42: hello
	// mine FlagRMA|FlagWrite
}

// Several buffers into several ranges with one call, which is over when the target has
// the bytes.
func ExampleEndpoint_WriteMsg() {
	target, initiator, toTarget := openRMA()
	defer target.Close()
	defer initiator.Close()
	window := make([]byte, 32)
	region, err := target.Register(window, mr.RemoteWrite)
	check1(err)
	key, err := region.RemoteKey()
	check1(err)
	remote, err := initiator.Import(toTarget, key)
	check1(err)
	defer drive(target)()

	m := &lnx.RMAMsg{
		IOV:     [][]byte{[]byte("one "), []byte("two three")},
		Remote:  []lnx.RemoteRange{{Mem: remote, Off: 0, Len: 7}, {Mem: remote, Off: 16, Len: 6}},
		Context: "both",
	}
	for {
		err := initiator.WriteMsg(m, lnx.FlagCompletion|lnx.FlagDeliveryComplete)
		if err == nil {
			break
		}
		if !errors.Is(err, fierr.EAgain) {
			panic(err)
		}
		_, _ = initiator.CQ().Read(nil)
	}
	entries := make([]lnx.Entry, 1)
	_, err = initiator.CQ().Wait(context.Background(), entries)
	check1(err)
	fmt.Printf("%v: %q, %q\n", entries[0].Context, window[:7], window[16:22])
	// Output: both: "one two", " three"
}
