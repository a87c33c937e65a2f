package mr_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers"
)

var errInjected = errors.New("injected")

// TestFailEveryCall makes call 0 of the domains fail, then 1, 2 and so on, until the
// scenario gets through. Whatever fails, what the scenario got says so, nothing is done
// against fi_mr(3), and closing again ends what was left.
func TestFailEveryCall(t *testing.T) {
	const mode = rawMode | providers.MREndpoint
	buf := alloc(t, 3*4096)
	failed := map[string]int{}
	for n := 0; ; n++ {
		w := &world{domains: newDomains(mode, mode)}
		calls, injected := 0, 0
		for _, d := range w.domains {
			d.Fail = func(call string) error {
				if calls++; calls-1 == n {
					failed[call]++
					injected++
					return errInjected
				}
				return nil
			}
		}
		var err error
		w.Manager, err = mr.New(mr.Options{MaxEntries: 1, Rails: []mr.Rail{
			{Name: "a", Registrar: w.domains[0]}, {Name: "b", Registrar: w.domains[1], Entry: 1},
		}})
		require.NoError(t, err)

		errs := failScenario(w, buf)
		if err := w.Close(); err != nil {
			errs = append(errs, err)
			require.NoError(t, w.Close(), "the second try")
		}
		w.requireClean(t)
		if injected == 0 {
			require.Empty(t, errs)
			break
		}
		// An eviction has nobody to tell.
		require.Equal(t, 1, len(errs)+int(w.Stats().Failed)-countFailed(errs), "call %d: %v", n, errs)
		for _, err := range errs {
			require.ErrorIs(t, err, errInjected)
		}
	}
	for _, call := range []string{"fi_mr_regattr", "fi_mr_bind", "fi_mr_enable", "fi_close", "fi_mr_raw_attr", "fi_mr_map_raw", "fi_mr_unmap_key"} {
		require.NotZero(t, failed[call], "%s was never made to fail", call)
	}
	require.Greater(t, failed["fi_close"], 3)
}

// countFailed is how many of the errors are of registrations that could not be closed,
// which Stats.Failed counts, too.
func countFailed(errs []error) (n int) {
	for _, err := range errs {
		if errors.Is(err, errInjected) && contains(err, "close a registration") {
			n++
		}
	}
	return n
}

// failScenario goes on after errors and answers them.
func failScenario(w *world, buf []byte) (errs []error) {
	note := func(err error) bool {
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	}
	for i := range 3 { // with evictions
		if l, err := w.Acquire(i%2, buf[i*4096:(i+1)*4096], mr.Send); note(err) {
			w.Release(l)
		}
	}
	r, err := w.Register(buf, mr.Write|mr.RemoteWrite)
	if !note(err) {
		return errs
	}
	if key, err := r.RemoteKey(); note(err) {
		remote := w.Import(key)
		_, _, err = remote.At(1, 0, 0, 1, mr.RemoteWrite)
		note(err)
		if !note(remote.Close()) {
			note(remote.Close())
		}
	}
	if l, err := w.AcquireRegion(r, 1, 0, 10, mr.Write); note(err) {
		w.Release(l)
	}
	if !note(r.Close()) {
		note(r.Close())
	}
	return errs
}

// Memory whose registration cannot be closed is not given back.
func TestFreeOfWhatCannotBeClosed(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	b, err := mr.Alloc(4096)
	require.NoError(t, err)
	w.Release(w.acquire(t, 0, b.Bytes(), mr.Send))
	w.domains[0].Fail = failing("fi_close", errInjected)
	require.ErrorIs(t, b.Free(), mr.ErrBusy)
	require.NotNil(t, b.Bytes())
	require.EqualValues(t, 1, w.Stats().Failed)
	require.Error(t, w.Close())
	require.ErrorIs(t, b.Free(), mr.ErrBusy, "closed, and still not gone")
	w.domains[0].Fail = nil
	require.NoError(t, w.Close())
	require.NoError(t, b.Free())
}

// A registration that can neither be bound nor closed is in nobody's way for good.
func TestHalfMadeRegistration(t *testing.T) {
	w := newWorld(t, mr.Options{}, cxiMode)
	r := w.register(t, alloc(t, 4096), mr.RemoteRead)
	fail := map[string]bool{"fi_mr_bind": true, "fi_close": true}
	w.domains[0].Fail = func(call string) error {
		if fail[call] {
			return errInjected
		}
		return nil
	}
	for range 2 {
		_, err := r.On(0)
		require.ErrorIs(t, err, errInjected)
		require.Equal(t, []int{1}, w.live(), "not a second one beside it")
	}
	fail["fi_close"] = false
	_, err := r.On(0)
	require.ErrorContains(t, err, "bind")
	require.Equal(t, []int{0}, w.live())
	fail["fi_mr_bind"] = false
	_, err = r.On(0)
	require.NoError(t, err)
	require.Equal(t, []int{1}, w.live())
	require.NoError(t, r.Close())
}
