package railtest_test

import (
	"fmt"

	"golnx/rail"
	"golnx/rail/railtest"
)

// printer stands in for a *testing.T.
type printer struct{}

func (printer) Helper()                      {}
func (printer) Errorf(f string, args ...any) { fmt.Printf(f+"\n", args...) }
func (printer) Fatalf(f string, args ...any) { fmt.Printf(f+"\n", args...) }

// A table of cases. Each could stand in a file of its own:
//
//	var update = flag.Bool("update", false, "rewrite what is expected")
//
//	func TestOurLinks(t *testing.T) {
//		files, _ := filepath.Glob("testdata/*.rail")
//		for _, f := range files {
//			t.Run(f, func(t *testing.T) { railtest.RunFile(t, f, *update) })
//		}
//	}
func ExampleRun() {
	const machine = `
domain shm node-local
domain cxi:cxi0 speed=200G numa=0
domain cxi:cxi1 speed=200G numa=1
peer near local shm cxi:cxi0
peer far cxi:cxi0
link shm+cxi
`
	t := printer{} // in a test, its *testing.T
	for _, c := range []struct{ name, steps string }{
		{"a peer keeps its path under PER_PEER", `
send far x2
  -> cxi:cxi0 to cxi:cxi0
  -> cxi:cxi0 to cxi:cxi0`},
		{"inside the node it is shared memory", `
send near
  -> shm to shm`},
		{"PER_MSG does not keep it", `
policy PER_MSG
send far x2
  -> cxi:cxi0 to cxi:cxi0
  -> cxi:cxi0 to cxi:cxi0`},
	} {
		parsed, err := railtest.Parse(c.name, machine+c.steps)
		if err != nil {
			t.Fatalf("%v", err)
			continue
		}
		railtest.Run(t, parsed)
	}
	// Output:
	// PER_MSG does not keep it:10: send far x2: message 2:
	//   expected cxi:cxi0 to cxi:cxi0
	//   picked   cxi:cxi1 to cxi:cxi0
}

// What would happen on a machine that is not there.
func ExampleSimulate() {
	rails := []rail.Info{
		{Name: "shm", Provider: "shm", NodeLocal: true, NUMA: -1},
		{Name: "cxi:cxi0", Provider: "cxi", Domain: "cxi0", Speed: 200e9},
		{Name: "cxi:cxi1", Provider: "cxi", Domain: "cxi1", Speed: 200e9},
	}
	peers := []railtest.Peer{
		{Name: "rank1", Local: true, Addrs: []railtest.Addr{{Provider: "shm"}, {Provider: "cxi", Domain: "cxi0"}}},
		{Name: "rank2", Addrs: []railtest.Addr{{Provider: "cxi", Domain: "cxi0"}}},
	}
	picks, err := railtest.Simulate(rails, peers, rail.Options{Policy: rail.PerPeer}, []railtest.Step{
		{Do: railtest.Send, Peer: "rank1", Size: 8, NUMA: -1},
		{Do: railtest.Send, Peer: "rank2", Size: 8, NUMA: -1},
		{Do: railtest.Set, Rail: "cxi:cxi0", Health: rail.Down},
		{Do: railtest.Send, Peer: "rank2", Size: 8, NUMA: -1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range picks {
		fmt.Printf("%s: %s\n", p.Peer, p.Explained())
	}
	// Output:
	// rank1: shm to shm | the peer is on this node, and shared memory takes all traffic inside a node
	// rank2: cxi:cxi0 to cxi:cxi0 | PER_PEER: first message to the peer: pinned to the rail whose turn it is
	// rank2: cxi:cxi1 to cxi:cxi0 | PER_PEER: rail 1 (cxi:cxi0), where the peer was pinned, is down: pinned anew to the rail whose turn it is; passed over: cxi:cxi0 (down)
}

// steady sends everything over the first rail that is not down: a policy of one's
// own, tested by a table like any other.
type steady struct{}

func (steady) Pick(r *rail.Rails, p *rail.Peer, _ rail.Call) (int, rail.Why) {
	for i, at := range p.Reach() {
		if r.Health(at.Rail) != rail.Down {
			return p.Reach()[i].First, rail.Why{}
		}
	}
	return rail.NoPath, rail.Why{}
}
func (steady) Heard(*rail.Rails, *rail.Peer, int) {}
func (steady) Explain(r *rail.Rails, p *rail.Peer, _ rail.Why) string {
	return "the first rail" + r.PassedOver(p)
}
func (steady) Ordered() bool { return true }

func ExampleParse_ownPolicy() {
	err := rail.RegisterPolicy("STEADY", func([]rail.Info, rail.Options) (rail.Policy, error) { return steady{}, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := railtest.Parse("steady", `
domain cxi:cxi0
domain cxi:cxi1
peer A cxi:cxi0
peer B cxi:cxi0
link cxi
policy STEADY
send A
  -> cxi:cxi0 to cxi:cxi0
send B
  -> cxi:cxi1 to cxi:cxi0
down cxi:cxi0
send B
  -> cxi:cxi1 to cxi:cxi0 | STEADY: the first rail; passed over: cxi:cxi0 (down)
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	picks, err := c.Simulate()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, diff := range c.Compare(picks) {
		fmt.Println(diff)
	}
	// Output:
	// steady:10: send B: message 1:
	//   expected cxi:cxi1 to cxi:cxi0
	//   picked   cxi:cxi0 to cxi:cxi0
}
