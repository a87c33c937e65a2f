package lnx_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/providers/fierr"
)

// agent is an endpoint in another process, which does what it is told. It drives
// its rails only while it does.
type agent struct {
	*twoproc.Proc
	name []byte
}

// order is one thing to do.
type order struct {
	Do     string
	Choice choice    // open
	Blob   []byte    // insert
	Addr   lnx.Addr  // send, recv, post
	Msgs   []message // send, recv, post, collect
	N, Tag uint64    // await
}

// answer follows each order, when all of it is done.
type answer struct {
	Blob []byte
	Addr lnx.Addr
	Errs []fierr.Errno // of sends: 0 for success
}

var agentRole = twoproc.NewRole("agent", func(c *twoproc.Child) {
	a := acting{c: c}
	for {
		var o order
		if !c.Get(&o) {
			break
		}
		c.Put(a.act(o))
	}
	if a.node != nil {
		require.NoError(c, a.ep.Close())
	}
})

// acting is the agent's own side.
type acting struct {
	*node
	c      *twoproc.Child
	posted []*pending
}

func (a *acting) act(o order) (ans answer) {
	switch o.Do {
	case "open":
		a.node = openNode(a.c, o.Choice.options())
		ans.Blob = a.ep.Name()
	case "insert":
		ans.Addr = a.insert(o.Blob)
	case "send":
		ans.Errs = a.sendAll(o)
	case "post":
		for _, m := range o.Msgs {
			a.posted = append(a.posted, a.postFor(m, o.Addr))
		}
	case "collect":
		a.finish(a.posted...)
		require.Len(a.c, a.posted, len(o.Msgs))
		for i, m := range o.Msgs {
			check(a.c, a.posted[i], m, o.Addr)
		}
		a.posted = nil
	case "recv":
		for _, m := range o.Msgs {
			p := a.postFor(m, o.Addr)
			a.finish(p)
			check(a.c, p, m, o.Addr)
		}
	case "exchange":
		a.exchange(o.Addr, o.Msgs)
	case "await":
		a.await(o.N, o.Tag)
	default:
		require.Fail(a.c, "unknown order", o.Do)
	}
	return ans
}

func (a *acting) sendAll(o order) (errs []fierr.Errno) {
	var all []*pending
	for _, m := range o.Msgs {
		p, err := a.start(o.Addr, m)
		if err != nil {
			e, ok := fierr.Of(err)
			require.True(a.c, ok, err)
			p.done, p.err = true, &lnx.ErrEntry{Err: e}
		}
		all = append(all, p)
	}
	a.finish(all...)
	for i, p := range all {
		errs = append(errs, p.errno())
		if !o.Msgs[i].Inject {
			require.True(a.c, bytes.Equal(payload(o.Msgs[i].Seed, o.Msgs[i].Size), p.buf), "a send changed its buffer")
		}
	}
	return errs
}

// startAgent starts a process with an endpoint in it.
func startAgent(t *testing.T, c choice, life time.Duration) *agent {
	t.Helper()
	a := &agent{Proc: agentRole.Start(t, life)}
	a.name = a.do(order{Do: "open", Choice: c}).Blob
	return a
}

// do has an order carried out.
func (a *agent) do(o order) answer {
	a.Put(o)
	return a.done()
}

// done waits for the end of an order that was Put.
func (a *agent) done() (ans answer) {
	a.Get(&ans)
	return ans
}

// sent waits for the end of a send that was Put, which must succeed.
func (a *agent) sent(t *testing.T) {
	t.Helper()
	for _, e := range a.done().Errs {
		require.Zero(t, e)
	}
}

// meet opens an endpoint here and one in another process that know each other.
func meet(t *testing.T, c choice) (n *node, a *agent, toA, toN lnx.Addr) {
	t.Helper()
	a = startAgent(t, c, 60*time.Second)
	n = newNode(t, c.options())
	toA = n.insert(a.name)
	toN = a.do(order{Do: "insert", Blob: n.ep.Name()}).Addr
	return n, a, toA, toN
}

// during drives the node while the agent is busy, and reads its answer.
func (n *node) during(a *agent) answer {
	got := make(chan answer, 1)
	go func() {
		defer close(got)
		got <- a.done()
	}()
	var ans answer
	ok := false
	n.until(func() bool {
		select {
		case ans, ok = <-got:
			return true
		default:
			return false
		}
	})
	require.True(n.t, ok, "the agent's answer")
	return ans
}

// roundTrip receives a message and sends it back, unless that is refused.
func (n *node) roundTrip(a *agent, toA, toN lnx.Addr, m message) error {
	r := &pending{buf: make([]byte, m.Size)}
	if err := n.ep.TRecv(r.buf, toA, m.Tag, 0, r); err != nil {
		return err
	}
	a.Put(order{Do: "send", Addr: toN, Msgs: []message{m}})
	n.finish(r)
	if r.err != nil {
		return r.err
	}
	check(n.t, r, m, toA)
	n.during(a)
	// The agent has to drive its rails for a message that is the first on its path.
	a.Put(order{Do: "recv", Addr: toN, Msgs: []message{m}})
	p, err := n.start(toA, m)
	if err != nil {
		return err
	}
	n.finish(p)
	if p.err != nil {
		return p.err
	}
	n.during(a)
	return nil
}
