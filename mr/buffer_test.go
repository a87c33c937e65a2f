package mr_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/mr"
	"golnx/providers/fierr"
)

func TestBuffer(t *testing.T) {
	for name, alloc := range map[string]func(int) (*mr.Buffer, error){"Alloc": mr.Alloc, "AllocHuge": mr.AllocHuge} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 4095, 4096, 4097, 1 << 20, 2<<20 + 1} {
				b, err := alloc(n)
				require.NoError(t, err)
				mem := b.Bytes()
				require.Len(t, mem, n)
				require.Equal(t, n, cap(mem), "what lies behind is nobody's")
				require.Zero(t, addrOf(mem)%uintptr(os.Getpagesize()))
				if b.Pages() != mr.Plain {
					require.Zero(t, addrOf(mem)%(2<<20), "%v", b.Pages())
				}
				require.True(t, !slices.ContainsFunc(mem, func(c byte) bool { return c != 0 }), "zeroed")
				for i := range mem {
					mem[i] = byte(i)
				}
				require.Equal(t, byte(n-1), b.Bytes()[n-1])
				require.NoError(t, b.Free())
				require.Nil(t, b.Bytes())
				require.ErrorIs(t, b.Free(), mr.ErrFreed)
			}
		})
	}
	b, err := mr.Alloc(1)
	require.NoError(t, err)
	require.Equal(t, mr.Plain, b.Pages())
	require.Equal(t, "plain pages", b.Pages().String())
	require.NoError(t, b.Free())
}

// What AllocHuge says of its pages is what the kernel says.
func TestHugePages(t *testing.T) {
	b, err := mr.AllocHuge(4 << 20)
	require.NoError(t, err)
	defer b.Free()
	var flags string
	smaps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	in := false
	for line := range strings.Lines(string(smaps)) {
		var start, end uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
			in = start <= addrOf(b.Bytes()) && addrOf(b.Bytes()) < end
		}
		if f, ok := strings.CutPrefix(line, "VmFlags:"); ok && in {
			flags = f
		}
	}
	require.NotEmpty(t, flags)
	t.Log(b.Pages(), flags)
	require.Equal(t, b.Pages() == mr.Huge, strings.Contains(flags, " ht"))
	require.Equal(t, b.Pages() == mr.Transparent, strings.Contains(flags, " hg"))
}

func TestAllocRefuses(t *testing.T) {
	for _, alloc := range []func(int) (*mr.Buffer, error){mr.Alloc, mr.AllocHuge} {
		for _, n := range []int{0, -1, 1<<46 + 1} {
			_, err := alloc(n)
			require.ErrorIs(t, err, fierr.EInval)
			require.ErrorContains(t, err, fmt.Sprint(n))
		}
		_, err := alloc(1 << 46)
		require.ErrorIs(t, err, fierr.ENoMem)
		require.ErrorContains(t, err, fmt.Sprint(1<<46))
	}
}

// Of many who free a buffer one does.
func TestFreeAtOnce(t *testing.T) {
	b, err := mr.Alloc(1 << 16)
	require.NoError(t, err)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = b.Free() })
	}
	wg.Wait()
	freed := 0
	for _, err := range errs {
		if err == nil {
			freed++
		} else {
			require.ErrorIs(t, err, mr.ErrFreed)
		}
	}
	require.Equal(t, 1, freed)
}

// Free ends what is cached of the memory in every Manager, and is refused while a region
// or an operation uses it.
func TestFreeOfRegisteredMemory(t *testing.T) {
	a, b := newWorld(t, mr.Options{}, verbsMode), newWorld(t, mr.Options{}, verbsMode)
	buffer, err := mr.Alloc(1 << 16)
	require.NoError(t, err)
	mem := buffer.Bytes()
	r := a.register(t, mem[:100], mr.RemoteRead)
	_, err = r.RemoteKey()
	require.NoError(t, err)
	lease := b.acquire(t, 0, mem[5000:6000], mr.Send)
	b.Release(b.acquire(t, 0, mem[9000:], mr.Send))

	require.ErrorIs(t, buffer.Free(), mr.ErrBusy)
	require.NotNil(t, buffer.Bytes())
	require.NoError(t, r.Close())
	require.ErrorIs(t, buffer.Free(), mr.ErrBusy)
	require.Equal(t, []int{1}, b.live(), "what nobody used is gone")
	b.Release(lease)
	require.NoError(t, buffer.Free())
	require.Zero(t, a.domains[0].Live()+b.domains[0].Live())
}

func TestOnFree(t *testing.T) {
	b, err := mr.Alloc(5000)
	require.NoError(t, err)
	var asked []string
	refuse := errors.New("not now")
	remove := mr.OnFree(func(mem []byte) error {
		require.Equal(t, addrOf(b.Bytes()), addrOf(mem), "hooks may ask the buffer")
		require.Len(t, mem, 5000)
		asked = append(asked, "a")
		return refuse
	})
	defer mr.OnFree(func([]byte) error { asked = append(asked, "b"); return nil })()
	require.ErrorIs(t, b.Free(), refuse)
	remove()
	remove()
	require.NoError(t, b.Free())
	require.Equal(t, []string{"a", "b"}, asked)
}
