package rail_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
)

func TestParsePolicy(t *testing.T) {
	for _, name := range policies {
		got, err := rail.ParsePolicy(name)
		require.NoError(t, err)
		require.Equal(t, name, got)
		got, err = rail.ParsePolicy(strings.ToLower(name))
		require.NoError(t, err)
		require.Equal(t, name, got)
	}
	got, err := rail.ParsePolicy("")
	require.NoError(t, err)
	require.Equal(t, rail.PerPeer, got)
	for _, bad := range []string{"PER_", "per_", "PER_Mſg", " PER_MSG", "PER_MSG,PER_PEER"} {
		_, err := rail.ParsePolicy(bad)
		require.ErrorIs(t, err, rail.ErrUnknownPolicy, bad)
		require.ErrorContains(t, err, `"`+bad+`": known are `)
		for _, name := range rail.Policies() {
			require.ErrorContains(t, err, name)
		}
	}
}

// bad answers a fixed path, usable or not, and counts what it hears.
type bad struct{ path, heard int }

func (b *bad) Pick(*rail.Rails, *rail.Peer, rail.Call) (int, rail.Why) { return b.path, rail.Why{} }
func (b *bad) Heard(*rail.Rails, *rail.Peer, int)                      { b.heard++ }
func (*bad) Explain(*rail.Rails, *rail.Peer, rail.Why) string          { return "because" }
func (*bad) Ordered() bool                                             { return true }

func TestRegisterPolicyRefuses(t *testing.T) {
	make := func([]rail.Info, rail.Options) (rail.Policy, error) { return &bad{}, nil }
	for _, name := range []string{"", "per_mine", "A-B", "Ä", "A B"} {
		require.ErrorContains(t, rail.RegisterPolicy(name, make), "use capitals, digits and _")
	}
	require.EqualError(t, rail.RegisterPolicy("NONE", nil), "rail: policy NONE: the factory is nil")
	require.EqualError(t, rail.RegisterPolicy(rail.PerMsg, make), "rail: policy PER_MSG is registered already: choose another name")
}

func TestFactoryThatFails(t *testing.T) {
	want := errors.New("no NIC to my liking")
	require.NoError(t, rail.RegisterPolicy("FUSSY", func([]rail.Info, rail.Options) (rail.Policy, error) { return nil, want }))
	_, err := rail.NewSelector(nics(1), rail.Options{Policy: "FUSSY"})
	require.ErrorIs(t, err, want)
	require.NoError(t, rail.RegisterPolicy("EMPTY", func([]rail.Info, rail.Options) (rail.Policy, error) { return nil, nil }))
	_, err = rail.NewSelector(nics(1), rail.Options{Policy: "EMPTY"})
	require.EqualError(t, err, "rail: policy EMPTY: its factory answered nil without an error")
}

// A user's policy cannot send over what is down or does not exist.
func TestBadPicksAreErrors(t *testing.T) {
	b := &bad{}
	require.NoError(t, rail.RegisterPolicy("BAD", func([]rail.Info, rail.Options) (rail.Policy, error) { return b, nil }))
	s := selector(t, nics(2), rail.Options{Policy: "BAD"})
	p := peer(t, s, 3, paths(1, 0, 1))
	require.Equal(t, "peer 3: rail 0 (cxi:cxi0), address 0: BAD: because", s.Explain(p, pick(t, s, p)))
	s.Heard(p, rail.Path{Rail: 0})
	s.Heard(p, rail.Path{Rail: 1})
	require.Equal(t, 1, b.heard, "only the first message of a peer is told")
	require.NoError(t, s.SetHealth(0, rail.Down))
	for _, b.path = range []int{0, 2, -1, 1 << 40} {
		_, err := s.Pick(p, rail.Call{})
		require.ErrorIs(t, err, rail.ErrBadPick)
		require.ErrorContains(t, err, "policy BAD")
	}
	require.NoError(t, s.SetHealth(1, rail.Down))
	_, err := s.Pick(p, rail.Call{})
	require.ErrorIs(t, err, rail.ErrAllDown)
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	var won int
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			err := rail.RegisterPolicy("CONTENDED", func([]rail.Info, rail.Options) (rail.Policy, error) { return &bad{}, nil })
			if err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
			_, _ = rail.ParsePolicy("CONTENDED")
			_ = rail.Policies()
		})
	}
	wg.Wait()
	require.Equal(t, 1, won)
	require.Contains(t, rail.Policies(), "CONTENDED")
}

func TestBuiltIn(t *testing.T) {
	for _, name := range policies {
		require.True(t, rail.BuiltIn(name), name)
	}
	require.NoError(t, rail.RegisterPolicy("NOT_BUILT_IN", func([]rail.Info, rail.Options) (rail.Policy, error) {
		return nil, errors.New("it is not to be made")
	}))
	require.False(t, rail.BuiltIn("NOT_BUILT_IN"))
	require.False(t, rail.BuiltIn("UNKNOWN"))
}
