package mr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/mr/mrtest"
	"golnx/providers"
	"golnx/providers/fierr"
)

// What each mode of fi_mr(3) makes of a region of 4096 bytes.
func TestModes(t *testing.T) {
	const local, remote = mr.Send | mr.Recv, mr.RemoteRead | mr.RemoteWrite
	for name, c := range map[string]struct {
		mode       providers.MRMode
		access     mr.Access
		registered bool // by On
		virtual    bool // peers use the virtual address
		key        bool
	}{
		"nothing asked for, local use":    {mode: tcpMode, access: local},
		"nothing asked for, remote use":   {mode: tcpMode, access: remote, registered: true, key: true},
		"virtual addresses, local use":    {mode: shmMode, access: local},
		"virtual addresses, remote use":   {mode: shmMode, access: remote, registered: true, virtual: true, key: true},
		"local, local use":                {mode: providers.MRLocal, access: local, registered: true},
		"local and remote use":            {mode: providers.MRLocal, access: local | remote, registered: true, key: true},
		"provider keys":                   {mode: verbsMode, access: remote, registered: true, virtual: true, key: true},
		"bound to the endpoint":           {mode: cxiMode, access: remote, registered: true, key: true},
		"bound to the endpoint, local":    {mode: cxiMode | providers.MRLocal, access: local, registered: true},
		"raw keys":                        {mode: rawMode, access: remote, registered: true, virtual: true},
		"modes that concern others":       {mode: mr.ModeRMAEvent | mr.ModeCollective, access: local},
		"device modes mean nothing to it": {mode: providers.MRHMEM, access: local},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, mr.Options{}, c.mode)
			buf := alloc(t, 4096)
			r := w.register(t, buf, c.access)
			require.Zero(t, w.domains[0].Live(), "registered before it is needed")
			h, err := r.On(0)
			require.NoError(t, err)
			again, err := r.On(0)
			require.NoError(t, err)
			require.Equal(t, h, again)

			require.Equal(t, c.registered, w.domains[0].Made() == 1)
			require.Equal(t, c.registered, h.Desc != 0)
			require.Equal(t, c.key, h.Key != mr.KeyNotAvail)
			require.Equal(t, c.virtual, h.Addr == uint64(addrOf(buf)))
			if c.key {
				got, err := w.domains[0].Reach(h.Addr+4000, h.Key, 96, remote)
				require.NoError(t, err)
				require.Equal(t, addrOf(buf[4000:]), addrOf(got))
			}
			require.NoError(t, r.Close())
		})
	}
}

func TestModesRefused(t *testing.T) {
	for mode, want := range map[providers.MRMode]string{
		1 << 0:      "mr_mode FI_MR_BASIC of",
		1<<7 | 1<<2: "mr_mode FI_MR_MMU_NOTIFY of",
		1 << 40:     "mr_mode 0x10000000000",
	} {
		_, err := mr.New(mr.Options{Rails: []mr.Rail{{Name: "odd", Registrar: mrtest.New(mode)}}})
		require.ErrorIs(t, err, mr.ErrNotSupported)
		require.ErrorIs(t, err, fierr.EOpNotSupp)
		require.ErrorContains(t, err, "rail odd")
		require.ErrorContains(t, err, want)
	}
	_, err := mr.New(mr.Options{Rails: []mr.Rail{{Name: "raw", Registrar: struct{ mr.Registrar }{mrtest.New(rawMode)}}}})
	require.ErrorIs(t, err, mr.ErrNotSupported, "a domain with raw keys that cannot map them")
}

func TestOptions(t *testing.T) {
	d := mrtest.New(0)
	rail := mr.Rail{Name: "a", Registrar: d}
	for want, o := range map[string]mr.Options{
		"0 rails":           {},
		"65 rails":          {Rails: make([]mr.Rail, 65)},
		"no Registrar":      {Rails: []mr.Rail{{Name: "a"}}},
		"Entry is -1":       {Rails: []mr.Rail{{Name: "a", Registrar: d, Entry: -1}}},
		"Entry is 64":       {Rails: []mr.Rail{{Name: "a", Registrar: d, Entry: 64}}},
		"Entry is 0 for":    {Rails: []mr.Rail{rail, {Name: "b", Registrar: mrtest.New(0)}}},
		"MaxEntries -1":     {Rails: []mr.Rail{rail}, MaxEntries: -1},
		"MaxBytes -1: want": {Rails: []mr.Rail{rail}, MaxBytes: -1},
	} {
		_, err := mr.New(o)
		require.ErrorIs(t, err, fierr.EInval)
		require.ErrorContains(t, err, want)
	}
}

