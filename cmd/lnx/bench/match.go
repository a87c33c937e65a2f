package bench

import "golnx/lnx"

// Kinds of receives, by what they name a message by: sender and tag, the sender and
// a range of tags, or the tag whoever sends it.
const (
	KindExact  = "exact"
	KindTag    = "tag"
	KindSource = "source"
)

// Kinds lists them.
var Kinds = []string{KindExact, KindTag, KindSource}

// Numbers stand above the tag bits that receives of KindTag ignore.
const (
	matchIgnored = 1<<matchShift - 1
	matchShift   = 8
)

func init() {
	Register(Test{
		Name:     "match",
		Help:     "half round trip with many receives or messages waiting that do not match",
		Matching: true,
		Times:    true,
		Iters:    latIters,
		Lead: func(e *End, p Params) (r Result, err error) {
			t := newMatch(e, p, tagLead, tagFollow)
			if err = t.begin(); err != nil {
				return r, err
			}
			if err = t.send(p.Unexpected); err != nil {
				return r, err
			}
			if r, err = t.measure(); err != nil {
				return r, err
			}
			if _, err = t.lead(t.total-1, 1, nil); err != nil {
				return r, err
			}
			return r, t.clear()
		},
		Follow: func(e *End, p Params) error {
			t := newMatch(e, p, tagFollow, tagLead)
			if err := t.begin(); err != nil {
				return err
			}
			if err := e.Ready(); err != nil {
				return err
			}
			if err := t.send(p.Unexpected); err != nil {
				return err
			}
			if err := t.follow(); err != nil {
				return err
			}
			return t.clear()
		},
	})
}

// match is a pingPong behind decoys: receives that no measured message matches, or
// unexpected messages that no measured receive matches. They are there at both ends,
// are of the same kind as the measured ones, and meet each other after them.
type match struct {
	*pingPong
	decoys slot // of all their receives
	decoy  slot // of all their sends
}

func newMatch(e *End, p Params, mine, theirs uint64) *match {
	// One more round trip tells that all unexpected messages have arrived, and one
	// at the end that the measured part is over.
	p.Warmup++
	t := &match{pingPong: newPingPong(e, p, mine, theirs)}
	t.total++
	t.shift = matchShift
	switch p.Kind {
	case KindTag:
		t.ignore = matchIgnored
	case KindSource:
		t.from = lnx.AddrUnspec
	}
	return t
}

func (t *match) begin() error {
	if err := t.post(t.p.Posted); err != nil {
		return err
	}
	return t.pingPong.begin()
}

// post posts the receives of n decoys.
func (t *match) post(n int) error {
	for i := range n {
		if err := t.postFrom(&t.decoys, t.from, t.theirs|tagDecoy|uint64(i)<<t.shift, t.ignore); err != nil {
			return err
		}
	}
	return nil
}

// send sends n decoys.
func (t *match) send(n int) error {
	for i := range n {
		for sent := false; !sent; {
			var err error
			if sent, err = t.trySend(&t.decoy, t.mine|tagDecoy|uint64(i)<<t.shift); err != nil {
				return err
			}
			if err := t.listen(); err != nil {
				return err
			}
		}
		if err := t.await(&t.decoy); err != nil {
			return err
		}
	}
	return nil
}

// await waits until nothing has the slot. The first message of the other end may
// come meanwhile.
func (t *match) await(s *slot) error {
	for s.busy > 0 {
		if err := t.listen(); err != nil {
			return err
		}
	}
	return nil
}

// clear lets receives and messages meet.
func (t *match) clear() error {
	if err := t.post(t.p.Unexpected); err != nil {
		return err
	}
	if err := t.send(t.p.Posted); err != nil {
		return err
	}
	return t.await(&t.decoys)
}
