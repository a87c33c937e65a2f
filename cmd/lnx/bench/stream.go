package bench

import (
	"time"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// A stream is messages in one direction, or in both at once (Params.Both). Its
// receiver has as many receives posted as the window has places, and says with an
// empty message when half of it has arrived; its sender has at most the window's
// messages unacknowledged. So every message meets a posted receive, and the sender
// waits only for a slow receiver.

// nextAck answers how many messages are covered by the acknowledgement that follows
// the one of the first n. The last of the warm-up and of the run have one.
func nextAck(n int, p *Params) int {
	every := max(1, p.Window/2)
	next := (n/every + 1) * every
	if n < p.Warmup {
		next = min(next, p.Warmup)
	}
	return min(next, p.total())
}

// stream is one end: the sending part, the receiving part, or both.
type stream struct {
	*End
	out *source
	in  *sink
}

func newStream(e *End, p Params, mine, theirs uint64, leads bool) *stream {
	s := &stream{End: e}
	if leads || p.Both {
		s.out = newSource(e, p, mine, theirs)
	}
	if !leads || p.Both {
		s.in = newSink(e, p, mine, theirs)
	}
	return s
}

// begin posts the first receives.
func (s *stream) begin() error {
	if s.in != nil {
		if err := s.in.begin(); err != nil {
			return err
		}
	}
	if s.out != nil {
		return s.out.begin()
	}
	return nil
}

// run goes on until the first end messages are sent and acknowledged, and those of
// the other direction received.
func (s *stream) run(end int) error {
	for {
		if s.out != nil {
			if err := s.out.fill(end); err != nil {
				return err
			}
		}
		if s.over(end) {
			return nil
		}
		done, err := s.poll()
		if err != nil {
			return err
		}
		for i := range done {
			if err := s.take(&done[i]); err != nil {
				return err
			}
		}
		if s.in != nil {
			if err := s.in.postBatch(); err != nil {
				return err
			}
			if err := s.in.acknowledge(end); err != nil {
				return err
			}
		}
	}
}

func (s *stream) over(end int) bool {
	return (s.out == nil || s.out.over(end)) && (s.in == nil || s.in.acked >= end)
}

// take gives a completion to the part that it belongs to.
func (s *stream) take(c *lnx.Entry) error {
	if c.Flags&lnx.FlagRecv == 0 {
		if used := c.Context.(*slot); s.in == nil || used != &s.in.ack {
			s.out.free = append(s.out.free, used)
		}
		return nil
	}
	if c.Tag&tagAck != 0 {
		return s.out.acknowledged(c)
	}
	return s.in.take(c)
}

// settle waits for the last acknowledgement to be sent.
func (s *stream) settle() error {
	if s.in == nil {
		return nil
	}
	return s.End.settle(&s.in.ack)
}

// source is the sending part of a stream.
type source struct {
	*End
	p           Params
	tag, ackTag uint64
	out         []slot
	free        []*slot
	acks        [2]slot
	posted      int // receives of acknowledgements
	covered     int // messages that those cover
	sent, acked int // messages
	batch       []lnx.Msg
}

func newSource(e *End, p Params, mine, theirs uint64) *source {
	s := &source{End: e, p: p, tag: mine, ackTag: theirs | tagAck, out: e.newMessages(min(p.Window, p.total()), &p)}
	for i := range s.out {
		fill(s.out[i].buf, mine)
		s.free = append(s.free, &s.out[i])
	}
	return s
}

// begin posts the receives of the first acknowledgements.
func (s *source) begin() error {
	for i := range s.acks {
		if err := s.postAck(&s.acks[i]); err != nil {
			return err
		}
	}
	return nil
}

// postAck posts the receive of one more acknowledgement, if there is one to come.
func (s *source) postAck(in *slot) error {
	if s.covered == s.p.total() {
		return nil
	}
	s.covered = nextAck(s.covered, &s.p)
	s.posted++
	return s.post(in, s.ackTag|uint64(s.posted-1), 0)
}

// fill sends while the window has room.
func (s *source) fill(end int) error {
	if s.p.Batch > 0 {
		return s.fillBatches(end)
	}
	for s.sent < end && s.sent-s.acked < s.p.Window && len(s.free) > 0 {
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// next sends one message.
func (s *source) next() error {
	out := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	tag := s.tag | uint64(s.sent)
	if s.p.Verify {
		fill(out.buf, tag)
	}
	s.sent++
	if err := s.send(out, tag); err != nil {
		return err
	}
	return s.tell(s.sent)
}

// fillBatches is fill with several messages to a call.
func (s *source) fillBatches(end int) error {
	for {
		n := min(s.p.Batch, end-s.sent, s.p.Window-(s.sent-s.acked), len(s.free))
		if n <= 0 {
			return nil
		}
		s.batch = s.batch[:0]
		for i := range n {
			out := s.free[len(s.free)-1-i]
			tag := s.tag | uint64(s.sent+i)
			if s.p.Verify {
				fill(out.buf, tag)
			}
			out.iov[0] = out.buf
			s.batch = append(s.batch, lnx.Msg{IOV: out.iov[:], Addr: s.Peer, Tag: tag, Context: out})
		}
		sent, err := s.EP.TSendBatch(s.batch, lnx.FlagCompletion)
		for i := range sent {
			s.batch[i].Context.(*slot).busy++
		}
		s.free = s.free[:len(s.free)-sent]
		for range sent {
			s.sent++
			if err := s.tell(s.sent); err != nil {
				return err
			}
		}
		if err == fierr.Again { // as at first, until the ends are connected
			err = s.rest()
		}
		if err != nil {
			return err
		}
	}
}

func (s *source) acknowledged(c *lnx.Entry) error {
	s.acked = nextAck(s.acked, &s.p)
	return s.postAck(c.Context.(*slot))
}

// over says whether the first end messages are acknowledged and all sends are over.
func (s *source) over(end int) bool { return s.acked >= end && len(s.free) == len(s.out) }

// sink is the receiving part of a stream.
type sink struct {
	*End
	p             Params
	tag, ackTag   uint64
	in            []slot
	ack           slot
	posted, got   int
	acked, nAcked int // messages, acknowledgements
	batch         []lnx.Msg
}

func newSink(e *End, p Params, mine, theirs uint64) *sink {
	return &sink{End: e, p: p, tag: theirs, ackTag: mine | tagAck, in: e.newMessages(min(p.Window, p.total()), &p)}
}

func (s *sink) begin() error {
	for s.posted < len(s.in) {
		if err := s.postNext(&s.in[s.posted]); err != nil {
			return err
		}
	}
	return s.postBatch()
}

// postNext posts the next receive of the run, or notes it for postBatch.
func (s *sink) postNext(in *slot) error {
	s.posted++
	tag := s.tag | uint64(s.posted-1)
	if s.p.Batch == 0 {
		return s.post(in, tag, tagNumber)
	}
	in.iov[0] = in.buf
	s.batch = append(s.batch, lnx.Msg{IOV: in.iov[:], Addr: s.Peer, Tag: tag, Ignore: tagNumber, Context: in})
	return nil
}

// postBatch posts what postNext has noted.
func (s *sink) postBatch() error {
	rest := s.batch
	for len(rest) > 0 {
		n, err := s.EP.TRecvBatch(rest[:min(len(rest), s.p.Batch)], lnx.FlagCompletion)
		for i := range n {
			rest[i].Context.(*slot).busy++
		}
		rest = rest[n:]
		if err != nil {
			return err
		}
	}
	s.batch = s.batch[:0]
	return nil
}

// take checks a message and posts its buffer again, if there are more to come.
func (s *sink) take(c *lnx.Entry) error {
	if err := s.check(c, &s.p); err != nil {
		return err
	}
	if s.posted < s.p.total() {
		if err := s.postNext(c.Context.(*slot)); err != nil {
			return err
		}
	}
	s.got++
	return s.tell(s.got)
}

// acknowledge says what has arrived of the first end messages.
func (s *sink) acknowledge(end int) error {
	for s.acked < end {
		next := nextAck(s.acked, &s.p)
		if next > s.got {
			return nil
		}
		if err := s.send(&s.ack, s.ackTag|uint64(s.nAcked)); err != nil {
			return err
		}
		s.acked = next
		s.nAcked++
	}
	return nil
}

// leadStream measures how long Params.Iters messages take, each way.
func leadStream(e *End, p Params) (time.Duration, []RailCount, error) {
	s := newStream(e, p, tagLead, tagFollow, true)
	if err := s.begin(); err != nil {
		return 0, nil, err
	}
	if err := s.run(p.Warmup); err != nil {
		return 0, nil, err
	}
	e.mark()
	start := time.Now()
	if err := s.run(p.total()); err != nil {
		return 0, nil, err
	}
	took := time.Since(start)
	return took, e.railCounts(), s.settle()
}

// followStream is the other end.
func followStream(e *End, p Params) error {
	s := newStream(e, p, tagFollow, tagLead, false)
	if err := s.begin(); err != nil {
		return err
	}
	if err := e.Ready(); err != nil {
		return err
	}
	for _, end := range []int{p.Warmup, p.total()} {
		if err := s.run(end); err != nil {
			return err
		}
	}
	return s.settle()
}
