package lnx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// What lies outside the memory, or needs an access that it does not have, is refused
// here, and the target sees nothing of it.
func TestRMAOutside(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		p := newRMAPair(t, c.rma(), 4096)
		ep, mem := p.a.ep, p.w.remote
		buf := make([]byte, 16)
		for _, off := range []uint64{4081, 4096, 4097, 1 << 40, math.MaxUint64 - 15, math.MaxUint64} {
			require.ErrorIs(t, ep.Write(buf, mem, off, nil), fierr.EInval, "%d", off)
			require.ErrorIs(t, ep.Read(buf, mem, off, nil), fierr.EInval, "%d", off)
		}
		part, err := mem.Slice(1000, 100)
		require.NoError(t, err)
		require.EqualValues(t, 100, part.Len())
		require.ErrorIs(t, ep.Write(buf, part, 85, nil), fierr.EInval)
		for _, r := range [][2]uint64{{0, 101}, {101, 0}, {math.MaxUint64, 2}, {50, math.MaxUint64}} {
			_, err := part.Slice(r[0], r[1])
			require.ErrorIs(t, err, fierr.EInval)
		}
		msg := func(remote ...lnx.RemoteRange) error {
			return ep.WriteMsg(&lnx.RMAMsg{IOV: [][]byte{buf}, Remote: remote}, 0)
		}
		require.ErrorIs(t, msg(), fierr.EInval)
		require.ErrorIs(t, msg(lnx.RemoteRange{}), fierr.EInval)
		require.ErrorIs(t, msg(lnx.RemoteRange{Mem: mem, Len: 15}), fierr.EInval, "lengths differ")
		require.ErrorIs(t, msg(make([]lnx.RemoteRange, 20)...), fierr.EInval)
		require.ErrorIs(t, msg(lnx.RemoteRange{Mem: mem, Len: math.MaxUint64}, lnx.RemoteRange{Mem: mem, Len: 17}), fierr.EInval)
		require.ErrorIs(t, ep.WriteV(make([][]byte, 20), mem, 0, nil), fierr.EInval)
		require.ErrorIs(t, ep.Write(buf, nil, 0, nil), fierr.EInval)

		reads := newWindow(t, p.b, p.a, p.toB, 64, mr.RemoteRead)
		require.ErrorIs(t, ep.Write(buf, reads.remote, 0, nil), fierr.EPerm)
		writes := newWindow(t, p.b, p.a, p.toB, 64, mr.RemoteWrite)
		require.ErrorIs(t, ep.Read(buf, writes.remote, 0, nil), fierr.EPerm)

		// memory that another endpoint imported
		other := newNode(t, c.rma())
		require.ErrorIs(t, other.ep.Write(buf, mem, 0, nil), mr.ErrForeign)
		// a peer that was removed
		require.NoError(t, p.a.ep.AV().Remove(p.toB))
		require.ErrorIs(t, ep.Write(buf, mem, 0, nil), fierr.EInval)
		require.True(t, bytes.Equal(bytes.Repeat([]byte{0xee}, 4096), p.w.inside()))
		p.w.untouched(t)
	})
}

// Without CapRMA everything says what to do.
func TestNoRMA(t *testing.T) {
	n := newNode(t, choices[0].options())
	self := n.insert(n.ep.Name())
	_, err := n.ep.Register(make([]byte, 8), mr.RemoteRead)
	require.ErrorIs(t, err, lnx.ErrNoRMA)
	_, err = n.ep.RegisterMemory(mr.Memory{}, mr.RemoteRead)
	require.ErrorIs(t, err, lnx.ErrNoRMA)
	_, err = n.ep.Import(self, nil)
	require.ErrorIs(t, err, lnx.ErrNoRMA)
	require.ErrorIs(t, n.ep.Read(nil, nil, 0, nil), lnx.ErrNoRMA)
	require.ErrorIs(t, n.ep.WriteMsg(&lnx.RMAMsg{}, 0), lnx.ErrNoRMA)
	require.ErrorIs(t, n.ep.Write(nil, nil, 0, nil), fierr.EOpNotSupp)
	require.Zero(t, n.ep.MRStats())
}

