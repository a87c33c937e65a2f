package mr_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"golnx/mr"
	"golnx/providers"
)

// model is the cache written down as plainly as can be: a list that is searched from one
// end to the other.
type model struct {
	entries    []*modelEntry
	idle       []*modelEntry // the one that became so first, first
	maxEntries int
	maxBytes   int64
	hits       uint64
	misses     uint64
	evictions  uint64
	forgotten  uint64
}

type modelEntry struct {
	start, end     int // units within the memory
	access         mr.Access
	private, found bool // found by address
	refs           int
	on             [2]bool // registered on the rail
	id             any
}

func (e *modelEntry) registered() bool { return e.on[0] || e.on[1] }

func (e *modelEntry) contains(o *modelEntry) bool { return e.start <= o.start && o.end <= e.end }

// fits answers what a search may find.
func (m *model) fits(want *modelEntry, privates bool) (out []*modelEntry) {
	for _, e := range m.entries {
		if e.found && e.contains(want) && e.access&want.access == want.access && (privates || !e.private) {
			out = append(out, e)
		}
	}
	return out
}

func (m *model) bounds() (entries int, bytes int64) {
	for _, e := range m.entries {
		if !e.private {
			entries++
			bytes += int64(e.end-e.start) * unit
		}
	}
	return entries, bytes
}

func (m *model) add(e *modelEntry) {
	e.found = !e.private || len(m.fits(e, true)) == 0
	for _, old := range slices.Clone(m.entries) {
		if e.found && old.found && old.private == e.private && e.contains(old) && old.access&^e.access == 0 {
			if !old.private {
				m.evictions++
			}
			m.drop(old)
		}
	}
	e.refs = 1
	m.entries = append(m.entries, e)
	m.trim()
}

func (m *model) use(e *modelEntry) {
	e.refs++
	m.idle = slices.DeleteFunc(m.idle, func(o *modelEntry) bool { return o == e })
}

func (m *model) unuse(e *modelEntry) {
	if e.refs--; e.refs > 0 {
		return
	}
	if e.private || !e.found || !e.registered() {
		m.drop(e)
		return
	}
	m.idle = append(m.idle, e)
	m.trim()
}

func (m *model) trim() {
	for len(m.idle) > 0 {
		if entries, bytes := m.bounds(); entries <= m.maxEntries && bytes <= m.maxBytes {
			return
		}
		m.evictions++
		m.drop(m.idle[0])
	}
}

func (m *model) drop(e *modelEntry) {
	e.found = false
	m.idle = slices.DeleteFunc(m.idle, func(o *modelEntry) bool { return o == e })
	if e.refs == 0 {
		m.entries = slices.DeleteFunc(m.entries, func(o *modelEntry) bool { return o == e })
	}
}

const (
	unit  = 64
	units = 20
)

// TestCacheModel runs the Manager beside the model, on memory so small that ranges meet.
func TestCacheModel(t *testing.T) {
	mem := alloc(t, unit*units)
	met := map[string]int{}
	rapid.Check(t, func(t *rapid.T) { modelRun(t, mem, met) })
	for _, what := range []string{"hit", "miss", "private found", "evicted", "invalidated in use", "region hit"} {
		require.NotZero(t, met[what], "the test does not get to see: %s", what)
	}
}

