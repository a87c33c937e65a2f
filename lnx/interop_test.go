package lnx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
	"golnx/lnx"
	"golnx/peer"
	"golnx/providers/fierr"
)

// Interoperability with C: testdata/interop/lnxpeer.c opens libfabric's own
// provider lnx and exchanges messages with an Endpoint, every byte of which both
// sides verify.

// phase is a line of lnxpeer's protocol; its header comment says what the roles
// do. The role is C's.
type phase struct {
	role                string
	count, size, window int
}

func TestInteropShm(t *testing.T) {
	c := startLnxpeer(t, "lo")
	x := newExchange(t, c, lnx.Options{Links: "shm+tcp:lo"}, nil)
	x.insert(t, c.blob)
	checkBlob(t, x)
	c.insert(t, x.ep.Name())
	x.run(t, []phase{
		{"ping", 20_000, 8, 1},
		{"pong", 20_000, 8, 1},
		{"send", 25_600, 8, 64},
		{"recv", 25_600, 8, 64},
		{"send", 3_200, 0, 32},
		{"recv", 3_200, 0, 32},
		{"ping", 500, 65536, 1},
		{"pong", 500, 65536, 1},
		{"send", 800, 65536, 16},
		{"recv", 800, 65536, 16},
	})
	x.requireRail(t, "shm", 100_000)
}

// To C LNX a peer whose blob has no shm is on another machine.
func TestInteropTCP(t *testing.T) {
	c := startLnxpeer(t, "lo")
	x := newExchange(t, c, lnx.Options{Links: "shm+tcp:lo"}, map[string]string{"FI_LNX_DISABLE_SHM": "1"})
	x.insert(t, c.blob)
	c.insert(t, x.ep.Name())
	x.run(t, tcpPhases)
	x.requireRail(t, "tcp;ofi_rxm:lo", 100_000)
}

// Two hosts with a cable between them. Both sides have shm, but take each other for
// other machines, as the blobs say.
func TestInteropOtherHost(t *testing.T) {
	other := netns.OnHosts(t, farLife, "")
	if other == nil {
		return
	}
	c := startLnxpeerOn(t, other, "nic0")
	x := newExchange(t, c, lnx.Options{Links: "shm+tcp:nic0"}, nil)
	x.insert(t, renameHost(t, c.blob))
	c.insert(t, renameHost(t, x.ep.Name()))
	require.Contains(t, x.peer(t).String(), "=10.211.0.2:")
	x.run(t, tcpPhases)
	x.requireRail(t, "tcp;ofi_rxm:nic0", 100_000)
}

var tcpPhases = []phase{
	{"ping", 1_000, 8, 1},
	{"pong", 1_000, 8, 1},
	{"send", 48_000, 8, 64},
	{"recv", 48_000, 8, 64},
	{"send", 320, 0, 32},
	{"recv", 320, 0, 32},
	{"ping", 100, 65536, 1},
	{"pong", 100, 65536, 1},
	{"send", 160, 65536, 16},
	{"recv", 160, 65536, 16},
}

// C sends before its address is known here; the receives name it as their source.
func TestInteropUnknownSender(t *testing.T) {
	for _, rail := range []string{"shm", "tcp;ofi_rxm:lo"} {
		t.Run(rail, func(t *testing.T) {
			c := startLnxpeer(t, "lo")
			x := newExchange(t, c, lnx.Options{Links: "shm+tcp:lo", DisableShm: rail != "shm"}, nil)
			c.insert(t, x.ep.Name())
			x.begin(t, phase{"send", 64, 8, 64})
			for x.arrived() < 64 && x.err == nil {
				x.reap(x.ep.CQ().Read(x.entries[:]))
			}
			x.insert(t, c.blob)
			x.play(t)
			x.end(t)
			x.requireRail(t, rail, 64)
		})
	}
}

