package lnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// The limits of a link are the smallest of its rails, whichever has it, and what is
// beyond is refused with the number that is possible, by every rail.
func TestLimitsAreThoseOfTheNarrowestRail(t *testing.T) {
	wide := providers.Info{IOVLimit: 4, InjectSize: 64, MaxMsgSize: 1 << 20}
	narrow := providers.Info{IOVLimit: 2, InjectSize: 16, MaxMsgSize: 1000}
	for _, infos := range [][]providers.Info{{wide, narrow}, {narrow, wide}, {wide, narrow, wide}} {
		var rails []sim.Rail
		for _, info := range infos {
			rails = append(rails, sim.Rail{Info: info})
		}
		w := newSimWorld(t, 2, rails, Options{Policy: "PER_MSG"})
		a := w.nodes[0].ep
		info := a.Link().Info
		require.Equal(t, []any{2, uint64(16), uint64(1000)}, []any{info.IOVLimit, info.InjectSize, info.MaxMsgSize})

		three, two := make([][]byte, 3), [][]byte{make([]byte, 8), make([]byte, 9)}
		for range infos { // PER_MSG takes another rail each time
			for what, err := range map[string]error{
				"TSendV":   a.TSendV(three, 1, 7, nil),
				"TSendMsg": a.TSendMsg(&Msg{IOV: three, Addr: 1}, 0),
				"TRecvV":   a.TRecvV(three, 1, 7, 0, nil),
				"TRecvMsg": a.TRecvMsg(&Msg{IOV: three, Addr: 1}, 0),
			} {
				require.ErrorIs(t, err, fierr.EInval, what)
				require.ErrorContains(t, err, what+": 3 buffers, this link takes 2")
			}
			err := a.TInject(make([]byte, 17), 1, 7)
			require.ErrorIs(t, err, fierr.EMsgSize)
			require.ErrorContains(t, err, "17 bytes, at most 16")
			err = a.TSend(make([]byte, 1001), 1, 7, nil)
			require.ErrorIs(t, err, fierr.EMsgSize)
			require.ErrorContains(t, err, fmt.Sprintf("1001 bytes, the longest message of this link has %d", 1000))

			in, out := &simOp{}, &simOp{}
			require.NoError(t, w.nodes[1].ep.TRecvV([][]byte{make([]byte, 10), make([]byte, 7)}, 0, 7, 0, in))
			require.NoError(t, a.TSendV(two, 1, 7, out))
			w.settle()
			w.good(out, in)
			require.Equal(t, 17, in.entry.Len)
		}
		w.idle()
	}
}