func modelRun(t *rapid.T, mem []byte, met map[string]int) {
	o := mr.Options{
		MaxEntries: rapid.IntRange(1, 6).Draw(t, "MaxEntries"),
		MaxBytes:   int64(rapid.IntRange(1, 3*units).Draw(t, "MaxUnits")) * unit,
		NoCache:    rapid.IntRange(0, 9).Draw(t, "NoCache") == 0,
	}
	m := &model{maxEntries: o.MaxEntries, maxBytes: o.MaxBytes}
	if o.NoCache {
		m.maxEntries = 0
	}
	w := newModelWorld(t, o)
	type held struct {
		lease  mr.Lease
		region *mr.Region
		e      *modelEntry
	}
	var holds []held

	draw := func() (*modelEntry, []byte) {
		start := rapid.IntRange(0, units-1).Draw(t, "start")
		end := rapid.IntRange(start+1, units).Draw(t, "end")
		local := []mr.Access{mr.Send, mr.Recv, mr.Send | mr.Recv, mr.LocalAccess}
		return &modelEntry{start: start, end: end, access: rapid.SampledFrom(local).Draw(t, "access")}, mem[start*unit : end*unit]
	}
	// meet finds the model's entry for what the Manager used, which must be one of those
	// that fit, and a new one if none does.
	meet := func(want *modelEntry, id any, privates bool) *modelEntry {
		fits := m.fits(want, privates)
		if len(fits) == 0 {
			m.misses++
			want.id = id
			m.add(want)
			met["miss"]++
			return want
		}
		m.hits++
		met["hit"]++
		i := slices.IndexFunc(fits, func(e *modelEntry) bool { return e.id == id })
		require.GreaterOrEqual(t, i, 0, "the Manager used what does not fit, or made one without need")
		if fits[i].private {
			met["private found"]++
		}
		m.use(fits[i])
		return fits[i]
	}

	t.Repeat(map[string]func(*rapid.T){
		"acquire": func(t *rapid.T) {
			want, buf := draw()
			rail := rapid.IntRange(0, 1).Draw(t, "rail")
			l, err := w.Acquire(rail, buf, want.access)
			require.NoError(t, err)
			require.NotZero(t, l.Desc)
			e := meet(want, mr.EntryOf(l), true)
			e.on[rail] = true
			holds = append(holds, held{lease: l, e: e})
		},
		"region": func(t *rapid.T) {
			want, buf := draw()
			if rapid.Bool().Draw(t, "remote") {
				want.access |= mr.RemoteWrite
				want.private = true
			}
			r, err := w.Register(buf, want.access)
			require.NoError(t, err)
			e := want
			if want.private {
				want.id = mr.RegionEntry(r)
				m.add(want)
			} else if e = meet(want, mr.RegionEntry(r), false); e != want {
				met["region hit"]++
			}
			if rapid.Bool().Draw(t, "on") {
				_, err := r.On(1)
				require.NoError(t, err)
				e.on[1] = true
			}
			holds = append(holds, held{region: r, e: e})
		},
		"release": func(t *rapid.T) {
			if len(holds) == 0 {
				t.Skip("nothing is held")
			}
			i := rapid.IntRange(0, len(holds)-1).Draw(t, "which")
			h := holds[i]
			holds = slices.Delete(holds, i, i+1)
			before := m.evictions
			switch {
			case h.region == nil:
				w.Release(h.lease)
				m.unuse(h.e)
			case h.e.private:
				m.drop(h.e) // not found from now on
				m.unuse(h.e)
				if h.e.refs > 0 {
					require.ErrorIs(t, h.region.Close(), mr.ErrBusy)
				} else {
					require.NoError(t, h.region.Close())
				}
			default:
				require.NoError(t, h.region.Close())
				m.unuse(h.e)
			}
			met["evicted"] += int(m.evictions - before)
		},
		"invalidate": func(t *rapid.T) {
			want, buf := draw()
			inUse := 0
			for _, e := range slices.Clone(m.entries) {
				if e.start >= want.end || want.start >= e.end {
					continue
				}
				if e.found && !e.private {
					m.forgotten++
				}
				if e.refs > 0 {
					inUse++
				}
				m.drop(e)
			}
			met["invalidated in use"] += inUse
			require.Equal(t, inUse, w.Invalidate(buf))
		},
		"": func(t *rapid.T) { requireSame(t, m, w, mem) },
	})
	for _, h := range holds {
		if h.region == nil {
			w.Release(h.lease)
		}
	}
	require.NoError(t, w.Close())
	for _, d := range w.domains {
		require.Zero(t, d.Live())
		require.Empty(t, d.Misuse())
	}
}

func newModelWorld(t *rapid.T, o mr.Options) *world {
	w := &world{domains: newDomains(providers.MRLocal, verbsMode)}
	o.Rails = []mr.Rail{{Name: "a", Registrar: w.domains[0]}, {Name: "b", Registrar: w.domains[1], Entry: 1}}
	var err error
	w.Manager, err = mr.New(o)
	require.NoError(t, err)
	return w
}

// requireSame compares numbers, and what is registered.
func requireSame(t *rapid.T, m *model, w *world, mem []byte) {
	s := w.Stats()
	want := mr.Stats{Hits: m.hits, Misses: m.misses, Evictions: m.evictions, Invalidated: m.forgotten}
	want.Entries, want.Bytes = m.bounds()
	ranges := [2][][2]uintptr{}
	for _, e := range m.entries {
		switch {
		case e.private:
			want.Private++
		case e.refs > 0:
			want.InUse++
		}
		for rail, on := range e.on {
			if on {
				want.Registrations++
				ranges[rail] = append(ranges[rail], [2]uintptr{addrOf(mem) + uintptr(e.start*unit), addrOf(mem) + uintptr(e.end*unit)})
			}
		}
	}
	require.Equal(t, want, s)
	for rail, d := range w.domains {
		require.ElementsMatch(t, ranges[rail], d.Ranges())
	}
}
