package lnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// rmaTarget has a window that another process reaches. It drives its rails until it is
// told something.
var rmaTarget = twoproc.NewRole("rma target", func(c *twoproc.Child) {
	var o rmaOrder
	c.Get(&o)
	opts := o.Choice.rma()
	opts.Policy = o.Policy
	opts.Caps |= o.Caps
	n := openNode(c, opts)
	mem := bytes.Repeat([]byte{0xee}, o.Size+2*margin)
	region, err := n.ep.Register(mem[margin:len(mem)-margin], mr.RemoteRead|mr.RemoteWrite)
	require.NoError(c, err)
	key, err := region.RemoteKey()
	require.NoError(c, err)
	var counted *lnx.Counter
	if opts.Caps&lnx.CapRMAEvent != 0 {
		counted, err = n.ep.OpenCounter(lnx.EventRemoteRead | lnx.EventRemoteWrite)
		require.NoError(c, err)
	}
	c.Put(n.ep.Name())
	c.Put(key)
	var blob []byte
	c.Get(&blob)
	n.insert(blob)
	orders := make(chan rmaOrder)
	go func() {
		for {
			var o rmaOrder
			if !c.Get(&o) {
				close(orders)
				return
			}
			orders <- o
		}
	}()
	for open := true; open; n.poll() {
		select {
		case o, open = <-orders:
			if !open {
				break
			}
			w := windowed{mem: mem}
			w.untouched(c)
			switch o.Do {
			case "sum": // what the memory holds now
				c.Put(mem[margin+o.Off:][:o.Size])
			case "told": // writes with data so far
				n.until(func() bool { return len(n.odd) >= o.Size })
				c.Put(n.odd)
				n.odd = nil
			case "counted": // what peers have done so far
				c.Put(counted.Read())
			case "idle": // drive nothing until the next order
				c.Put(true)
				o, open = <-orders
				c.Put(true)
			case "close": // then fill the memory, which nobody may touch any more
				n.until(func() bool {
					err := region.Close()
					require.True(c, err == nil || errors.Is(err, mr.ErrBusy), "%v", err)
					return err == nil
				})
				copy(w.inside(), bytes.Repeat([]byte{closedFill}, len(w.inside())))
				c.Put(true)
			}
		default:
		}
	}
	require.NoError(c, n.ep.Close())
})

type rmaOrder struct {
	Do        string
	Choice    choice
	Policy    string
	Caps      lnx.Caps // besides CapRMA
	Size, Off int
}

// closedFill is what the memory of a target holds after it was closed.
const closedFill = 0x22

type target struct {
	*twoproc.Proc
	to  lnx.Addr
	key []byte
	mem *lnx.RemoteMemory
}

func startTarget(t *testing.T, n *node, o rmaOrder) *target {
	t.Helper()
	p := &target{Proc: rmaTarget.Start(t, 60*time.Second)}
	p.Put(o)
	var blob []byte
	p.Get(&blob)
	p.Get(&p.key)
	p.to = n.insert(blob)
	p.Put(n.ep.Name())
	var err error
	p.mem, err = n.ep.Import(p.to, p.key)
	require.NoError(t, err)
	return p
}

func (p *target) holds(off, size int) (b []byte) {
	p.Put(rmaOrder{Do: "sum", Off: off, Size: size})
	p.Get(&b)
	return b
}

// idle stops the target from driving its rails.
func (p *target) idle() {
	p.Put(rmaOrder{Do: "idle"})
	var ok bool
	p.Get(&ok)
}

