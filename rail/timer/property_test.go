package timer

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Whatever hooks and providers do, every operation that is accepted is a record, or
// counts as dropped, skipped or unfinished, and the caller's context comes back.
func TestEveryOperationCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.SampledFrom([]int{1, 4, 64}).Draw(rt, "slots")
		dir, err := os.MkdirTemp("", "timer")
		require.NoError(rt, err)
		defer os.RemoveAll(dir)
		r, err := New(Config{Dir: dir, OpsMinBytes: 2}, Env{Clock: counting(), slotCount: slots})
		require.NoError(rt, err)
		defer r.Close()

		// between the timer and the provider is a hook that makes a mess
		var after error
		var instead bool
		hooks := []*intercept.Hooks{r.Hooks(), {TSend: func(_ *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error {
			if instead {
				return after
			}
			if err := next(c); err != nil {
				return err
			}
			return after
		}}}
		w := newWorld(t, 1, hooks, "eth0", "eth1")

		type operation struct {
			user, under any
			rail        int
			hidden      bool // the timer knows that it was accepted when it completes
		}
		var live []operation
		var accepted, skipped uint64
		complete := func(op operation) {
			require.Equal(rt, op.user, w.complete(op.rail, op.under, 0), "the context that came back")
			if op.hidden && op.under != op.user {
				accepted++
			}
		}
		serial := 0
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				serial++
				op := operation{user: serial, rail: rapid.IntRange(0, 1).Draw(rt, "rail")}
				size := rapid.IntRange(0, 4).Draw(rt, "bytes")
				c := intercept.Send{Op: intercept.OpTSend, To: w.to[rapid.IntRange(0, 1).Draw(rt, "to")], IOV: [][]byte{make([]byte, size)}, Context: op.user}
				outcome := rapid.SampledFrom([]string{"ok", "ok", "ok", "again", "refused", "within", "replaced", "replaced by an error", "error after", "within, error after"}).Draw(rt, "outcome")
				w.refuse, w.within, after, instead = nil, nil, nil, false
				inProvider := true
				switch outcome {
				case "again":
					w.refuse, inProvider = fierr.Again, false
				case "refused":
					w.refuse, inProvider = fierr.EOther, false
				case "within":
					w.within = func(under any) { op.under = under; complete(op) }
				case "replaced":
					instead = true
				case "replaced by an error":
					instead, after, inProvider = true, errors.New("no"), false
				case "error after":
					after = errors.New("late")
				case "within, error after":
					w.within = func(under any) { op.under = under; complete(op) }
					after = errors.New("late")
				}
				op.hidden = after != nil
				err := w.call(op.rail, &c)
				if !inProvider {
					require.Error(rt, err)
					require.Equal(rt, op.user, c.Context, "the context after an error")
					return
				}
				switch {
				case instead:
					require.NoError(rt, err)
					op.under = c.Context // the layer completes it with what the hooks left
					complete(op)
				case w.within == nil:
					op.under = w.under[len(w.under)-1]
					w.under = w.under[:0]
					live = append(live, op)
				}
				timed := op.under != op.user
				if err == nil {
					accepted++
				}
				if err == nil && size < 2 {
					skipped++
				}
				if size >= 2 && slots == 64 && len(live) < 32 {
					require.True(rt, timed)
				}
			},
			"complete": func(rt *rapid.T) {
				if len(live) == 0 {
					return
				}
				i := rapid.IntRange(0, len(live)-1).Draw(rt, "which")
				complete(live[i])
				live = append(live[:i], live[i+1:]...)
			},
			"flush": func(*rapid.T) { r.Flush() },
		})
		require.NoError(rt, r.Close())
		ops, _, m := recorded(t, r)
		require.Equal(rt, uint64(len(ops)), m.Ops.Recorded)
		require.Equal(rt, accepted, m.Ops.Recorded+m.Ops.Dropped+m.Ops.Skipped+m.Ops.Unfinished, "%+v of %d", m.Ops, accepted)
		require.Equal(rt, skipped, m.Ops.Skipped)
		require.LessOrEqual(rt, m.Ops.Unfinished, uint64(len(live)))
		for _, op := range ops {
			require.Less(rt, op.Start, op.End)
		}
	})
}
