package mr_test

import (
	"errors"
	"fmt"

	"golnx/mr"
	"golnx/mr/mrtest"
	"golnx/providers"
	"golnx/providers/fierr"
)

// rails are two domains as verbs and shm would open them, made of nothing.
func rails() (m *mr.Manager, verbs, shm *mrtest.Domain) {
	verbs = mrtest.New(providers.MRLocal | providers.MRVirtAddr | providers.MRAllocated | providers.MRProvKey)
	shm = mrtest.New(providers.MRVirtAddr)
	m, err := mr.New(mr.Options{Rails: []mr.Rail{
		{Name: "verbs:mlx5_0", Registrar: verbs, Entry: 1},
		{Name: "shm", Registrar: shm, Entry: 0},
	}})
	if err != nil {
		panic(err)
	}
	return m, verbs, shm
}

func ExampleAlloc() {
	b, err := mr.Alloc(1 << 16)
	if err != nil {
		panic(err)
	}
	defer b.Free()
	fmt.Println(len(b.Bytes()))
	// Output: 65536
}

// A target registers memory and gives the key away; an initiator asks where, and with
// which key, one of its operations has to go.
func ExampleManager_Register() {
	target, verbs, _ := rails()
	defer target.Close()
	window := make([]byte, 4096)
	region, err := target.Register(window, mr.RemoteRead|mr.RemoteWrite)
	if err != nil {
		panic(err)
	}
	key, err := region.RemoteKey()
	if err != nil {
		panic(err)
	}
	wire, err := key.MarshalBinary()
	if err != nil {
		panic(err)
	}

	initiator, _, _ := rails()
	defer initiator.Close()
	var got mr.RemoteKey
	if err := got.UnmarshalBinary(wire); err != nil {
		panic(err)
	}
	fmt.Println(got)
	remote := initiator.Import(got)
	defer remote.Close()
	addr, rkey, err := remote.At(0, 1, 100, 5, mr.RemoteWrite) // by rail 0 to entry 1: verbs to verbs
	if err != nil {
		panic(err)
	}
	// What the NIC does:
	mem, err := verbs.Reach(addr, rkey, 5, mr.RemoteWrite)
	if err != nil {
		panic(err)
	}
	copy(mem, "hello")
	fmt.Printf("%s\n", window[100:105])

	fmt.Println(region.Close())
	_, err = verbs.Reach(addr, rkey, 5, mr.RemoteWrite)
	fmt.Println(errors.Is(err, fierr.ENoKey))
	// Output:
	// 4096 bytes for remote_read|remote_write at entries [0 1]
	// hello
	// <nil>
	// true
}

// What an endpoint does for each of its operations. The second finds what the first has
// registered, and shm asks for nothing.
func ExampleManager_Acquire() {
	m, verbs, shm := rails()
	defer m.Close()
	buf := make([]byte, 4096)
	for rail, part := range [][]byte{0: buf, 1: buf} {
		lease, err := m.Acquire(rail, part, mr.Send)
		if err != nil {
			panic(err)
		}
		fmt.Println("rail", rail, "descriptor:", lease.Desc != 0, "pinned:", lease.Pinned())
		m.Release(lease) // after the completion
	}
	lease, err := m.Acquire(0, buf[1000:2000], mr.Send)
	if err != nil {
		panic(err)
	}
	m.Release(lease)
	s := m.Stats()
	fmt.Println("hits", s.Hits, "misses", s.Misses, "cached", s.Entries, "bytes", s.Bytes)
	fmt.Println(verbs.Live(), shm.Live())
	// Output:
	// rail 0 descriptor: true pinned: true
	// rail 1 descriptor: false pinned: false
	// hits 1 misses 1 cached 1 bytes 4096
	// 1 0
}

// A region that an operation uses is not let go of.
func ExampleRegion_Close() {
	m, verbs, _ := rails()
	defer m.Close()
	region, err := m.Register(make([]byte, 4096), mr.Write|mr.RemoteRead)
	if err != nil {
		panic(err)
	}
	lease, err := m.AcquireRegion(region, 0, 0, 512, mr.Write)
	if err != nil {
		panic(err)
	}
	fmt.Println(region.Close())
	m.Release(lease)
	fmt.Println(verbs.Live(), region.Close())
	// Output:
	// mr: operations that use the region: 1: in use
	// 0 <nil>
}

// Memory of a device is refused by name where a rail cannot reach it.
func ExampleManager_RegisterMemory() {
	m, _, _ := rails()
	defer m.Close()
	_, err := m.RegisterMemory(mr.Memory{Len: 1 << 20, Iface: mr.CUDA, DMABuf: &mr.DMABuf{FD: 9}}, mr.Send)
	fmt.Println(err)
	// Output: mr: rail verbs:mlx5_0: 1048576 bytes of FI_HMEM_CUDA, device 0 of a DMA-BUF: its domain is without FI_HMEM: not supported
}

// A peer may be given a part.
func ExampleRemoteKey_Slice() {
	m, _, _ := rails()
	defer m.Close()
	region, err := m.Register(make([]byte, 4096), mr.RemoteRead)
	if err != nil {
		panic(err)
	}
	key, err := region.RemoteKey()
	if err != nil {
		panic(err)
	}
	part, err := key.Slice(1024, 256)
	fmt.Println(part.Len(), err)
	_, err = part.Slice(200, 100)
	fmt.Println(err)
	// Output:
	// 256 <nil>
	// mr: 100 bytes at offset 200: the remote memory has 256: invalid argument
}

// Memory that was not allocated here is invalidated before it is unmapped.
func ExampleManager_Invalidate() {
	m, verbs, _ := rails()
	defer m.Close()
	mapped := make([]byte, 4096) // of mmap(2), or of a C library
	lease, err := m.Acquire(0, mapped, mr.Recv)
	if err != nil {
		panic(err)
	}
	m.Release(lease)
	fmt.Println("cached:", verbs.Live())
	if inUse := m.Invalidate(mapped); inUse == 0 {
		fmt.Println("may be unmapped:", verbs.Live())
	}
	// Output:
	// cached: 1
	// may be unmapped: 0
}
