package peer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// numbered returns the i-th of many different endpoints.
func numbered(i int) *Address {
	return &Address{Host: "node7", Layout: Layout22, Entries: []Entry{{"shm", fmt.Appendf(nil, "fi_shm://%d:0:0\x00", i)}}}
}

func TestTableCountsFromZero(t *testing.T) {
	table := NewTable[string](nil)
	for i := range 5 {
		p, fresh := table.Insert(numbered(i))
		require.True(t, fresh)
		require.Equal(t, Addr(i), p.Addr)
		p.Data = fmt.Sprint("peer ", i)
	}
	require.Equal(t, 5, table.Len())
	require.Equal(t, "peer 3", table.Lookup(3).Data)
	for _, unknown := range []Addr{5, AddrUnspec, 1<<32 | 3, 1 << 63} {
		require.Nil(t, table.Lookup(unknown), "%#x", uint64(unknown))
		require.Nil(t, table.Acquire(unknown), "%#x", uint64(unknown))
		require.ErrorIs(t, table.Remove(unknown), ErrUnknownPeer)
	}
}

// Two blobs are one peer if they say the same place and the same addresses.
func TestTableKnowsAPeerAgain(t *testing.T) {
	sample := func(layout Layout, change func(a *Address)) *Address {
		a, err := sampleAddress().As(layout)
		require.NoError(t, err)
		change(a)
		return a
	}
	plain := func(layout Layout, change func(a *Address)) *Address {
		a := plainAddress(layout)
		change(a)
		return a
	}
	keep := func(*Address) {}
	for _, c := range []struct {
		name string
		a, b *Address
		same bool
	}{
		{"the same blob", sample(Layout22, keep), sample(Layout22, keep), true},
		{"in another layout", sample(Layout22, keep), sample(Layout21, keep), true},
		{"rails in another order", sample(Layout22, keep), sample(Layout22, func(a *Address) {
			slices.Reverse(a.Entries)
			slices.Reverse(a.Ext.Rails)
		}), true},
		{"other speed and NUMA node", sample(Layout22, keep), sample(Layout22, func(a *Address) { a.Ext.Rails[0].Speed, a.Ext.Rails[0].NUMA = 1, 3 }), true},
		{"rest behind the shm name", plain(Layout22, keep), plain(Layout22, func(a *Address) { a.Entries[0].Addr = append(a.Entries[0].Addr, "old"...) }), true},
		{"another process with the same addresses", sample(Layout22, keep), sample(Layout22, func(a *Address) { a.Ext.Node.StartTime++ }), false},
		{"the same addresses on another machine", sample(Layout22, keep), sample(Layout22, func(a *Address) { a.Ext.Node.BootID[1]++ }), false},
		{"the same addresses on another host, C LNX", plain(Layout22, keep), plain(Layout22, func(a *Address) { a.Host = "node8" }), false},
		{"another port", plain(Layout22, keep), plain(Layout22, func(a *Address) { a.Entries[1].Addr[3]++ }), false},
		{"another fabric", plain(Layout22, keep), plain(Layout22, func(a *Address) { a.Entries[1].Name = "10.0.9.0/24" }), false},
		{"fewer rails", plain(Layout22, keep), plain(Layout22, func(a *Address) { a.Entries = a.Entries[:2] }), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := NewTable[int](nil)
			p, _ := table.Insert(c.a)
			p.Data = 42
			q, fresh := table.Insert(c.b)
			require.Equal(t, !c.same, fresh)
			if c.same {
				require.Same(t, p, q)
				require.Equal(t, 1, table.Len())
				require.NoError(t, table.Remove(p.Addr), "one Remove undoes all Inserts")
				require.Nil(t, table.Lookup(p.Addr))
			} else {
				require.NotEqual(t, p.Addr, q.Addr)
				require.Equal(t, 2, table.Len())
			}
		})
	}
}

func TestTableKeepsAPeerInUse(t *testing.T) {
	var recycled []Addr
	table := NewTable(func(p *Peer[int]) { recycled = append(recycled, p.Addr) })
	a, _ := table.Insert(numbered(0))
	require.Same(t, a, table.Acquire(a.Addr))
	require.Same(t, a, table.Acquire(a.Addr))
	require.NoError(t, table.Remove(a.Addr))

	require.Nil(t, table.Lookup(a.Addr), "removed")
	require.Nil(t, table.Acquire(a.Addr), "removed")
	require.ErrorIs(t, table.Remove(a.Addr), ErrUnknownPeer)
	b, _ := table.Insert(numbered(1))
	require.Equal(t, Addr(1), b.Addr, "slot 0 is still in use")

	require.Same(t, a, table.Release(a.Addr))
	require.Empty(t, recycled)
	require.Same(t, a, table.Release(a.Addr))
	require.Equal(t, []Addr{0}, recycled)

	c, _ := table.Insert(numbered(2))
	require.Equal(t, Addr(1<<32), c.Addr, "slot 0 for the second time")
	require.Same(t, c, table.Lookup(c.Addr))
	require.Nil(t, table.Lookup(a.Addr), "the first user's Addr must not name the second")
	require.Panics(t, func() { table.Release(a.Addr) })
	require.Panics(t, func() { table.Release(c.Addr) }, "never acquired")
}

