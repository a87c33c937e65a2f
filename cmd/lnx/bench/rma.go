package bench

import (
	"fmt"

	"golnx/lnx"
)

// The names of RMA operations.
const (
	OpRead  = "read"
	OpWrite = "write"
)

func init() {
	RegisterOp(Op{Name: OpRead, Help: "reads of the other end's memory", Caps: lnx.CapRMA})
	RegisterOp(Op{Name: OpWrite, Help: "writes into the other end's memory", Caps: lnx.CapRMA})
	for _, op := range rmaOps {
		Register(remoteRate(op))
		Register(remoteBW(op))
		if op.name == OpWrite {
			Register(writeLat(op))
		} else {
			Register(remoteLat(op))
		}
	}
}

var rmaOps = []*remoteOp{
	{
		name: OpRead, minSize: 1,
		start:  func(t *remote, s *slot, n int) error { return t.EP.Read(s.buf, t.far, uint64(t.place(n)), s) },
		before: func(_ *remote, s *slot, _ int) { clear(s.buf) },
		after: func(t *remote, s *slot) error {
			if err := verify(s.buf, t.placeTag(t.theirs, s.n)); err != nil {
				return fmt.Errorf("read %d: %w", s.n, err)
			}
			return nil
		},
		offer: func(t *remote) {
			for n := range t.out {
				fill(t.mem[t.place(n):][:t.p.Size], t.placeTag(t.mine, n))
			}
		},
	},
	{
		name: OpWrite, minSize: 1,
		start:  func(t *remote, s *slot, n int) error { return t.EP.Write(s.buf, t.far, uint64(t.place(n)), s) },
		before: func(t *remote, s *slot, n int) { fill(s.buf, t.mine|uint64(n)) },
		offer: func(t *remote) {
			fill(t.mem, t.mine)     // so that it has pages
			t.mem[len(t.mem)-1] = 0 // no marker
		},
		seen: func(t *remote, first, end int) error {
			for n := first; n < end; n++ {
				if err := t.expect(func() error { return verify(t.mem[t.place(n):][:t.p.Size], t.theirs|uint64(n)) }); err != nil {
					return fmt.Errorf("write %d: %w", n, err)
				}
			}
			return nil
		},
	},
}

// placeTag is the tag of what an end offers to be read in the place of operation n.
func (t *remote) placeTag(tag uint64, n int) uint64 { return tag | uint64(n%len(t.out)) }
