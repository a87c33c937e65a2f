package rail_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/rail"
)

// op is one step of a random run.
type op struct {
	peer   int
	numa   int
	heard  bool // else a send
	rail   int
	health rail.Health
	change bool // set health of rail, else the above
}

type world struct {
	rails  []rail.Info
	policy string
	seed   uint64
	paths  [][]rail.Path
	ops    []op
}

func drawWorld(t *rapid.T) world {
	w := world{
		policy: rapid.SampledFrom(policies).Draw(t, "policy"),
		seed:   rapid.Uint64Range(0, 20).Draw(t, "seed"),
	}
	speeds := rapid.SliceOfN(rapid.SampledFrom([]uint64{0, 1, 100, 200, 400}), 1, 4).Draw(t, "speeds")
	n := rapid.IntRange(1, 6).Draw(t, "rails")
	w.rails = nics(n, speeds...)
	if rapid.Bool().Draw(t, "shm") {
		w.rails = append(w.rails, shm())
	}
	for range rapid.IntRange(1, 4).Draw(t, "peers") {
		reach := rapid.SliceOfNDistinct(rapid.IntRange(0, len(w.rails)-1), 1, len(w.rails), rapid.ID[int]).Draw(t, "reach")
		w.paths = append(w.paths, paths(rapid.IntRange(1, 3).Draw(t, "addresses"), reach...))
	}
	w.ops = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		return op{
			peer:   rapid.IntRange(0, len(w.paths)-1).Draw(t, "peer"),
			numa:   rapid.IntRange(-1, 2).Draw(t, "numa"),
			heard:  rapid.IntRange(0, 7).Draw(t, "heard") == 0,
			change: rapid.IntRange(0, 7).Draw(t, "change") == 0,
			rail:   rapid.IntRange(0, len(w.rails)-1).Draw(t, "rail"),
			health: rapid.SampledFrom([]rail.Health{rail.Up, rail.Suspect, rail.Down}).Draw(t, "health"),
		}
	}), 1, 60).Draw(t, "ops")
	return w
}

// answer is what a send came to; health is that of the rails at the time.
type answer struct {
	op
	ch     rail.Choice
	err    error
	health []rail.Health
}

func (w world) run(t require.TestingT) []answer {
	s, err := rail.NewSelector(w.rails, rail.Options{Policy: w.policy, Seed: w.seed})
	require.NoError(t, err)
	peers := make([]rail.Peer, len(w.paths))
	for i := range peers {
		peers[i], err = s.NewPeer(uint64(i), w.paths[i])
		require.NoError(t, err)
	}
	health := make([]rail.Health, len(w.rails))
	var all []answer
	for _, o := range w.ops {
		switch {
		case o.change:
			require.NoError(t, s.SetHealth(o.rail, o.health))
			health[o.rail] = o.health
		case o.heard:
			s.Heard(&peers[o.peer], rail.Path{Rail: o.rail})
			all = append(all, answer{op: o, health: slices.Clone(health)})
		default:
			ch, err := s.Pick(&peers[o.peer], rail.Call{NUMA: o.numa})
			if err == nil {
				require.NotContains(t, s.Explain(&peers[o.peer], ch), "\n")
			}
			all = append(all, answer{o, ch, err, slices.Clone(health)})
		}
	}
	return all
}

// rule checks one answered send that the policy decided. reach lists the rails
// that reach the peer, fresh those of the best health among them, and history
// what was answered for the peer before.
type rule func(t require.TestingT, w world, a answer, reach, fresh []int, history []answer)

// The rules say again, without state, what each policy promises.
var rules = map[string]rule{
	rail.PerPeer: func(t require.TestingT, w world, a answer, _, fresh []int, history []answer) {
		// The latest decision, or else the first heard path that could be
		// answered then.
		for _, h := range slices.Backward(history) {
			if !h.heard && h.err == nil && !h.ch.Local {
				if a.health[h.ch.Rail] != rail.Down {
					require.Equal(t, h.ch.Path, a.ch.Path, "pinned")
				} else {
					require.Contains(t, fresh, a.ch.Rail)
				}
				return
			}
		}
		for _, h := range history {
			path := rail.Path{Rail: h.rail}
			if !h.heard || h.health[h.rail] == rail.Down || !slices.Contains(w.paths[a.peer], path) {
				continue
			}
			if !w.rails[h.rail].NodeLocal && a.health[h.rail] != rail.Down {
				require.Equal(t, path, a.ch.Path, "first heard")
				return
			}
			break
		}
		require.Contains(t, fresh, a.ch.Rail)
	},
	rail.PerMsg: func(t require.TestingT, w world, a answer, reach, fresh []int, history []answer) {
		require.Contains(t, fresh, a.ch.Rail)
		for _, h := range slices.Backward(history) {
			if !h.heard && h.err == nil && !h.ch.Local {
				at := slices.Index(reach, h.ch.Rail)
				for {
					at = (at + 1) % len(reach)
					if slices.Contains(fresh, reach[at]) {
						break
					}
				}
				require.Equal(t, reach[at], a.ch.Rail, "the next usable rail")
				return
			}
		}
	},
	rail.Weighted: func(t require.TestingT, _ world, a answer, _, fresh []int, _ []answer) {
		require.Contains(t, fresh, a.ch.Rail)
	},
	rail.Nearest: func(t require.TestingT, w world, a answer, _, fresh []int, history []answer) {
		if !slices.Contains(fresh, a.ch.Rail) {
			require.True(t, slices.ContainsFunc(history, func(h answer) bool { return !h.heard && h.err == nil && h.ch.Rail == a.ch.Rail }),
				"a suspect rail is kept, not taken anew")
		}
		near := func(i int) bool { return a.numa == w.rails[i].NUMA }
		for _, i := range fresh {
			if a.numa >= 0 && near(i) != near(a.ch.Rail) {
				require.True(t, near(a.ch.Rail), "rail %d is nearer", i)
				continue
			}
			require.GreaterOrEqual(t, w.rails[a.ch.Rail].Speed, w.rails[i].Speed, "rail %d is as near and faster", i)
		}
	},
}

func TestPoliciesKeepTheirRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		answers := w.run(t)
		require.Equal(t, answers, w.run(t), "the same run twice")
		for i, a := range answers {
			if a.heard {
				continue
			}
			var reach []int
			for _, path := range w.paths[a.peer] {
				reach = append(reach, path.Rail)
			}
			slices.Sort(reach)
			reach = slices.Compact(reach)
			best := rail.Down
			for _, r := range reach {
				best = min(best, a.health[r])
			}
			if best == rail.Down {
				require.ErrorIs(t, a.err, rail.ErrAllDown)
				continue
			}
			require.NoError(t, a.err)
			require.Contains(t, w.paths[a.peer], a.ch.Path)
			require.NotEqual(t, rail.Down, a.health[a.ch.Rail])
			local := slices.ContainsFunc(reach, func(r int) bool { return w.rails[r].NodeLocal && a.health[r] != rail.Down })
			require.Equal(t, local, a.ch.Local)
			if local {
				require.True(t, w.rails[a.ch.Rail].NodeLocal)
				continue
			}
			fresh := slices.DeleteFunc(slices.Clone(reach), func(r int) bool { return a.health[r] > best })
			history := slices.DeleteFunc(slices.Clone(answers[:i]), func(h answer) bool { return h.peer != a.peer })
			rules[w.policy](t, w, a, reach, fresh, history)
		}
	})
}

// However the speeds are, a peer's messages over n rails are never more than n
// messages off their proportion.
func TestWeightedStaysInProportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speeds := rapid.SliceOfN(rapid.Uint64Range(1, 800), 1, 8).Draw(t, "speeds")
		n := len(speeds)
		s, err := rail.NewSelector(nics(n, speeds...), rail.Options{Policy: rail.Weighted, Seed: rapid.Uint64().Draw(t, "seed")})
		require.NoError(t, err)
		p, err := s.NewPeer(0, paths(2, upTo(n)...))
		require.NoError(t, err)
		var sum float64
		for _, v := range speeds {
			sum += float64(v)
		}
		count := make([]int, n)
		for sent := 1; sent <= 300; sent++ {
			ch, err := s.Pick(&p, rail.Call{})
			require.NoError(t, err)
			count[ch.Rail]++
			for i, v := range speeds {
				require.InDelta(t, float64(sent)*float64(v)/sum, float64(count[i]), float64(n), "rail %d of %v after %d", i, speeds, sent)
			}
		}
	})
}

func TestUnknownSpeedWeighsTheAverage(t *testing.T) {
	rails := append(nics(3, 100, 0, 200), shm())
	rails[3].Speed = 900e9 // shared memory has no say in the average
	s := selector(t, rails, rail.Options{Policy: rail.Weighted})
	p := peer(t, s, 0, paths(1, 0, 1, 2))
	var count [3]int
	for range 900 {
		count[pick(t, s, p).Rail]++
	}
	require.Equal(t, [3]int{200, 300, 400}, count)
}

func TestAbsurdSpeeds(t *testing.T) {
	rails := nics(40)
	for i := range rails {
		rails[i].Speed = 1<<64 - 1 - uint64(i)
	}
	rails[39].Speed = 1 // bit/s
	s := selector(t, rails, rail.Options{Policy: rail.Weighted})
	p := peer(t, s, 0, paths(1, upTo(40)...))
	var count [40]int
	for range 39 * 100 {
		count[pick(t, s, p).Rail]++
	}
	for i, n := range count[:39] {
		require.InDelta(t, 100, n, 1, "rail %d", i)
	}
	require.LessOrEqual(t, count[39], 1)
}
