package bench

import (
	"time"

	"golnx/lnx"
)

// A stream is messages in one direction. The receiver has as many receives posted
// as the window has places, and says with an empty message when half of it has
// arrived; the sender has at most the window's messages unacknowledged. So every
// message meets a posted receive, and the sender waits only for a slow receiver.

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

// source is the leading end of a stream.
type source struct {
	*End
	p           Params
	out         []slot
	free        []*slot
	acks        [2]slot
	posted      int // receives of acknowledgements
	covered     int // messages that those cover
	sent, acked int // messages
}

func newSource(e *End, p Params) *source {
	s := &source{End: e, p: p, out: newSlots(min(p.Window, p.total()), p.Size)}
	for i := range s.out {
		fill(s.out[i].buf, tagLead)
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

// leadStream measures how long Params.Iters messages take.
func leadStream(e *End, p Params) (time.Duration, []RailCount, error) {
	s := newSource(e, p)
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
	return time.Since(start), e.railCounts(), nil
}

// postAck posts the receive of one more acknowledgement, if there is one to come.
func (s *source) postAck(in *slot) error {
	if s.covered == s.p.total() {
		return nil
	}
	s.covered = nextAck(s.covered, &s.p)
	s.posted++
	return s.post(in, tagFollow|uint64(s.posted-1), false)
}

// run sends until the first end messages are acknowledged and all sends are over.
func (s *source) run(end int) error {
	for s.acked < end || len(s.free) < len(s.out) {
		for s.sent < end && s.sent-s.acked < s.p.Window && len(s.free) > 0 {
			if err := s.next(); err != nil {
				return err
			}
		}
		done, err := s.poll()
		if err != nil {
			return err
		}
		for i := range done {
			used := done[i].Context.(*slot)
			if done[i].Flags&lnx.FlagRecv == 0 {
				s.free = append(s.free, used)
				continue
			}
			s.acked = nextAck(s.acked, &s.p)
			if err := s.postAck(used); err != nil {
				return err
			}
		}
	}
	return nil
}

// next sends one message.
func (s *source) next() error {
	out := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	tag := tagLead | uint64(s.sent)
	if s.p.Verify {
		fill(out.buf, tag)
	}
	s.sent++
	if err := s.send(out, tag); err != nil {
		return err
	}
	return s.tell(s.sent)
}

// followStream is the receiving end.
func followStream(e *End, p Params) error {
	total := p.total()
	in := newSlots(min(p.Window, total), p.Size)
	for i := range in {
		if err := e.post(&in[i], tagLead, true); err != nil {
			return err
		}
	}
	if err := e.Ready(); err != nil {
		return err
	}
	var ack slot
	posted, got, acked, acks := len(in), 0, 0, 0
	for got < total {
		done, err := e.poll()
		if err != nil {
			return err
		}
		for i := range done {
			if done[i].Flags&lnx.FlagRecv == 0 {
				continue
			}
			if err := e.check(&done[i], &p); err != nil {
				return err
			}
			if posted < total {
				posted++
				if err := e.post(done[i].Context.(*slot), tagLead, true); err != nil {
					return err
				}
			}
			got++
			if err := e.tell(got); err != nil {
				return err
			}
		}
		for next := nextAck(acked, &p); acked < total && next <= got; next = nextAck(acked, &p) {
			if err := e.send(&ack, tagFollow|uint64(acks)); err != nil {
				return err
			}
			acked = next
			acks++
		}
	}
	return e.settle(&ack)
}
