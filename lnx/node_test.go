package lnx_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/providers/fierr"
)

func TestMain(m *testing.M) { twoproc.Main(m) }

// limit is how long anything may take that should take no time.
const limit = 20 * time.Second

// choice is a link that tests run over.
type choice struct {
	Links      string
	DisableShm bool
	Direct     bool
}

func (c choice) String() string {
	if c.DisableShm {
		return c.Links + " without shm"
	}
	if c.Direct {
		return c.Links + " direct"
	}
	return c.Links
}

func (c choice) options() lnx.Options {
	return lnx.Options{Links: c.Links, DisableShm: c.DisableShm, Direct: c.Direct, Lookup: noEnv}
}

// choose reads what String wrote of a choice.
func choose(s string) choice {
	links, direct := strings.CutSuffix(s, " direct")
	return choice{Links: links, Direct: direct}
}

// choices are the links of tests that should hold on all of them.
var choices = []choice{{Links: "shm"}, {Links: "tcp:lo"}, {Links: "shm+tcp:lo"}, {Links: "shm+tcp:lo", DisableShm: true}}

// onMatchers runs a test on each link, and in direct mode over each rail. It is for what
// matching decides: all else is the same in direct mode, and tried there once.
func onMatchers(t *testing.T, f func(t *testing.T, c choice)) {
	onLinks(t, f)
	for _, c := range []choice{{Links: "shm", Direct: true}, {Links: "tcp:lo", Direct: true}} {
		t.Run(c.String(), func(t *testing.T) { f(t, c) })
	}
}

// onLinks runs a test on each link.
func onLinks(t *testing.T, f func(t *testing.T, c choice)) {
	for _, c := range choices {
		t.Run(c.String(), func(t *testing.T) { f(t, c) })
	}
}

// noEnv keeps the tests from depending on the environment.
func noEnv(string) (string, bool) { return "", false }

// node is an endpoint with all that is under way on it.
type node struct {
	t     require.TestingT
	ep    *lnx.Endpoint
	batch [16]lnx.Entry
	// odd are completions whose context is no pending operation.
	odd    []lnx.Entry
	oddErr []*lnx.ErrEntry
}

func openNode(t require.TestingT, opts lnx.Options) *node {
	l, err := lnx.Links(opts)
	require.NoError(t, err)
	ep, err := lnx.Open(l.Links[0])
	require.NoError(t, err)
	return &node{t: t, ep: ep}
}

// newNode is a node that is closed at the end of the test.
func newNode(t *testing.T, opts lnx.Options) *node {
	t.Helper()
	n := openNode(t, opts)
	t.Cleanup(func() { require.NoError(t, n.ep.Close()) })
	return n
}

func (n *node) insert(blob []byte) lnx.Addr {
	addr, err := n.ep.AV().Insert(blob)
	require.NoError(n.t, err)
	return addr
}

// pending is the context of an operation; it is over when done is set.
type pending struct {
	buf   []byte
	done  bool
	times int // that a completion came for it
	entry lnx.Entry
	err   *lnx.ErrEntry
}

func (p *pending) errno() fierr.Errno {
	if p.err == nil {
		return 0
	}
	return p.err.Err
}

// message is what a sender is told to send. The payload follows from Seed.
type message struct {
	Size      int
	Tag, Data uint64
	HasData   bool
	Inject    bool
	Untagged  bool
	Parts     int // buffers that it is sent from; 0 sends one, the usual way
	Seed      uint64
}

func payload(seed uint64, size int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	buf := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(buf) // cannot fail
	return buf
}

// split cuts a buffer into parts of unequal lengths, the last one the longest.
func split(buf []byte, parts int) [][]byte {
	var iov [][]byte
	for i := range parts - 1 {
		n := len(buf) / (parts + 1 - i)
		iov, buf = append(iov, buf[:n:n]), buf[n:]
	}
	return append(iov, buf)
}

// start begins to send, repeating what is refused with EAGAIN.
func (n *node) start(to lnx.Addr, m message) (*pending, error) {
	p := &pending{buf: payload(m.Seed, m.Size)}
	var err error
	n.until(func() bool {
		err = n.startOnce(to, m, p)
		return !errors.Is(err, fierr.EAgain)
	})
	return p, err
}

// startTo is start for a receiver that nothing else drives.
func (n *node) startTo(to lnx.Addr, m message, receiver *node) (*pending, error) {
	p := &pending{buf: payload(m.Seed, m.Size)}
	var err error
	n.until(func() bool {
		receiver.poll()
		err = n.startOnce(to, m, p)
		return !errors.Is(err, fierr.EAgain)
	})
	return p, err
}

func (n *node) startOnce(to lnx.Addr, m message, p *pending) (err error) {
	if m.Untagged {
		return n.startMsg(to, m, p)
	}
	switch {
	case m.Inject && m.HasData:
		err = n.ep.TInjectData(p.buf, m.Data, to, m.Tag)
	case m.Inject:
		err = n.ep.TInject(p.buf, to, m.Tag)
	case m.Parts > 0 && m.HasData:
		return n.ep.TSendMsg(&lnx.Msg{IOV: split(p.buf, m.Parts), Addr: to, Tag: m.Tag, Data: m.Data, Context: p}, lnx.FlagCompletion|lnx.FlagRemoteCQData)
	case m.Parts > 0:
		return n.ep.TSendV(split(p.buf, m.Parts), to, m.Tag, p)
	case m.HasData:
		return n.ep.TSendData(p.buf, m.Data, to, m.Tag, p)
	default:
		return n.ep.TSend(p.buf, to, m.Tag, p)
	}
	if err == nil {
		p.done = true // an inject has no completion
		clear(p.buf)  // and does not need its buffer any more
	}
	return err
}

