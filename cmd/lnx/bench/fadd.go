package bench

import (
	"encoding/binary"
	"fmt"

	"golnx/lnx"
)

// OpFAdd is fetching additions.
const OpFAdd = "fadd"

func init() {
	RegisterOp(Op{Name: OpFAdd, Help: "additions to a number in the other end's memory that fetch what it was", Caps: lnx.CapRMA | lnx.CapAtomic})
	Register(remoteRate(fadd))
	Register(remoteLat(fadd))
}

// fadd adds one to the first number in the other end's memory, again and again. Each
// operation fetches another number, and of a window, which the ends verify together, each
// is fetched once.
var fadd = &remoteOp{
	name: OpFAdd, minSize: 8, maxSize: 8,
	start: func(t *remote, s *slot, _ int) error {
		return t.EP.FetchAtomic(one, s.buf, t.far, 0, lnx.Uint64, lnx.AtomicSum, s)
	},
	before: func(t *remote, s *slot, n int) {
		if t.fetched == nil {
			t.fetched = make([]bool, len(t.out))
		}
		if n == t.checked {
			clear(t.fetched)
		}
		fill(s.buf, t.mine)
	},
	after: func(t *remote, s *slot) error {
		got := binary.NativeEndian.Uint64(s.buf)
		if first, n := uint64(t.checked), uint64(len(t.fetched)); got-first >= n {
			return fmt.Errorf("fadd %d fetched %d, want one of %d to %d", s.n, got, first, first+n-1)
		} else if t.fetched[got-first] {
			return fmt.Errorf("fadd %d fetched %d, as another did", s.n, got)
		} else {
			t.fetched[got-first] = true
		}
		return nil
	},
	seen: func(t *remote, _, end int) error {
		return t.expect(func() error {
			if got := binary.NativeEndian.Uint64(t.mem); got != uint64(end) {
				return fmt.Errorf("the number is %d after %d additions of 1", got, end)
			}
			return nil
		})
	},
}

// one is what is added.
var one = binary.NativeEndian.AppendUint64(nil, 1)