func TestEager(t *testing.T) {
	w := newWorld(t, mr.Options{Eager: true}, verbsMode, shmMode, cxiMode|providers.MRLocal)
	buf := alloc(t, 4096)
	local := w.register(t, buf, mr.LocalAccess)
	require.Equal(t, []int{1, 0, 1}, w.live(), "shm needs none for local use")
	remote := w.register(t, buf, mr.RemoteWrite)
	require.Equal(t, []int{2, 1, 2}, w.live())
	w.Release(w.acquire(t, 0, make([]byte, 100), mr.Send))
	require.Equal(t, []int{3, 1, 3}, w.live())
	require.NoError(t, local.Close())
	require.NoError(t, remote.Close())
	require.Equal(t, []int{2, 0, 2}, w.live(), "what is local stays cached")
}

// An eager registration that one rail refuses is an error. What other rails have made of
// it by then may serve later, if it is cached.
func TestEagerRefused(t *testing.T) {
	w := newWorld(t, mr.Options{Eager: true}, verbsMode, verbsMode)
	w.domains[1].Fail = failing("fi_mr_regattr", fierr.EPerm)
	buf := alloc(t, 4096)
	_, err := w.Register(buf, mr.RemoteRead)
	require.ErrorIs(t, err, fierr.EPerm)
	require.ErrorContains(t, err, "rail1")
	require.Equal(t, []int{0, 0}, w.live())
	_, err = w.Register(buf, mr.Send)
	require.ErrorIs(t, err, fierr.EPerm)
	_, err = w.Acquire(1, buf, mr.Send)
	require.ErrorIs(t, err, fierr.EPerm)
	require.Equal(t, []int{1, 0}, w.live())
	require.Zero(t, w.Stats().InUse)
	w.domains[1].Fail = nil
	w.Release(w.acquire(t, 1, buf, mr.Send))
	require.Equal(t, []int{1, 1}, w.live())
}

func failing(call string, err error) func(string) error {
	return func(name string) error {
		if name == call {
			return err
		}
		return nil
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		size  int
		first uint64
		want  []uint64
	}{
		{size: 8, first: 40, want: []uint64{40, 41, 42}},
		{size: 0, first: 1 << 63, want: []uint64{1 << 63, 1<<63 + 1}},
		{size: 8, first: mr.KeyNotAvail, want: []uint64{0, 1, 2}},
		{size: 8, first: mr.KeyNotAvail - 1, want: []uint64{mr.KeyNotAvail - 1, 0, 1}},
		{size: 1, first: 254, want: []uint64{254, 255, 0}},
		{size: 2, first: 0x1fffe, want: []uint64{0xfffe, 0xffff, 0}},
		{size: 16, first: 7, want: []uint64{7, 8}},
	} {
		d := mrtest.New(0)
		d.DomainAttr.KeySize = c.size
		m, err := mr.New(mr.Options{FirstKey: c.first, Rails: []mr.Rail{{Name: "a", Registrar: d}}})
		require.NoError(t, err)
		for _, want := range c.want {
			r, err := m.Register(make([]byte, 8), mr.RemoteRead)
			require.NoError(t, err)
			h, err := r.On(0)
			require.NoError(t, err)
			require.Equal(t, want, h.Key)
		}
		require.NoError(t, m.Close())
		require.Empty(t, d.Misuse())
	}
}

