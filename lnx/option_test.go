package lnx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
)

func TestOptions(t *testing.T) {
	for _, links := range []string{"shm", "tcp:lo", "shm+tcp:lo", "shm direct", "tcp:lo direct"} {
		t.Run(links, func(t *testing.T) {
			l, err := Links(directly(Options{Links: links, Lookup: env(nil), Settings: []Setting{OptMinMultiRecv.To(1000)}}))
			require.NoError(t, err)
			ep, err := Open(l.Links[0])
			require.NoError(t, err)
			defer func() { require.NoError(t, ep.Close()) }()
			v, err := OptMinMultiRecv.Get(ep)
			require.NoError(t, err)
			require.EqualValues(t, 1000, v)
			require.NoError(t, OptMinMultiRecv.Set(ep, 50))
			all, err := OptMinMultiRecv.Rails(ep)
			require.NoError(t, err)
			require.Len(t, all, len(ep.link.Rails))
			for _, v := range all {
				require.EqualValues(t, 50, v)
			}
			// sizes: the smallest of the rails
			for _, c := range []struct {
				o    Option[uint64]
				want func(r providers.Info) uint64
			}{
				{OptMaxMsgSize, func(r providers.Info) uint64 { return r.MaxMsgSize }},
				{OptMaxTaggedSize, func(r providers.Info) uint64 { return r.MaxMsgSize }},
				{OptMaxRMASize, func(r providers.Info) uint64 { return r.MaxMsgSize }},
				{OptInjectMsgSize, func(r providers.Info) uint64 { return r.InjectSize }},
				{OptInjectTaggedSize, func(r providers.Info) uint64 { return r.InjectSize }},
				{OptInjectRMASize, func(r providers.Info) uint64 { return r.InjectSize }},
				{OptInjectAtomicSize, func(r providers.Info) uint64 { return r.InjectSize }},
			} {
				v, err := c.o.Get(ep)
				require.NoError(t, err, c.o)
				require.Equal(t, c.want(ep.link.Info), v, c.o)
				all, err := c.o.Rails(ep)
				require.NoError(t, err)
				for i, r := range ep.link.Rails {
					require.Equal(t, c.want(r), all[i])
				}
			}
			atomic, err := OptMaxAtomicSize.Rails(ep)
			require.NoError(t, err)
			for i, r := range ep.link.Rails {
				require.Equal(t, map[string]uint64{"shm": 4096, "tcp;ofi_rxm": 16384 - 96}[r.Provider], atomic[i])
			}
			// options that a rail does not know: the error names both
			_, err = OptCMDataSize.Get(ep)
			require.ErrorIs(t, err, fierr.ENoProtoOpt)
			require.ErrorContains(t, err, "FI_OPT_CM_DATA_SIZE")
			require.ErrorContains(t, err, ep.link.Rails[0].Name())
			err = OptSharedMemoryPermitted.Set(ep, true)
			require.ErrorIs(t, err, fierr.ENoProtoOpt)
			require.ErrorContains(t, err, ep.link.Rails[0].Name())
			require.Error(t, OptCUDAAPIPermitted.Set(ep, false), "there is no CUDA here")
			_, err = NewOption[bool]("FI_OPT_OF_NOBODY", 12345, Same).Get(ep)
			require.ErrorIs(t, err, fierr.ENoProtoOpt)
			require.NoError(t, ep.Close())
			_, err = OptMinMultiRecv.Get(ep)
			require.ErrorIs(t, err, ErrClosed)
			require.ErrorIs(t, OptMaxMsgSize.Set(ep, 1), ErrClosed)
		})
	}
}

// Settings reach the rails before they are enabled; what they refuse fails Open.
func TestOptionSettings(t *testing.T) {
	open := func(links string, settings ...Setting) (*Endpoint, error) {
		l, err := Links(Options{Links: links, Lookup: env(nil), Settings: settings})
		require.NoError(t, err)
		return Open(l.Links[0])
	}
	for range 3 {
		ep, err := open("tcp:lo", OptBufferedMin.To(0))
		require.NoError(t, err)
		v, err := OptBufferedMin.Get(ep)
		require.NoError(t, err)
		require.Zero(t, v)
		require.ErrorIs(t, OptBufferedMin.Set(ep, 0), fierr.EOpBadState, "rxm takes it before it is enabled")
		require.NoError(t, ep.Close())

		_, err = open("shm+tcp:lo", OptBufferedMin.To(0))
		require.ErrorIs(t, err, fierr.ENoProtoOpt)
		require.ErrorContains(t, err, "FI_OPT_BUFFERED_MIN = 0")
		require.ErrorContains(t, err, "rail shm")
		_, err = open("tcp:lo", OptMinMultiRecv.To(5), Setting{})
		require.ErrorIs(t, err, fierr.EInval)
	}
}