// send sends all messages and waits for the completions.
func (n *node) send(to lnx.Addr, msgs ...message) {
	var all []*pending
	for _, m := range msgs {
		p, err := n.start(to, m)
		require.NoError(n.t, err)
		all = append(all, p)
	}
	n.finish(all...)
	for _, p := range all {
		require.Nil(n.t, p.err)
	}
}

// post posts a receive with a buffer of its own.
func (n *node) post(size int, from lnx.Addr, tag, ignore uint64) *pending {
	p := &pending{buf: make([]byte, size)}
	n.postIn(p, from, tag, ignore)
	return p
}

func (n *node) postIn(p *pending, from lnx.Addr, tag, ignore uint64) {
	require.NoError(n.t, n.ep.TRecv(p.buf, from, tag, ignore, p))
}

// recv receives one message.
func (n *node) recv(size int, from lnx.Addr, tag, ignore uint64) *pending {
	p := n.post(size, from, tag, ignore)
	n.finish(p)
	return p
}

// finish drives the endpoint until all are done, which each is once.
func (n *node) finish(all ...*pending) {
	n.until(func() bool {
		for _, p := range all {
			if !p.done {
				return false
			}
		}
		return true
	})
	for _, p := range all {
		require.LessOrEqual(n.t, p.times, 1)
	}
}

// until drives the endpoint until cond holds.
func (n *node) until(cond func() bool) {
	for end := time.Now().Add(limit); !cond(); n.poll() {
		if time.Now().After(end) {
			require.Fail(n.t, "still waiting", "after %v; rails: %v", limit, n.ep.Stats())
		}
	}
}

// poll reads the CQ once.
func (n *node) poll() {
	k, err := n.ep.CQ().Read(n.batch[:])
	for _, e := range n.batch[:k] {
		if p, ok := e.Context.(*pending); ok {
			p.done, p.entry = true, e
			p.times++
		} else {
			n.odd = append(n.odd, e)
		}
	}
	switch {
	case errors.Is(err, fierr.EAvail):
		n.readErr()
	case err != nil:
		require.ErrorIs(n.t, err, fierr.EAgain)
	}
}

func (n *node) readErr() {
	e, err := n.ep.CQ().ReadErr()
	require.NoError(n.t, err)
	if p, ok := e.Context.(*pending); ok {
		p.done, p.entry, p.err = true, e.Entry, e
		p.times++
	} else {
		n.oddErr = append(n.oddErr, e)
	}
}

// deadline tells when something has taken too long that began with this call.
func deadline() func() bool {
	end := time.Now().Add(limit)
	return func() bool { return time.Now().After(end) }
}

// inTime calls f in a goroutine and fails the test if it does not return.
func inTime[T any](t *testing.T, f func() T) (v T) {
	t.Helper()
	c := make(chan T, 1)
	go func() { c <- f() }()
	select {
	case v = <-c:
	case <-time.After(limit):
		buf := make([]byte, 1<<20)
		require.Fail(t, "it does not return", "%s", buf[:runtime.Stack(buf, true)])
	}
	return v
}

// unexpected counts the unexpected messages so far, on all rails.
func (n *node) unexpected() (sum uint64) {
	for _, s := range n.ep.Stats() {
		sum += s.RxUnexpected
	}
	return sum
}

// await drives the endpoint until so many unexpected messages have come in all, the
// last one with a tag.
func (n *node) await(unexpected, last uint64) {
	n.until(func() bool { return n.waits(unexpected, last) })
	if !n.ep.Link().Direct() {
		require.Equal(n.t, unexpected, n.unexpected())
	}
}

// waits tells whether they have come. In direct mode nobody counts them: the last one
// is looked for.
func (n *node) waits(unexpected, last uint64) bool {
	if !n.ep.Link().Direct() {
		return n.unexpected() >= unexpected
	}
	p := &pending{}
	require.NoError(n.t, n.ep.TRecvMsg(&lnx.Msg{Addr: lnx.AddrUnspec, Tag: last, Context: p}, lnx.FlagPeek))
	n.finish(p)
	return p.err == nil
}

// check asserts that a receive got the whole message.
func check(t require.TestingT, p *pending, m message, from lnx.Addr) {
	require.True(t, p.done)
	require.Nil(t, p.err)
	require.Equal(t, m.Size, p.entry.Len)
	require.Equal(t, m.Tag, p.entry.Tag)
	require.Equal(t, from, p.entry.Src)
	flags := m.kind() | lnx.FlagRecv
	if m.HasData {
		flags |= lnx.FlagRemoteCQData
		require.Equal(t, m.Data, p.entry.Data)
	}
	require.Equal(t, flags, p.entry.Flags)
	require.True(t, bytes.Equal(payload(m.Seed, m.Size), p.buf[:m.Size]), "payload of %d bytes", m.Size)
}