// sealed gives a key a checksum that fits, as one who means harm would.
func sealed(key []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	inner := key[48:]
	if len(inner) >= 16 {
		binary.LittleEndian.PutUint32(inner[12:], crc32.Update(crc32.Checksum(inner[:12], table), table, inner[16:]))
	}
	binary.LittleEndian.PutUint32(key[12:], crc32.Update(crc32.Checksum(key[:12], table), table, key[16:]))
	return key
}

// Keys are refused that are cut, altered, or another endpoint's; what a forger makes of
// them neither panics nor hangs.
func TestHostileKeys(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		p := newRMAPair(t, c.rma(), 4096)
		key, err := p.w.region.RemoteKey()
		require.NoError(t, err)
		for n := range key {
			_, err := p.a.ep.Import(p.toB, key[:n])
			require.ErrorIs(t, err, fierr.EProto, "%d bytes", n)
		}
		for i := range key {
			bad := bytes.Clone(key)
			bad[i] ^= 1 << (i % 8)
			_, err := p.a.ep.Import(p.toB, bad)
			require.Error(t, err, "byte %d altered", i)
		}
		_, err = p.a.ep.Import(p.toB, append(bytes.Clone(key), 0))
		require.ErrorIs(t, err, fierr.EProto)
		_, err = p.a.ep.Import(lnx.Addr(99), key)
		require.ErrorIs(t, err, fierr.EInval)

		// of another endpoint than the peer
		other := newNode(t, c.rma())
		toOther := p.a.insert(other.ep.Name())
		_, err = p.a.ep.Import(toOther, key)
		require.ErrorIs(t, err, mr.ErrForeign)

		// forged, checksums and all
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			bad := bytes.Clone(key)
			for range 1 + r.IntN(3) {
				bad[8+r.IntN(len(bad)-8)] = byte(r.Uint32())
			}
			mem, err := p.a.ep.Import(p.toB, sealed(bad))
			if err != nil || c.network() {
				continue // over tcp a bad key costs the connection: see below
			}
			_ = p.a.ep.Write(make([]byte, 8), mem, 0, "forged")
		}
		if !c.network() {
			p.w.untouched(t)
		}
	})
}

// forgeKey changes the key of the first rail, or all.
func forgeKey(t *testing.T, p *rmaPair) *lnx.RemoteMemory {
	key, err := p.w.region.RemoteKey()
	require.NoError(t, err)
	inner := key[48:]
	at := 28
	for range inner[10] { // each rail's record: size, entry, flags, address, key
		inner[at+2+10] ^= 0x5a
		at += 2 + int(binary.LittleEndian.Uint16(inner[at:]))
	}
	mem, err := p.a.ep.Import(p.toB, sealed(key))
	require.NoError(t, err)
	return mem
}

// A key that the target does not know, and one whose memory it has closed, fail within
// time on every rail, whatever the size and the kind of operation; afterwards the
// endpoints go on.
func TestUnknownKey(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		for _, freed := range []bool{true, false} {
			for _, size := range []int{8, 4096, 1 << 20} {
				for _, kind := range []string{"read", "write", "data", "delivered"} {
					name := fmt.Sprintf("%s/size=%d", kind, size)
					if freed {
						name = "freed/" + name
					}
					t.Run(name, func(t *testing.T) {
						p := newRMAPair(t, c.rma(), 1<<20)
						require.NoError(t, driven(t, func() error { return p.w.remote.WriteAt(context.Background(), []byte{1}, 0) }, p.b))
						p.holds(0, []byte{1})
						mem := p.w.remote
						if freed {
							require.NoError(t, p.w.region.Close())
						} else {
							mem = forgeKey(t, p)
						}
						before := bytes.Clone(p.w.mem)
						op := &pending{buf: make([]byte, size)}
						err := p.begin(func() error {
							switch kind {
							case "read":
								return p.a.ep.Read(op.buf, mem, 0, op)
							case "write":
								return p.a.ep.Write(op.buf, mem, 0, op)
							case "data":
								return p.a.ep.WriteData(op.buf, 7, mem, 0, op)
							}
							m := &lnx.RMAMsg{IOV: [][]byte{op.buf}, Context: op, Remote: []lnx.RemoteRange{{mem, 0, uint64(size)}}}
							return p.a.ep.WriteMsg(m, lnx.FlagCompletion|lnx.FlagDeliveryComplete)
						})
						if !c.network() {
							require.ErrorIs(t, err, fierr.ENoKey)
						} else {
							require.NoError(t, err)
							p.a.until(func() bool { p.b.poll(); return op.done })
							if kind == "read" || kind == "delivered" {
								require.NotNil(t, op.err, "the target has not done it")
								t.Log(op.err)
							}
						}
						require.True(t, bytes.Equal(before, p.w.mem), "memory that is not registered any more")
						require.Empty(t, p.b.odd)

						// life goes on
						again := newWindow(t, p.b, p.a, p.toB, 64, mr.RemoteWrite|mr.RemoteRead)
						ctx, cancel := context.WithTimeout(context.Background(), limit)
						defer cancel()
						for late := deadline(); ; {
							err := driven(t, func() error { return again.remote.WriteAt(ctx, []byte("still there"), 0) }, p.b)
							if err == nil {
								in := make([]byte, 11)
								if err = driven(t, func() error { return again.remote.ReadAt(ctx, in, 0) }, p.b); err == nil {
									require.Equal(t, "still there", string(in))
									break
								}
							}
							require.False(t, late(), "%v", err)
							t.Log("again:", err)
						}
						exchangeOne(t, p.a, p.b, p.toB, p.toA)
					})
				}
			}
		}
	})
}

