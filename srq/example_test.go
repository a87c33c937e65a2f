package srq_test

import (
	"fmt"

	"golnx/srq"
)

// A receive from any source, posted before one that names the sender, takes the
// sender's first message.
func Example() {
	const alice, bob = 3, 4
	receives := []string{"from anyone, tags 0x70 to 0x7f", "from alice, tag 0x71"}

	q := srq.New(1)
	q.Post(0, srq.AnySource, 0x70, 0x0f)
	q.Post(1, alice, 0x71, 0)

	for _, src := range []uint64{alice, bob, alice} {
		if slot, ok := q.Match(src, 0x71); ok {
			fmt.Println("message of", src, "for the receive", receives[slot])
		} else {
			fmt.Println("message of", src, "unexpected")
		}
	}
	// Output:
	// message of 3 for the receive from anyone, tags 0x70 to 0x7f
	// message of 4 unexpected
	// message of 3 for the receive from alice, tag 0x71
}
