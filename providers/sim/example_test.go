package sim_test

import (
	"bytes"
	"fmt"

	"golnx/providers"
	"golnx/providers/sim"
	"golnx/providers/sim/linear"
)

// ExampleFabric sends one message over a rail of 10 Gbit/s.
func ExampleFabric() {
	f := sim.New(sim.Options{Auto: true})
	rails := []sim.Rail{{Rate: 10e9, Latency: 2000}}
	join := func() *linear.Owner {
		o, err := linear.Open(func(o providers.Owner) (providers.Core, error) { return f.Open(rails, o, sim.Limits{}) })
		if err != nil {
			panic(err)
		}
		return o
	}
	a, b := join(), join()
	name, _ := b.Core.Name(0)
	dest, _ := a.Core.Insert(0, name)

	buf := make([]byte, 1250)
	_, _ = b.Recv(providers.NoAddr, 7, 0, buf)
	_, _ = a.Send(0, providers.SendOp{Dest: dest, Tag: 7}, bytes.Repeat([]byte("x"), 1250))
	for range 2 {
		for _, c := range a.Poll() {
			fmt.Printf("%d ns: sent with tag %d\n", f.Now(), c.Tag)
		}
		for _, c := range b.Poll() {
			fmt.Printf("%d ns: received %d bytes\n", f.Now(), c.Len)
		}
	}
	fmt.Println(a.Close(), b.Close(), f.Err())
	// Output:
	// 1000 ns: sent with tag 7
	// 3000 ns: received 1250 bytes
	// <nil> <nil> <nil>
}
