package lnx_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// onlyEnv is an environment of these variables.
func onlyEnv(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { text, ok := vars[name]; return text, ok }
}

// stderrOf answers what this process writes to standard error from now on. What was given
// the file keeps it.
func stderrOf(t *testing.T) (text func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(path)
	require.NoError(t, err)
	stderr := os.Stderr
	os.Stderr = f
	t.Cleanup(func() { os.Stderr = stderr; require.NoError(t, f.Close()) })
	return func() string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
}

// LFI_TRACE=1 tells every step of set-up, and nothing of what comes between opening and
// closing.
func TestTraceOfSetUp(t *testing.T) {
	text := stderrOf(t)
	opts := choice{Links: "shm+tcp:lo"}.options()
	opts.Lookup = onlyEnv(map[string]string{"LFI_TRACE": "1"})
	a := openNode(t, opts)
	opened := text()
	b := openNode(t, choice{Links: "shm+tcp:lo"}.options())
	require.Equal(t, opened, text(), "an endpoint that is not traced")

	toB, toA := a.insert(b.ep.Name()), b.insert(a.ep.Name())
	exchangeOne(t, a, b, toB, toA)
	for i := range 100 {
		in := b.post(100, toA, uint64(i), 0)
		out, err := startWith(a, b, toB, message{Size: i % 64, Tag: uint64(i), Inject: i%2 == 0, Parts: i % 3})
		require.NoError(t, err)
		sendBoth(a, b, out, in)
	}
	require.NoError(t, a.ep.TRecvMsg(&lnx.Msg{Addr: toB, Tag: 3, Context: t}, lnx.FlagPeek))
	a.until(func() bool { return len(a.oddErr) == 1 })
	require.NoError(t, a.ep.Cancel(a.post(10, toB, 4, 0)))
	require.Error(t, a.ep.TSend(nil, 99, 0, nil))
	require.NoError(t, a.ep.TSend(nil, toB, 5, "waited for"))
	_, err := a.ep.CQ().Wait(t.Context(), make([]lnx.Entry, 4))
	require.ErrorIs(t, err, fierr.EAvail) // the receive that was cancelled
	require.NoError(t, a.ep.AV().Remove(toB))
	require.Equal(t, opened, text(), "the data path")
	require.NoError(t, a.ep.Close())
	require.NoError(t, b.ep.Close())

	const caps = `FI_\w+(\|FI_\w+)*`
	want := []string{
		`getinfo of shm with caps ` + caps + `: 1 answers, error <nil>`,
		`  shm, domain shm, fabric shm`,
		`getinfo of tcp;ofi_rxm with caps ` + caps + `: \d+ answers, error <nil>`,
		`(  tcp;ofi_rxm, domain \S+, fabric \S+\nlnx trace: )*  tcp;ofi_rxm, domain \S+, fabric \S+`,
		`endpoint N: cq of rail 0 \(shm\) with \d+ entries: error <nil>`,
		`endpoint N: cq of rail 1 \(tcp;ofi_rxm:lo\) with \d+ entries: error <nil>`,
	}
	for _, rail := range []string{`0 \(shm\)`, `1 \(tcp;ofi_rxm:lo\)`} {
		for _, step := range []string{"domain", "endpoint"} {
			want = append(want, `endpoint N: `+step+` of rail `+rail+`: asked caps `+caps+`, got `+caps+`, mode 0, msg_order `+caps)
		}
	}
	want = append(want, `endpoint N: opened: shm\+tcp;ofi_rxm:lo, lnx://\S+`, `endpoint N: closing: shm\+tcp;ofi_rxm:lo, lnx://\S+`)
	numbered := regexp.MustCompile(`endpoint \d+: `).ReplaceAllString(text(), "endpoint N: ")
	require.Regexp(t, `^lnx trace: `+strings.Join(want, "\nlnx trace: ")+"\n$", numbered)
}

func TestTraceIsOff(t *testing.T) {
	text := stderrOf(t)
	for _, vars := range []map[string]string{{}, {"LFI_TRACE": ""}, {"LFI_TRACE": "0"}} {
		opts := choice{Links: "shm"}.options()
		opts.Lookup = onlyEnv(vars)
		a := openNode(t, opts)
		require.NoError(t, a.ep.Close())
	}
	require.Empty(t, text())
	for _, bad := range []string{"2", "yes", "true", " 1"} {
		opts := choice{Links: "shm"}.options()
		opts.Lookup = onlyEnv(map[string]string{"LFI_TRACE": bad})
		l, err := lnx.Links(opts)
		require.EqualError(t, err, `LFI_TRACE="`+bad+`": 1 traces set-up on standard error, 0 does not`)
		require.Empty(t, l.Links)
	}
}