// What lnxpeer printed once, with libfabric 2.1.0.
func TestInteropBlob(t *testing.T) {
	text, err := os.ReadFile("../testdata/interop/blob21.hex")
	require.NoError(t, err)
	blob, err := hex.DecodeString(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	a, err := peer.Decode(blob)
	require.NoError(t, err)
	require.Equal(t, peer.Layout21, a.Layout)
	require.Equal(t, "lnx://vm/tcp;ofi_rxm=127.0.0.1:38035,shm=fi_shm://13985:0:0", a.String())
}

// checkBlob compares the blob that C LNX wrote just now with what is known of
// lnxpeer and its machine.
func checkBlob(t *testing.T, x *exchange) {
	t.Helper()
	a := x.peer(t)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host, a.Host)
	require.Nil(t, a.Ext)
	require.Regexp(t, fmt.Sprintf(`=fi_shm://%d:\d+:\d+\b`, x.c.cmd.Process.Pid), a.String())
	require.Regexp(t, `=127\.0\.0\.1:\d+\b`, a.String())
	own, err := peer.Decode(x.ep.Name())
	require.NoError(t, err)
	require.Equal(t, a.Layout, own.Layout, "not the layout of the libfabric that is installed")
}

// renameHost moves a blob to another machine.
func renameHost(t *testing.T, blob []byte) []byte {
	t.Helper()
	a, err := peer.Decode(blob)
	require.NoError(t, err)
	a.Host = "elsewhere"
	encode := peer.Encode22
	if a.Layout == peer.Layout21 {
		encode = peer.Encode21
	}
	blob, err = encode(a)
	require.NoError(t, err)
	return blob
}

// exchange is an endpoint and the C process that it talks to.
type exchange struct {
	c   *lnxpeer
	ep  *lnx.Endpoint
	to  lnx.Addr
	ctx context.Context // of the phase

	phase
	tag          uint64
	sends, recvs []*transfer
	ack          transfer
	entries      [16]lnx.Entry
	want         [1 << 16]byte

	err                  error
	sent, received       int // in the phase
	messages, unexpected int // in all phases; unexpected for certain
}

// transfer is a send or receive, and the context of the operation.
type transfer struct {
	mem, buf []byte // buf is what is used of mem
	done     bool
	entry    lnx.Entry
}

// newExchange opens an endpoint that sees no environment but env.
func newExchange(t *testing.T, c *lnxpeer, opts lnx.Options, env map[string]string) *exchange {
	t.Helper()
	opts.Lookup = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	listing, err := lnx.Links(opts)
	require.NoError(t, err)
	ep, err := lnx.Open(listing.Links[0])
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, ep.Close())
		requireNoRegion(t, ep.Name())
	})
	x := &exchange{c: c, ep: ep, tag: 0x1234567}
	for range 64 {
		x.sends = append(x.sends, &transfer{mem: make([]byte, len(x.want))})
		x.recvs = append(x.recvs, &transfer{mem: make([]byte, len(x.want))})
	}
	return x
}

func (x *exchange) insert(t *testing.T, blob []byte) {
	t.Helper()
	var err error
	x.to, err = x.ep.AV().Insert(blob)
	require.NoError(t, err)
}

// peer answers what the AV has of the peer.
func (x *exchange) peer(t *testing.T) *peer.Address {
	t.Helper()
	a, err := x.ep.AV().Lookup(x.to)
	require.NoError(t, err)
	return a
}

// run plays the phases.
func (x *exchange) run(t *testing.T, phases []phase) {
	t.Helper()
	for _, p := range phases {
		start := time.Now()
		x.begin(t, p)
		x.play(t)
		x.end(t)
		t.Logf("C %s, %d of %d B, window %d: %v", p.role, p.count, p.size, p.window, time.Since(start).Round(time.Millisecond))
	}
}

func (x *exchange) begin(t *testing.T, p phase) {
	t.Helper()
	x.phase, x.sent, x.received = p, 0, 0
	x.tag = x.tag * 5 & (1<<31 - 1)
	var cancel context.CancelFunc
	x.ctx, cancel = context.WithTimeout(x.c.alive, lnxpeerPhase)
	t.Cleanup(cancel)
	x.c.print(t, "%s %d %d %d %d", p.role, p.count, p.size, p.window, x.tag)
}

