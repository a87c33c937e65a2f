package bench

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golnx/mr"
	"golnx/mr/mrtest"
	"golnx/providers"
)

func init() {
	Register(Test{
		Name: "reg", Op: OpWrite, MinSize: 1, MaxSize: MaxSize / regRanges, Iters: func(int) int { return 1_000_000 },
		Help: "how long it takes to find a buffer's registration in the cache", Alone: true,
		Lead: leadReg, Follow: func(e *End, _ Params) error { return e.Ready() },
	})
}

// regRanges is how many ranges are registered, as in cbench.
const regRanges = 1024

// leadReg finds ranges in a full cache, in an order that the processor does not foresee.
// The domain is not a rail's, none of which needs it at hand; a hit does not ask it.
func leadReg(e *End, p Params) (result Result, err error) {
	domain := mrtest.New(providers.MRLocal | providers.MRVirtAddr)
	m, err := mr.New(mr.Options{
		Rails: []mr.Rail{{Name: "none", Registrar: domain}}, MaxEntries: regRanges, MaxBytes: MaxSize,
	})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	alloc := mr.Alloc
	if p.Huge {
		alloc = mr.AllocHuge
	}
	buf, err := alloc(regRanges * p.Size)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, buf.Free()) }()
	next := uint32(1)
	find := func(n int) error {
		for range n {
			next = next*1664525 + 1013904223
			at := int(next>>22) * p.Size
			l, err := m.AcquireLocked(0, buf.Bytes()[at:at+p.Size], mr.Write)
			if err != nil {
				return err
			}
			m.ReleaseLocked(l)
		}
		return nil
	}
	for i := range regRanges {
		l, err := m.AcquireLocked(0, buf.Bytes()[i*p.Size:][:p.Size], mr.Write)
		if err != nil {
			return Result{}, err
		}
		m.ReleaseLocked(l)
	}
	if err := find(p.Warmup); err != nil {
		return Result{}, err
	}
	e.mark()
	before, start := m.Stats(), time.Now()
	if err := find(p.Iters); err != nil {
		return Result{}, err
	}
	took := time.Since(start)
	if hits := m.Stats().Hits - before.Hits; hits != uint64(p.Iters) {
		return Result{}, fmt.Errorf("%d of %d ranges were found in the cache", hits, p.Iters)
	}
	ns := math.Round(float64(took)/float64(p.Iters)*100) / 100
	return Result{Key: "reg_ns", Value: ns, Rails: e.railCounts(), Took: took, Cells: []Cell{{"registration [ns]", fmt.Sprintf("%.1f", ns)}}}, nil
}
