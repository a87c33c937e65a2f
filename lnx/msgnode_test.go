package lnx_test

import (
	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// kind is the flag of a message's completions.
func (m message) kind() lnx.Flags {
	if m.Untagged {
		return lnx.FlagMsg
	}
	return lnx.FlagTagged
}

// startMsg is startOnce for an untagged message.
func (n *node) startMsg(to lnx.Addr, m message, p *pending) (err error) {
	switch {
	case m.Inject && m.HasData:
		err = n.ep.MInjectData(p.buf, m.Data, to)
	case m.Inject:
		err = n.ep.MInject(p.buf, to)
	case m.Parts > 0 && m.HasData:
		return n.ep.MSendMsg(&lnx.Msg{IOV: split(p.buf, m.Parts), Addr: to, Data: m.Data, Context: p}, lnx.FlagCompletion|lnx.FlagRemoteCQData)
	case m.Parts > 0:
		return n.ep.MSendV(split(p.buf, m.Parts), to, p)
	case m.HasData:
		return n.ep.MSendData(p.buf, m.Data, to, p)
	default:
		return n.ep.MSend(p.buf, to, p)
	}
	if err == nil {
		p.done = true // an inject has no completion
		clear(p.buf)  // and does not need its buffer any more
	}
	return err
}

// mpost posts a receive for an untagged message.
func (n *node) mpost(size int, from lnx.Addr) *pending {
	p := &pending{buf: make([]byte, size)}
	require.NoError(n.t, n.ep.MRecv(p.buf, from, p))
	return p
}

// postFor posts the receive of a message.
func (n *node) postFor(m message, from lnx.Addr) *pending {
	if m.Untagged {
		return n.mpost(m.Size, from)
	}
	return n.post(m.Size, from, m.Tag, 0)
}

// mrecv receives one untagged message.
func (n *node) mrecv(m message, from lnx.Addr) *pending {
	p := n.postFor(m, from)
	n.finish(p)
	return p
}

// couple is two nodes of this process that know each other.
type couple struct {
	a, b     *node
	toB, toA lnx.Addr
}

// both drives both until cond holds.
func (c *couple) both(cond func() bool) {
	c.a.until(func() bool { c.b.poll(); return cond() })
}

// send starts a message from a to b.
func (c *couple) send(m message) *pending {
	p := &pending{buf: payload(m.Seed, m.Size)}
	c.both(func() bool { return c.a.startOnce(c.toB, m, p) == nil })
	return p
}

// arrive sends an untagged message that meets no receive.
func (c *couple) arrive(m message) *pending {
	before := c.b.unexpected()
	p := c.send(m)
	c.both(func() bool { return c.b.unexpected() > before })
	return p
}