// play plays the role that answers C's.
func (x *exchange) play(t *testing.T) {
	t.Helper()
	switch x.role {
	case "ping", "pong":
		x.echo(x.role == "pong")
	case "send":
		x.recvWindows()
	case "recv":
		x.sendWindows()
	}
	if x.err != nil {
		require.FailNow(t, x.err.Error(), "%+v: %d sent, %d received; %v; %v",
			x.phase, x.sent, x.received, context.Cause(x.ctx), x.ep.Stats())
	}
}

// end compares what both sides did.
func (x *exchange) end(t *testing.T) {
	t.Helper()
	var want lnxpeerReport
	if x.role != "recv" {
		want.Sent = x.count
	}
	if x.role != "send" {
		want.Received = x.count
		for i := range x.count {
			want.Bytes += x.sizeOf(i)
		}
	}
	if x.role == "send" || x.role == "recv" {
		want.Windows = x.count / x.window
	}
	require.Equal(t, want, x.c.report(t), "%+v", x.phase)
	require.Equal(t, [2]int{want.Received, want.Sent}, [2]int{x.sent, x.received}, "%+v", x.phase)
	x.messages += x.sent + x.received + want.Windows
}

// requireRail checks that all messages, of which there are min at least, went
// over one rail.
func (x *exchange) requireRail(t *testing.T, name string, min int) {
	t.Helper()
	require.GreaterOrEqual(t, x.messages, min)
	for _, s := range x.ep.Stats() {
		t.Log(s)
		if s.Name != name {
			require.Zero(t, s.TSends+s.TInjects+s.RxExpected+s.RxUnexpected, s.Name)
			continue
		}
		require.EqualValues(t, x.messages, s.TSends+s.RxExpected+s.RxUnexpected)
		require.GreaterOrEqual(t, s.RxUnexpected, uint64(x.unexpected))
		require.Zero(t, s.Errors)
	}
}

// arrived answers how many messages no receive was posted for.
func (x *exchange) arrived() (n uint64) {
	for _, s := range x.ep.Stats() {
		n += s.RxUnexpected
	}
	return n
}

// What follows does nothing once x.err is set.

// echo uses the blocking calls when it answers.
func (x *exchange) echo(first bool) {
	in, out := x.recvs[0], x.sends[0]
	for i := 0; i < x.count && x.err == nil; i++ {
		if first {
			x.recvMessage(in, i, false)
			x.sendMessage(out, i)
			x.await(in, out)
			x.verify(in, i)
			continue
		}
		from, ignore := x.accept(i, false)
		in.buf = in.mem[:x.sizeOf(i)]
		var info lnx.RecvInfo
		info, x.err = x.ep.Recv(x.ctx, from, x.tagOf(i), ignore, in.buf)
		in.entry = lnx.Entry{Len: info.Len, Tag: info.Tag, Src: info.From}
		x.verify(in, i)
		if x.err == nil {
			x.fill(out, i)
			x.err = x.ep.Send(x.ctx, x.to, x.tagOf(i), out.buf)
			x.sent++
		}
	}
}

func (x *exchange) sendWindows() {
	for i := 0; i < x.count && x.err == nil; i += x.window {
		x.post(&x.ack, func() error { return x.ep.TRecv(nil, x.to, ackTag(x.tag), 0, &x.ack) })
		for j, s := range x.sends[:x.window] {
			x.sendMessage(s, i+j)
		}
		x.await(x.sends[:x.window]...)
		x.await(&x.ack)
	}
}

// recvWindows takes every other window unexpected: the last message is received
// first, so that the others are there before their receives are posted.
func (x *exchange) recvWindows() {
	last := x.window - 1
	for i := 0; i < x.count && x.err == nil; i += x.window {
		early := i/x.window%2 == 1
		if early {
			x.recvMessage(x.recvs[last], i+last, true)
			x.await(x.recvs[last])
			x.unexpected += last
		}
		for j, r := range x.recvs[:last] {
			x.recvMessage(r, i+j, false)
		}
		if !early {
			x.recvMessage(x.recvs[last], i+last, true)
		}
		x.await(x.recvs[:x.window]...)
		for j, r := range x.recvs[:x.window] {
			x.verify(r, i+j)
		}
		x.post(&x.ack, func() error { return x.ep.TSend(nil, x.to, ackTag(x.tag), &x.ack) })
		x.await(&x.ack)
	}
}