// Rails that do not agree, refuse, or answer nonsense.
func TestOptionRules(t *testing.T) {
	rails := &optionRails{values: [][]byte{encode(uint64(7)), encode(uint64(5)), encode(uint64(9))}}
	l, err := Links(Options{Links: "shm", Lookup: env(nil)})
	require.NoError(t, err)
	link := *l.Links[0]
	for len(link.Rails) < 3 {
		r := link.Rails[0]
		r.Domain = fmt.Sprint("d", len(link.Rails))
		link.Rails = append(link.Rails, r)
	}
	ep := &Endpoint{link: &link, core: rails}
	v, err := NewOption[uint64]("X", 1, Smallest).Get(ep)
	require.NoError(t, err)
	require.EqualValues(t, 5, v)
	_, err = NewOption[uint64]("X", 1, Same).Get(ep)
	require.ErrorContains(t, err, "shm has 7, shm:d1 has 5")
	all, err := NewOption[uint64]("X", 1, Same).Rails(ep)
	require.NoError(t, err)
	require.Equal(t, []uint64{7, 5, 9}, all)
	_, err = NewOption[int32]("X", 1, Same).Get(ep)
	require.ErrorContains(t, err, "8 bytes, want 4")
	rails.refuses = 2
	err = NewOption[uint64]("X", 1, Same).Set(ep, 1)
	require.ErrorIs(t, err, fierr.EInval)
	require.ErrorContains(t, err, "shm:d2")
	require.Equal(t, [][]byte{encode(uint64(7)), encode(uint64(5)), encode(uint64(9))}, rails.values, "as before")
	rails.refuses = -1
	require.NoError(t, NewOption[uint64]("X", 1, Same).Set(ep, 1))
	v, err = NewOption[uint64]("X", 1, Same).Get(ep)
	require.NoError(t, err)
	require.EqualValues(t, 1, v)
	for _, b := range []bool{false, true} {
		got, err := decode[bool](encode(b))
		require.NoError(t, err)
		require.Equal(t, b, got)
	}
	i, err := decode[int32](encode(int32(-3)))
	require.NoError(t, err)
	require.EqualValues(t, -3, i)
}

type optionRails struct {
	providers.Core
	values  [][]byte
	refuses int
}

func (o *optionRails) Option(r, _ int, _ []byte) ([]byte, error) { return o.values[r], nil }

func (o *optionRails) SetOption(r, _ int, value []byte) error {
	if r == o.refuses {
		return fierr.EInval
	}
	o.values[r] = value
	return nil
}

// The numbers are those of libfabric's header.
func TestOptionNumbers(t *testing.T) {
	out, err := exec.Command("pkg-config", "--variable=includedir", "libfabric").Output()
	require.NoError(t, err)
	header, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "rdma", "fi_endpoint.h"))
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(header), "/* FI_OPT_ENDPOINT option names */")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, "};")
	numbers := map[string]int{}
	for i, name := range regexp.MustCompile(`FI_OPT_[A-Z0-9_]+`).FindAllString(list, -1) {
		numbers[name] = i
	}
	check := func(name string, number int) {
		n, ok := numbers[name]
		require.True(t, ok && n == number, "%s is %d, not %d", name, n, number)
	}
	for _, o := range []Option[uint64]{
		OptMinMultiRecv, OptCMDataSize, OptBufferedMin, OptBufferedLimit, OptMaxMsgSize, OptMaxTaggedSize, OptMaxRMASize, OptMaxAtomicSize,
		OptInjectMsgSize, OptInjectTaggedSize, OptInjectRMASize, OptInjectAtomicSize,
	} {
		check(o.name, o.number)
	}
	check(OptHMEMP2P.name, OptHMEMP2P.number)
	check(OptCUDAAPIPermitted.name, OptCUDAAPIPermitted.number)
	check(OptSharedMemoryPermitted.name, OptSharedMemoryPermitted.number)
}
