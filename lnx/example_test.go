package lnx_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// open opens two endpoints that know each other, as two processes would that hand
// each other their Name.
func open() (a, b *lnx.Endpoint, toB, toA lnx.Addr) {
	listing, err := lnx.Links(lnx.Options{Links: "shm"})
	check1(err)
	a, err = lnx.Open(listing.Links[0])
	check1(err)
	b, err = lnx.Open(listing.Links[0])
	check1(err)
	toB, err = a.AV().Insert(b.Name())
	check1(err)
	toA, err = b.AV().Insert(a.Name())
	check1(err)
	return a, b, toB, toA
}

func check1(err error) {
	if err != nil {
		panic(err)
	}
}

// Goroutines that send and receive.
func ExampleEndpoint_Recv() {
	a, b, toB, _ := open()
	defer a.Close()
	defer b.Close()
	go func() { check1(a.Send(context.Background(), toB, 42, []byte("hello"))) }()

	buf := make([]byte, 64)
	info, err := b.Recv(context.Background(), lnx.AddrUnspec, 42, 0, buf)
	check1(err)
	fmt.Printf("%s, tag %d\n", buf[:info.Len], info.Tag)

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = b.Recv(ctx, lnx.AddrUnspec, 43, 0, buf) // takes the receive back
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// hello, tag 42
	// true
}

// The calls of libfabric: start, then read completions.
func ExampleCQ_Read() {
	a, b, toB, toA := open()
	defer a.Close()
	defer b.Close()
	buf := make([]byte, 4)
	check1(b.TRecv(buf, toA, 1, 0, "short"))
	entries := make([]lnx.Entry, 16)
	for {
		err := a.TSend([]byte("too long"), toB, 1, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, fierr.EAgain) {
			panic(err)
		}
		_, _ = b.CQ().Read(entries) // EAGAIN: let both make progress, then try again
	}
	for {
		n, err := b.CQ().Read(entries)
		switch {
		case err == nil:
			for _, e := range entries[:n] {
				fmt.Println(e.Context, e.Len)
			}
		case errors.Is(err, fierr.EAvail):
			e, err := b.CQ().ReadErr()
			check1(err)
			fmt.Println(e.Context, e, "-", string(buf))
			return
		case !errors.Is(err, fierr.EAgain):
			panic(err)
		}
	}
	// Output: short receive with tag 0x1 over shm: truncation error: the message has 8 bytes, the buffer 4 - too
}

// What a link is made of, and what of the spec is not.
func ExampleLinks() {
	_, err := lnx.Links(lnx.Options{Links: "shm+tcp:nic7"})
	fmt.Println(errors.Is(err, lnx.ErrNoLinks))
	// Output: true
}