func (x *exchange) sendMessage(s *transfer, i int) {
	x.fill(s, i)
	x.post(s, func() error { return x.ep.TSend(s.buf, x.to, x.tagOf(i), s) })
	x.sent++
}

func (x *exchange) recvMessage(r *transfer, i int, exact bool) {
	r.buf = r.mem[:x.sizeOf(i)]
	clear(r.buf)
	from, ignore := x.accept(i, exact)
	x.post(r, func() error { return x.ep.TRecv(r.buf, from, x.tagOf(i), ignore, r) })
}

// post starts a transfer, reading completions while there is no room.
func (x *exchange) post(tr *transfer, start func() error) {
	for tr.done = false; x.err == nil; x.reap(x.ep.CQ().Read(x.entries[:])) {
		if err := start(); !errors.Is(err, fierr.EAgain) {
			x.err = err
			return
		}
	}
}

// await reads completions until the transfers are done.
func (x *exchange) await(transfers ...*transfer) {
	for _, tr := range transfers {
		for !tr.done && x.err == nil {
			x.reap(x.ep.CQ().Wait(x.ctx, x.entries[:]))
		}
	}
}

// reap takes what reading the CQ answered.
func (x *exchange) reap(n int, err error) {
	for _, e := range x.entries[:n] {
		tr := e.Context.(*transfer)
		tr.entry, tr.done = e, true
	}
	switch {
	case errors.Is(err, fierr.EAgain):
		err = x.ctx.Err()
	case errors.Is(err, fierr.EAvail):
		var failed *lnx.ErrEntry
		if failed, err = x.ep.CQ().ReadErr(); err == nil {
			err = failed
		}
	}
	if err != nil {
		x.err = err
	}
}

// --- contents and matching, as in lnxpeer.c ---

var mixedSizes = []int{0, 1, 7, 8, 63, 64, 65, 192, 1000, 4095, 4096, 4097, 16384, 65535}

func (x *exchange) sizeOf(i int) int {
	if x.size != 0 {
		return x.size
	}
	return mixedSizes[i%len(mixedSizes)]
}

func (x *exchange) tagOf(i int) uint64 { return x.tag<<32 | uint64(i&0xffff) }

func ackTag(tag uint64) uint64 { return 1<<63 | tag }

// accept says of a receive which sources and tags it takes besides its message's.
// Messages arrive in order, so it gets the one that it is meant for.
func (x *exchange) accept(i int, exact bool) (from lnx.Addr, ignore uint64) {
	from = x.to
	if !exact && i%4 == 0 {
		from = lnx.AddrUnspec
	}
	if !exact && i%3 == 0 {
		ignore = 0xff
	}
	return from, ignore
}

func (x *exchange) fill(s *transfer, i int) {
	s.buf = s.mem[:x.sizeOf(i)]
	x.pattern(s.buf, i)
}

// pattern writes the contents of message i.
func (x *exchange) pattern(buf []byte, i int) {
	mix := func(v uint64) uint64 {
		v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
		v = (v ^ v>>27) * 0x94d049bb133111eb
		return v ^ v>>31
	}
	var word [8]byte
	for k := uint64(1); len(buf) > 0; k++ {
		binary.LittleEndian.PutUint64(word[:], mix(x.tagOf(i)^uint64(i)*0x9e3779b97f4a7c15^mix(k)))
		buf = buf[copy(buf, word[:]):]
	}
}

func (x *exchange) verify(r *transfer, i int) {
	if x.err != nil {
		return
	}
	want, got := x.want[:x.sizeOf(i)], r.entry
	x.pattern(want, i)
	if got.Len != len(want) || got.Tag != x.tagOf(i) || got.Src != x.to {
		x.err = fmt.Errorf("message %d: %d bytes, tag %#x, from %d; want %d, %#x, %d",
			i, got.Len, got.Tag, got.Src, len(want), x.tagOf(i), x.to)
	} else if !bytes.Equal(r.buf, want) {
		x.err = fmt.Errorf("message %d of %d bytes, tag %#x: contents differ", i, len(want), x.tagOf(i))
	}
	x.received++
}
