package lnx_test

import (
	"context"
	"fmt"

	"golnx/lnx"
	"golnx/rail/intercept"
)

// Two consumers see the sends of an endpoint, one after the other: the first gives every
// message another tag, the second counts what each rail is to carry. Hooks of an endpoint
// run one at a time, so that a plain map will do.
func ExampleOptions_hooks() {
	retag := &intercept.Hooks{
		Name: "retag",
		TSend: func(_ *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			s.Tag |= 1 << 32
			return next(s)
		},
	}
	bytes := map[string]int{}
	count := &intercept.Hooks{
		Name: "count",
		TSend: func(r *intercept.Rail, s *intercept.Send, next func(*intercept.Send) error) error {
			err := next(s) // which may say EAGAIN: the call comes again then
			if err == nil {
				bytes[r.Info.Name] += s.Len()
			}
			return err
		},
	}
	listing, err := lnx.Links(lnx.Options{Links: "shm+tcp:lo", Hooks: []*intercept.Hooks{retag, count}})
	check1(err)
	ep, err := lnx.Open(listing.Links[0])
	check1(err)
	self, err := ep.AV().Insert(ep.Name())
	check1(err)
	for _, text := range []string{"hello", "world!"} {
		go func() { check1(ep.Send(context.Background(), self, 7, []byte(text))) }()
		info, err := ep.Recv(context.Background(), self, 1<<32|7, 0, make([]byte, 8))
		check1(err)
		fmt.Printf("%d bytes with tag %#x\n", info.Len, info.Tag)
	}
	check1(ep.Close())
	fmt.Println(bytes)
	// Output:
	// 5 bytes with tag 0x100000007
	// 6 bytes with tag 0x100000007
	// map[shm:11]
}
