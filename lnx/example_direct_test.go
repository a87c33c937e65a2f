package lnx_test

import (
	"context"
	"errors"
	"fmt"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// The provider of a link of one rail matches the messages, in the NIC where it can. The
// calls are the same; what differs Options.Direct tells.
func ExampleOptions_direct() {
	listing, err := lnx.Links(lnx.Options{Links: "shm", Direct: true})
	check1(err)
	a, err := lnx.Open(listing.Links[0])
	check1(err)
	defer a.Close()
	b, err := lnx.Open(listing.Links[0])
	check1(err)
	defer b.Close()
	toB, err := a.AV().Insert(b.Name())
	check1(err)
	go func() { check1(a.Send(context.Background(), toB, 42, []byte("hello"))) }()

	buf := make([]byte, 64)
	info, err := b.Recv(context.Background(), lnx.AddrUnspec, 42, 0, buf)
	check1(err)
	fmt.Printf("%s, tag %d\n", buf[:info.Len], info.Tag)

	_, err = lnx.Links(lnx.Options{Links: "shm+tcp:lo", Direct: true}) // two providers cannot match together
	fmt.Println(errors.Is(err, fierr.EInval))
	fmt.Println(errors.Is(b.MRecv(buf, lnx.AddrUnspec, nil), lnx.ErrNotSupported))
	// Output:
	// hello, tag 42
	// true
	// true
}