// Keys of one byte: 256 there are, and after that they are used again.
func TestKeysRunOut(t *testing.T) {
	w := newWorld(t, mr.Options{}, 0)
	d := mrtest.New(0)
	d.DomainAttr.KeySize = 1
	m, err := mr.New(mr.Options{Rails: []mr.Rail{{Name: "narrow", Registrar: d}}})
	require.NoError(t, err)
	defer m.Close()
	var regions []*mr.Region
	keys := map[uint64]bool{}
	for range 256 {
		r, err := m.Register(make([]byte, 8), mr.RemoteRead)
		require.NoError(t, err)
		h, err := r.On(0)
		require.NoError(t, err)
		keys[h.Key] = true
		regions = append(regions, r)
	}
	require.Len(t, keys, 256)
	r, err := m.Register(make([]byte, 8), mr.RemoteRead)
	require.NoError(t, err)
	_, err = r.On(0)
	require.ErrorIs(t, err, fierr.ENoKey)
	require.ErrorContains(t, err, "narrow")
	require.NoError(t, regions[77].Close())
	h, err := r.On(0)
	require.NoError(t, err)
	require.EqualValues(t, 77, h.Key)
	require.Empty(t, w.domains[0].Misuse())
}

// Another user of the domain (rxm registers memory of its own) has some of the keys.
func TestKeysOfOthers(t *testing.T) {
	d := mrtest.New(0)
	for key := range uint64(1000) {
		require.NoError(t, d.Claim(key))
	}
	m, err := mr.New(mr.Options{Rails: []mr.Rail{{Name: "shared", Registrar: d}}})
	require.NoError(t, err)
	r, err := m.Register(make([]byte, 8), mr.RemoteRead)
	require.NoError(t, err)
	h, err := r.On(0)
	require.NoError(t, err)
	require.EqualValues(t, 1000, h.Key)
	require.NoError(t, m.Close())

	calls := 0
	d.Fail = func(string) error { calls++; return fierr.ENoKey }
	m, err = mr.New(mr.Options{Rails: []mr.Rail{{Name: "shared", Registrar: d}}})
	require.NoError(t, err)
	r, err = m.Register(make([]byte, 8), mr.RemoteRead)
	require.NoError(t, err)
	_, err = r.On(0)
	require.ErrorIs(t, err, fierr.ENoKey)
	require.LessOrEqual(t, calls, 1024, "the search for a key ends")
	require.NoError(t, m.Close())
}

// A domain that answers another domain's registration is not believed.
func TestForeignRegistration(t *testing.T) {
	other := mrtest.New(verbsMode)
	liar := struct{ mr.Registrar }{other}
	m, err := mr.New(mr.Options{Rails: []mr.Rail{{Name: "liar", Registrar: &liar}}})
	require.NoError(t, err)
	_, err = m.Acquire(0, make([]byte, 8), mr.Send)
	require.ErrorIs(t, err, mr.ErrForeign)
	require.ErrorIs(t, err, fierr.EDomain)
	require.Zero(t, other.Live(), "it is not kept")
	require.Zero(t, m.Stats().Entries)
	require.NoError(t, m.Close())
}

// A provider without room is helped to some by giving up what nobody uses.
func TestNoRoom(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	w.domains[0].Limit = 3
	mem := alloc(t, 10*4096)
	page := func(i int) []byte { return mem[i*4096 : (i+1)*4096] }
	held := w.acquire(t, 0, page(0), mr.Send)
	for i := 1; i < 10; i++ {
		w.Release(w.acquire(t, 0, page(i), mr.Send))
	}
	require.Equal(t, []int{3}, w.live())
	require.EqualValues(t, 7, w.Stats().Evictions)
	other1, other2 := w.acquire(t, 0, page(1), mr.Send), w.acquire(t, 0, page(2), mr.Send)
	_, err := w.Acquire(0, page(3), mr.Send)
	require.ErrorIs(t, err, fierr.ENoMR, "all of it is in use")
	w.Release(other1)
	w.Release(w.acquire(t, 0, page(3), mr.Send))
	w.Release(held)
	w.Release(other2)
}