func TestTableTakesARemovedPeerBack(t *testing.T) {
	recycled := 0
	table := NewTable(func(*Peer[int]) { recycled++ })
	p, _ := table.Insert(numbered(0))
	table.Acquire(p.Addr)
	require.NoError(t, table.Remove(p.Addr))
	q, fresh := table.Insert(numbered(0))
	require.False(t, fresh, "its addresses are still in the rails' address vectors")
	require.Same(t, p, q)
	require.Same(t, p, table.Lookup(p.Addr))
	table.Release(p.Addr)
	require.Zero(t, recycled)
	require.Same(t, p, table.Lookup(p.Addr))

	require.NoError(t, table.Remove(p.Addr))
	require.Equal(t, 1, recycled)
	r, fresh := table.Insert(numbered(0))
	require.True(t, fresh)
	require.Equal(t, Addr(1<<32), r.Addr)
}

func TestTableRetiresAWornSlot(t *testing.T) {
	table := NewTable[int](nil)
	p, _ := table.Insert(numbered(0))
	require.NoError(t, table.Remove(p.Addr))
	table.uses[0] = maxUse // as if after 16,777,215 more peers
	last, _ := table.Insert(numbered(0))
	require.Equal(t, Addr(maxUse)<<32, last.Addr)
	require.Less(t, last.Addr, Addr(1)<<56)
	require.NoError(t, table.Remove(last.Addr))
	next, _ := table.Insert(numbered(0))
	require.Equal(t, Addr(1), next.Addr, "slot 0 must not start again")
}

func TestTableAll(t *testing.T) {
	table := NewTable[int](nil)
	for i := range 4 {
		table.Insert(numbered(i))
	}
	require.NoError(t, table.Remove(1))
	table.Acquire(2)
	require.NoError(t, table.Remove(2))
	var got []Addr
	for p := range table.All() {
		got = append(got, p.Addr)
	}
	require.Equal(t, []Addr{0, 3}, got)
	for p := range table.All() {
		require.NoError(t, table.Remove(p.Addr))
		break
	}
	require.Equal(t, 1, table.Len())
}

// Any order of calls against a model that never uses an Addr again.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type state struct {
			who  int
			live bool
			refs int
		}
		recycled := map[Addr]int{}
		table := NewTable(func(p *Peer[int]) { recycled[p.Addr]++ })
		model := map[Addr]*state{} // also of peers long gone
		anyAddr := func(t *rapid.T) Addr {
			var known []Addr
			for a := range model {
				known = append(known, a)
			}
			slices.Sort(known)
			return rapid.SampledFrom(append(known, 1<<40, AddrUnspec)).Draw(t, "addr")
		}
		holder := func(who int) (Addr, *state) {
			for a, s := range model {
				if s.who == who && (s.live || s.refs > 0) {
					return a, s
				}
			}
			return 0, nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				who := rapid.IntRange(0, 5).Draw(t, "who")
				p, fresh := table.Insert(numbered(who))
				if a, s := holder(who); s != nil {
					require.Equal(t, a, p.Addr)
					require.False(t, fresh)
					s.live = true
					return
				}
				require.True(t, fresh)
				require.NotContains(t, model, p.Addr, "an Addr must name one peer only")
				p.Data = who
				model[p.Addr] = &state{who: who, live: true}
			},
			"remove": func(t *rapid.T) {
				a := anyAddr(t)
				s, err := model[a], table.Remove(a)
				if s == nil || !s.live {
					require.ErrorIs(t, err, ErrUnknownPeer)
					return
				}
				require.NoError(t, err)
				s.live = false
			},
			"acquire": func(t *rapid.T) {
				a := anyAddr(t)
				s, p := model[a], table.Acquire(a)
				require.Equal(t, s != nil && s.live, p != nil)
				if p != nil {
					require.Equal(t, s.who, p.Data)
					s.refs++
				}
			},
			"release": func(t *rapid.T) {
				a := anyAddr(t)
				if s := model[a]; s != nil && s.refs > 0 {
					require.Equal(t, s.who, table.Release(a).Data)
					s.refs--
				}
			},
			"": func(t *rapid.T) {
				live := 0
				for a, s := range model {
					p := table.Lookup(a)
					require.Equal(t, s.live, p != nil)
					if s.live {
						require.Equal(t, s.who, p.Data)
						live++
					}
					gone := 0
					if !s.live && s.refs == 0 {
						gone = 1
					}
					require.Equal(t, gone, recycled[a], "recycled once, when gone")
				}
				require.Equal(t, live, table.Len())
			},
		})
	})
}

func TestTableHotPathDoesNotAllocate(t *testing.T) {
	table := NewTable[[4]uint64](nil)
	for i := range 1000 {
		table.Insert(numbered(i))
	}
	sum := uint64(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		p := table.Acquire(777)
		p.Data[1]++
		sum += table.Lookup(p.Addr).Data[1]
		table.Release(p.Addr)
	}))
	require.NotZero(t, sum)
}

func BenchmarkTableLookup(b *testing.B) {
	for _, n := range []int{1, 10000} {
		b.Run(fmt.Sprintf("peers=%d", n), func(b *testing.B) {
			table := NewTable[int](nil)
			for i := range n {
				table.Insert(numbered(i))
			}
			addr := Addr(n / 2)
			for b.Loop() {
				if table.Lookup(addr) == nil {
					b.Fatal("peer lost")
				}
			}
		})
	}
}
