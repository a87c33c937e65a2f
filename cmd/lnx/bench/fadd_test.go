package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
)

// Verification finds additions that are lost, at the target, and numbers that are fetched
// twice, where they arrive.
func TestVerifyFindsWrongSums(t *testing.T) {
	for want, bad := range map[string]func(r *remote, s *slot, n int) error{
		"the number is 1 after 4 additions of 1": func(r *remote, s *slot, n int) error {
			if n == 0 {
				return fadd.start(r, s, n)
			}
			return r.EP.Read(s.buf, r.far, 0, s)
		},
		"as another did": func(r *remote, s *slot, n int) error {
			if n != 6 {
				return fadd.start(r, s, n)
			}
			return r.EP.FetchAtomic(nil, s.buf, r.far, 0, lnx.Uint64, lnx.AtomicRead, s)
		},
	} {
		t.Run(want, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			lead, follow := pairOfEnds(t, ctx, limit)
			follow.limit = 50 * time.Millisecond
			op := *fadd
			op.start = bad
			if want[0] == 't' {
				op.after = nil // which would find it first
			}
			p := Params{Test: "rate", Op: OpFAdd, Size: 8, Iters: 16, Window: 4, Verify: true}
			errs := make(chan error)
			go func() { errs <- followRemoteStream(follow, p, fadd) }()
			go func() { _, _, err := leadRemoteStream(lead, p, &op); errs <- err }()
			found := <-errs
			cancel()
			require.ErrorIs(t, <-errs, context.Canceled)
			require.ErrorContains(t, found, want)
		})
	}
}
