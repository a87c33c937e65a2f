package lnx_test

import (
	"golnx/lnx"
	"golnx/providers/fierr"
)

// lane is a pair of endpoints with one message at a time between them, and allocates
// nothing of its own.
type lane struct {
	a, b     *node
	toB, toA lnx.Addr
	entries  [4]lnx.Entry
	ctx      any
}

func (l *lane) read(n *node) int {
	k, err := n.ep.CQ().Read(l.entries[:])
	if err != nil && err != fierr.Again {
		panic(err)
	}
	return k
}

// send sends with data, or without, and drives the receiver meanwhile.
func (l *lane) send(buf []byte, tag uint64, data bool) {
	err := fierr.Again
	for err == fierr.Again {
		l.read(l.b)
		if data {
			err = l.a.ep.TSendData(buf, 5, l.toB, tag, l.ctx)
		} else {
			err = l.a.ep.TSend(buf, l.toB, tag, l.ctx)
		}
	}
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// finish waits for so many completions of each side.
func (l *lane) finish(sends, recvs int) {
	for sends > 0 || recvs > 0 {
		sends -= l.read(l.a)
		recvs -= l.read(l.b)
	}
}

// msend is send for an untagged message.
func (l *lane) msend(buf []byte, data bool) {
	err := fierr.Again
	for err == fierr.Again {
		l.read(l.b)
		if data {
			err = l.a.ep.MSendData(buf, 5, l.toB, l.ctx)
		} else {
			err = l.a.ep.MSend(buf, l.toB, l.ctx)
		}
	}
	must(err)
}