// Memory that is closed while a peer writes to it: nothing is written after Close has
// answered nil, and all operations of the peer end.
func TestClosedInFlight(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		for _, size := range []int{8, 70_000, 1 << 20} {
			p := newRMAPair(t, c.rma(), 1<<20)
			exchangeOne(t, p.a, p.b, p.toB, p.toA)
			buf := bytes.Repeat([]byte{0x11}, size)
			var ops []*pending
			for i := range 40 {
				op := &pending{buf: buf}
				var err error
				if i%2 == 0 {
					err = p.a.ep.Write(buf, p.w.remote, 0, op)
				} else {
					err = p.a.ep.WriteData(buf, 1, p.w.remote, 0, op)
				}
				if err == nil {
					ops = append(ops, op)
				}
			}
			require.NotEmpty(t, ops)
			for late := deadline(); ; p.a.poll() {
				err := p.w.region.Close()
				if err == nil {
					break
				}
				require.ErrorIs(t, err, mr.ErrBusy)
				require.False(t, late(), "%v", p.a.ep.Stats())
			}
			after := bytes.Repeat([]byte{0x22}, len(p.w.mem))
			copy(p.w.mem, after)
			p.a.until(func() bool {
				p.b.poll()
				for _, op := range ops {
					if !op.done {
						return false
					}
				}
				return true
			})
			turnsOf(p.b, 2000)
			require.True(t, bytes.Equal(after, p.w.mem), "written to after Close")
		}
	})
}

func turnsOf(n *node, count int) {
	for range count {
		n.poll()
	}
}

// A region that is a buffer of an operation here is not let go of before that ends.
func TestRegionBusy(t *testing.T) {
	p := newRMAPair(t, choice{Links: "tcp:lo"}.rma(), 1<<20)
	region, err := p.a.ep.Register(make([]byte, 100), mr.LocalAccess)
	require.NoError(t, err)
	require.Equal(t, 100, region.Len())
	require.Equal(t, mr.LocalAccess, region.Access())
	_, err = region.RemoteKey()
	require.ErrorIs(t, err, fierr.EPerm)
	require.NoError(t, region.Close())
	require.ErrorIs(t, region.Close(), mr.ErrClosed)
	_, err = p.a.ep.Register(nil, mr.Read)
	require.ErrorIs(t, err, fierr.EInval)
	_, err = p.a.ep.Register(make([]byte, 1), 0)
	require.ErrorIs(t, err, fierr.EInval)
	_, err = p.a.ep.RegisterMemory(mr.Memory{Len: 1 << 20, Iface: mr.CUDA, DMABuf: &mr.DMABuf{FD: 9}}, mr.RemoteWrite)
	require.ErrorIs(t, err, mr.ErrNotSupported)
	require.ErrorContains(t, err, "tcp;ofi_rxm:lo")
	require.NoError(t, p.w.remote.Close())
	require.ErrorIs(t, p.w.remote.Close(), mr.ErrClosed)
	require.ErrorIs(t, p.a.ep.Write([]byte{1}, p.w.remote, 0, nil), mr.ErrClosed)
	end := time.Now().Add(limit)
	for p.b.ep.MRStats().Private != 1 {
		require.True(t, time.Now().Before(end))
	}
}
