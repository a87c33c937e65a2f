package bench

import (
	"fmt"
	"time"

	"golnx/lnx"
)

func init() {
	Register(Test{
		Name:   "exchange", // of lnx demo
		Window: 16,
		Iters:  func(size int) int { return min(2000, max(10, 1<<24/max(size, 1))) },
		Lead: func(e *End, p Params) (Result, error) {
			start := time.Now()
			if err := exchange(e, p, tagLead, tagFollow, nil); err != nil {
				return Result{}, err
			}
			took := time.Since(start)
			return Result{Key: "seconds", Value: took.Seconds(), Rails: e.railCounts()}, nil
		},
		Follow: func(e *End, p Params) error {
			return exchange(e, p, tagFollow, tagLead, e.Ready)
		},
	})
}

// exchange sends every message of the run and receives as many, both ends at once:
// the following end begins when it hears the first message.
// Nothing holds a fast sender back, so that messages arrive before their receive
// is posted, too. Each message must arrive once, from the other end.
func exchange(e *End, p Params, mine, theirs uint64, ready func() error) error {
	total := p.total()
	out, in := e.newSlots(min(p.Window, total), p.Size), e.newSlots(min(p.Window, total), p.Size)
	arrived := make([]bool, total)
	var free []*slot
	for i := range out {
		free = append(free, &out[i])
		if err := e.post(&in[i], theirs, tagNumber); err != nil {
			return err
		}
	}
	if ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	posted, got, sent := len(in), 0, 0
	for got < total || sent < total || len(free) < len(out) {
		if sent < total && len(free) > 0 && (mine == tagLead || got > 0) {
			s, tag := free[len(free)-1], mine|uint64(sent)
			free = free[:len(free)-1]
			if p.Verify {
				fill(s.buf, tag)
			}
			if err := e.send(s, tag); err != nil {
				return err
			}
			sent++
			continue
		}
		done, err := e.poll()
		if err != nil {
			return err
		}
		for i := range done {
			s := done[i].Context.(*slot)
			if done[i].Flags&lnx.FlagRecv == 0 {
				free = append(free, s)
				continue
			}
			if err := once(arrived, done[i].Tag); err != nil {
				return err
			}
			if err := e.check(&done[i], &p); err != nil {
				return err
			}
			if posted < total {
				posted++
				if err := e.post(s, theirs, tagNumber); err != nil {
					return err
				}
			}
			got++
			if err := e.tell(got); err != nil {
				return err
			}
		}
	}
	return nil
}

// once notes that a message has arrived, and refuses it the second time.
func once(arrived []bool, tag uint64) error {
	n := tag & tagNumber
	if n >= uint64(len(arrived)) {
		return fmt.Errorf("message %#x was never sent", tag)
	}
	if arrived[n] {
		return fmt.Errorf("message %#x arrived twice", tag)
	}
	arrived[n] = true
	return nil
}