// Another process's memory is read and written, over each link and each policy's rails.
func TestRMATwoProcesses(t *testing.T) {
	for _, c := range choices {
		for _, policy := range []string{"PER_PEER", "PER_MSG"} {
			t.Run(fmt.Sprintf("%v/%s", c, policy), func(t *testing.T) {
				opts := c.rma()
				opts.Policy = policy
				n := newNode(t, opts)
				p := startTarget(t, n, rmaOrder{Choice: c, Policy: policy, Size: 4 << 20})
				ctx := within(t)
				for _, size := range []int{0, 1, 8, 4096, 4097, 64 << 10, 1 << 20, 4 << 20} {
					want := payload(uint64(size), size)
					require.NoError(t, p.mem.WriteDataAt(ctx, want, uint64(size), 0))
					var told []lnx.Entry
					p.Put(rmaOrder{Do: "told", Size: 1})
					p.Get(&told)
					require.Len(t, told, 1)
					require.EqualValues(t, size, told[0].Data)
					require.Equal(t, size, told[0].Len)
					require.True(t, bytes.Equal(want, p.holds(0, size)))
					in := make([]byte, size)
					require.NoError(t, p.mem.ReadAt(ctx, in, 0))
					require.True(t, bytes.Equal(want, in))

					want = payload(uint64(size)+1, size)
					require.NoError(t, p.mem.WriteAt(ctx, want, 0))
					require.NoError(t, p.mem.ReadAt(ctx, in, 0)) // behind the write
					require.True(t, bytes.Equal(want, in))
				}
				p.Wait()
			})
		}
	}
}

// Between processes shm needs nothing of the target for plain reads and writes.
func TestOneSidedShm(t *testing.T) {
	n := newNode(t, choices[0].rma())
	p := startTarget(t, n, rmaOrder{Choice: choices[0], Size: 1 << 20})
	ctx := within(t)
	require.NoError(t, p.mem.WriteAt(ctx, []byte{1}, 0))
	p.idle()
	for _, size := range []int{1, 4096, 5000, 1 << 20} {
		want, in := payload(uint64(size), size), make([]byte, size)
		require.NoError(t, p.mem.WriteAt(ctx, want, 0))
		require.NoError(t, p.mem.ReadAt(ctx, in, 0))
		require.True(t, bytes.Equal(want, in))
	}
	p.Put(rmaOrder{})
	var ok bool
	p.Get(&ok)
	p.Wait()
}

// The end of a process ends what is under way with its memory, on every link, and the
// endpoint goes on with another one.
func TestKilledTarget(t *testing.T) {
	for _, c := range choices {
		for _, kind := range []string{"read", "write", "data"} {
			for _, size := range []int{8, 16_000, 4 << 20} {
				t.Run(fmt.Sprintf("%v/%s/size=%d", c, kind, size), func(t *testing.T) {
					n := newNode(t, c.rma())
					p := startTarget(t, n, rmaOrder{Choice: c, Size: 4 << 20})
					require.NoError(t, p.mem.WriteAt(within(t), []byte{1}, 0))
					p.idle()
					var ops []*pending
					start := func() error {
						op := &pending{buf: make([]byte, size)}
						var err error
						switch kind {
						case "read":
							err = n.ep.Read(op.buf, p.mem, 0, op)
						case "write":
							err = n.ep.Write(op.buf, p.mem, 0, op)
						default:
							err = n.ep.WriteData(op.buf, 1, p.mem, 0, op)
						}
						if err == nil {
							ops = append(ops, op)
						}
						return err
					}
					for range 20 {
						if err := start(); err != nil {
							require.ErrorIs(t, err, fierr.EAgain)
						}
						n.poll()
					}
					p.Kill()
					n.until(func() bool {
						for _, op := range ops {
							if !op.done {
								return false
							}
						}
						return true
					})
					var last error
					n.until(func() bool {
						last = start()
						return last != nil && !errors.Is(last, fierr.EAgain)
					})
					require.ErrorIs(t, last, lnx.ErrPeerDead)
					failed := 0
					n.until(func() bool {
						failed = 0
						for _, op := range ops {
							if !op.done {
								return false
							}
							if op.err != nil {
								failed++
							}
						}
						return true
					})
					t.Log(failed, "of", len(ops), "failed")

					q := startTarget(t, n, rmaOrder{Choice: c, Size: 100_000})
					want, in := payload(5, 100_000), make([]byte, 100_000)
					err := q.mem.WriteAt(within(t), want, 0)
					if err == nil {
						err = q.mem.ReadAt(within(t), in, 0)
					}
					if err != nil { // of shm, which cannot always be repaired
						require.ErrorIs(t, err, lnx.ErrRailBroken)
						require.Equal(t, "shm", c.Links)
					} else {
						require.True(t, bytes.Equal(want, in))
					}
					q.Wait()
				})
			}
		}
	}
}
