package mr_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/mr/mrtest"
	"golnx/providers"
)

// What the providers answer in mr_mode.
const (
	shmMode   = providers.MRVirtAddr
	tcpMode   = providers.MRMode(0)
	verbsMode = providers.MRLocal | providers.MRVirtAddr | providers.MRAllocated | providers.MRProvKey
	cxiMode   = providers.MRAllocated | providers.MRProvKey | providers.MREndpoint
	rawMode   = providers.MRLocal | providers.MRVirtAddr | providers.MRProvKey | mr.ModeRaw
)

// world is a Manager with a domain for each mode. At the end of the test everything has
// to be gone and nothing done against fi_mr(3).
type world struct {
	*mr.Manager
	domains []*mrtest.Domain
}

func newWorld(t testing.TB, o mr.Options, modes ...providers.MRMode) *world {
	t.Helper()
	w := &world{}
	w.domains = newDomains(modes...)
	for i, d := range w.domains {
		o.Rails = append(o.Rails, mr.Rail{Name: fmt.Sprintf("rail%d", i), Registrar: d, Entry: i})
	}
	m, err := mr.New(o)
	require.NoError(t, err)
	w.Manager = m
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		w.requireClean(t)
	})
	return w
}

func (w *world) requireClean(t testing.TB) {
	t.Helper()
	for i, d := range w.domains {
		require.Zero(t, d.Live(), "registrations left on rail %d", i)
		require.Zero(t, d.Mapped(), "raw keys left mapped on rail %d", i)
		require.Empty(t, d.Misuse(), "on rail %d", i)
	}
	s := w.Stats()
	require.Zero(t, [...]int{s.Entries, s.InUse, s.Private, s.Registrations, int(s.Bytes)}, "entries, in use, private, registrations, bytes")
}

func (w *world) live() []int {
	var out []int
	for _, d := range w.domains {
		out = append(out, d.Live())
	}
	return out
}

func (w *world) register(t testing.TB, buf []byte, access mr.Access) *mr.Region {
	t.Helper()
	r, err := w.Register(buf, access)
	require.NoError(t, err)
	return r
}

func (w *world) acquire(t testing.TB, rail int, buf []byte, access mr.Access) mr.Lease {
	t.Helper()
	l, err := w.Acquire(rail, buf, access)
	require.NoError(t, err)
	return l
}

func alloc(t testing.TB, n int) []byte {
	t.Helper()
	b, err := mr.Alloc(n)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Free()) })
	return b.Bytes()
}

func newDomains(modes ...providers.MRMode) (out []*mrtest.Domain) {
	for _, mode := range modes {
		out = append(out, mrtest.New(mode))
	}
	return out
}

func addrOf(buf []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(buf))) }

func ptr(p *byte) unsafe.Pointer { return unsafe.Pointer(p) }

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }
