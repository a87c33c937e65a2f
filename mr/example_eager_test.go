package mr_test

import (
	"fmt"

	"golnx/mr"
	"golnx/mr/mrtest"
	"golnx/providers"
)

// Without Eager each rail registers memory when it first needs to; with it all do at once.
func ExampleOptions_eager() {
	for _, eager := range []bool{false, true} {
		nics := [2]*mrtest.Domain{mrtest.New(providers.MRLocal), mrtest.New(providers.MRLocal)}
		m, err := mr.New(mr.Options{Eager: eager, Rails: []mr.Rail{
			{Name: "cxi:cxi0", Registrar: nics[0], Entry: 0},
			{Name: "cxi:cxi1", Registrar: nics[1], Entry: 1},
		}})
		if err != nil {
			panic(err)
		}
		lease, err := m.Acquire(0, make([]byte, 4096), mr.Send)
		if err != nil {
			panic(err)
		}
		fmt.Println("eager", eager, nics[0].Live(), nics[1].Live())
		m.Release(lease)
		if err := m.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// eager false 1 0
	// eager true 1 1
}

// Huge pages where the system has any to spare, otherwise plain ones: Pages says which.
func ExampleAllocHuge() {
	b, err := mr.AllocHuge(4 << 20)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(b.Bytes()))
	fmt.Println(b.Free(), b.Free())
	// Output:
	// 4194304
	// <nil> mr: buffer was freed before
}

// The cache is bounded: what has been idle for longest goes first, what is in use never.
func ExampleManager_Stats() {
	m, err := mr.New(mr.Options{MaxEntries: 2, Rails: []mr.Rail{{Name: "verbs:mlx5_0", Registrar: mrtest.New(providers.MRLocal)}}})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	for range 3 {
		lease, err := m.Acquire(0, make([]byte, 4096), mr.Send)
		if err != nil {
			panic(err)
		}
		m.Release(lease)
	}
	s := m.Stats()
	fmt.Println("misses", s.Misses, "evictions", s.Evictions, "entries", s.Entries, "bytes", s.Bytes)
	// Output: misses 3 evictions 1 entries 2 bytes 8192
}
