package lnx_test

import (
	"context"
	"errors"
	"fmt"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// Messages without a tag: the oldest receive for their sender takes them.
func ExampleUntagged_Recv() {
	a, b, toB, toA := open()
	defer a.Close()
	defer b.Close()
	go func() { check1(a.Untagged().Send(context.Background(), toB, []byte("hello"))) }()

	buf := make([]byte, 64)
	info, err := b.Untagged().Recv(context.Background(), toA, buf)
	check1(err)
	fmt.Printf("%s from the peer that was expected: %v\n", buf[:info.Len], info.From == toA)
	// Output: hello from the peer that was expected: true
}

// One buffer for many messages. Each completion says where its message lies; the one
// with FlagMultiRecv gives the buffer back.
func ExampleEndpoint_MRecvMsg() {
	a, b, toB, _ := open()
	defer a.Close()
	defer b.Close()
	buf := make([]byte, 80) // released when less than Options.MinMultiRecv, 64, is left
	check1(b.MRecvMsg(&lnx.Msg{IOV: [][]byte{buf}, Addr: lnx.AddrUnspec, Context: "log"}, lnx.FlagMultiRecv|lnx.FlagCompletion))
	entries := make([]lnx.Entry, 16)
	for _, line := range []string{"first", "second", "the third one"} {
		for err := error(fierr.EAgain); err != nil; err = a.MInject([]byte(line), toB) {
			if !errors.Is(err, fierr.EAgain) {
				panic(err)
			}
			_, _ = b.CQ().Read(nil) // lets both make progress, without completions
		}
	}
	for released := false; !released; {
		n, err := b.CQ().Wait(context.Background(), entries)
		check1(err)
		for _, e := range entries[:n] {
			fmt.Printf("%v at %d: %s\n", e.Context, e.Off, buf[e.Off:e.Off+e.Len])
			released = e.Flags&lnx.FlagMultiRecv != 0
		}
	}
	// Output:
	// log at 0: first
	// log at 5: second
	// log at 11: the third one
}