// Devices and DMA-BUFs on rails that differ in what they can.
func TestDeviceMemory(t *testing.T) {
	w := newWorld(t, mr.Options{}, shmMode, cxiMode|providers.MRHMEM, verbsMode)
	w.domains[1].DomainAttr.HMEM = true
	w.domains[2].DomainAttr.HMEM, w.domains[2].DomainAttr.DMABuf = true, true
	// The Manager asks for the attributes once, when it is made.
	var rails []mr.Rail
	for i, d := range w.domains {
		rails = append(rails, mr.Rail{Name: fmt.Sprintf("rail%d", i), Registrar: d, Entry: i})
	}
	m, err := mr.New(mr.Options{Rails: rails})
	require.NoError(t, err)
	base := &alloc(t, 4096)[0]

	device := mr.Memory{Base: ptr(base), Len: 4096, Iface: mr.CUDA, Device: 1, Flags: mr.DeviceOnly}
	r, err := m.RegisterMemory(device, mr.Send|mr.RemoteRead)
	require.NoError(t, err)
	_, err = r.On(0)
	require.ErrorIs(t, err, mr.ErrNotSupported)
	require.ErrorContains(t, err, "rail0")
	require.ErrorContains(t, err, "FI_HMEM_CUDA, device 1")
	_, err = r.On(1)
	require.NoError(t, err)
	key, err := r.RemoteKey()
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, key.Entries(), "the rails that can")
	require.NoError(t, r.Close())

	// For local use it takes FI_MR_HMEM to make it necessary.
	r, err = m.RegisterMemory(device, mr.Send)
	require.NoError(t, err)
	for rail, want := range []bool{1: true, 2: false} {
		if h, err := r.On(rail); rail > 0 {
			require.NoError(t, err)
			require.Equal(t, want, h.Desc != 0, "rail %d", rail)
		}
	}
	require.NoError(t, r.Close())
	require.Zero(t, m.Stats().Hits+m.Stats().Misses, "it is not cached")

	// A DMA-BUF that is not mapped is addressed by its offset.
	r, err = m.RegisterMemory(mr.Memory{Len: 100, Iface: mr.ZE, Device: mr.ZEDevice(1, 2), DMABuf: &mr.DMABuf{FD: 3, Offset: 8192}}, mr.RemoteWrite)
	require.NoError(t, err)
	_, err = r.On(1)
	require.ErrorIs(t, err, mr.ErrNotSupported)
	require.ErrorContains(t, err, "FI_MR_DMABUF")
	h, err := r.On(2)
	require.NoError(t, err)
	require.EqualValues(t, 8192, h.Addr)
	require.Nil(t, r.Bytes())
	require.NoError(t, r.Close())

	// Where no rail can, Register says so.
	only, err := mr.New(mr.Options{Rails: rails[:1]})
	require.NoError(t, err)
	_, err = only.RegisterMemory(device, mr.Send)
	require.ErrorIs(t, err, mr.ErrNotSupported)
	require.ErrorContains(t, err, "rail0")
	require.NoError(t, only.Close())
	require.NoError(t, m.Close())
	require.Equal(t, uint64(1<<16|2), mr.ZEDevice(1, 2))
}

func TestMemoryRefused(t *testing.T) {
	w := newWorld(t, mr.Options{}, verbsMode)
	w.domains[0].DomainAttr.HMEM = true
	base := ptr(&alloc(t, 4096)[0])
	for want, mem := range map[string]mr.Memory{
		"0 bytes":         {Base: base},
		"-1 bytes":        {Base: base, Len: -1},
		"without an addr": {Len: 8},
		"FI_HMEM(17)":     {Base: base, Len: 8, Iface: 17},
		"device 3":        {Base: base, Len: 8, Device: 3},
		"flags 0x1 ":      {Base: base, Len: 8, Flags: 1},
		"DMA-BUF -1":      {Base: base, Len: 8, DMABuf: &mr.DMABuf{FD: -1}},
		"at offset 18446": {Base: base, Len: 8, DMABuf: &mr.DMABuf{Offset: ^uint64(0) - 6}},
	} {
		_, err := w.RegisterMemory(mem, mr.Send)
		require.ErrorIs(t, err, fierr.EInval)
		require.ErrorContains(t, err, want)
	}
	r, err := w.RegisterMemory(mr.Memory{Base: base, Len: 1<<63 - 1}, mr.Send)
	require.NoError(t, err, "it ends within the address space, and nobody asked the rail yet")
	require.NoError(t, r.Close())
}
