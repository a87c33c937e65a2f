package lnx

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// msgs does with untagged messages what scenario does with tagged ones: each is
// received once by a receive of its own and once by one for many.
func (r *faultRun) msgs(from, to Addr) {
	for i, size := range []int{8, 100_000} {
		for j, multi := range []bool{false, true} {
			r.exchangeMsg(from, to, uint64(4*i+2*j), size, multi, true)
			r.exchangeMsg(from, to, uint64(4*i+2*j+1), size, multi, false)
		}
	}
	b := r.nodes[1].ep
	for _, flags := range []Flags{FlagCompletion, FlagCompletion | FlagMultiRecv} {
		op := &simOp{buf: make([]byte, 8)}
		r.do(func() error { return b.MRecvMsg(&Msg{IOV: [][]byte{op.buf}, Addr: AddrUnspec, Context: op}, flags) })
		r.do(func() error { return b.Cancel(op) })
		r.until("cancel", func() bool { return op.times > 0 })
		require.ErrorIs(r.t, op.err, fierr.ECanceled)
	}
}

func (r *faultRun) exchangeMsg(from, to Addr, seed uint64, size int, multi, expected bool) {
	a, b := r.nodes[0].ep, r.nodes[1].ep
	out, in := &simOp{buf: simNoise(seed, size)}, &simOp{buf: make([]byte, size)}
	flags := FlagCompletion
	if multi { // less than MinMultiRecv is left
		in.buf, flags = make([]byte, size+10), flags|FlagMultiRecv
	}
	post := func() {
		r.do(func() error { return b.MRecvMsg(&Msg{IOV: [][]byte{in.buf}, Addr: from, Context: in}, flags) })
	}
	if expected {
		post()
	}
	r.do(func() error { return a.MSend(out.buf, to, out) })
	if !expected {
		r.until("arrival", func() bool { return b.msgs.suq.Len() > 0 })
		post()
	}
	r.until("exchange", func() bool { return out.times*in.times > 0 })
	r.note(out)
	if r.note(in) {
		require.True(r.t, bytes.Equal(out.buf, in.buf[:size]), r.plan)
	}
}
