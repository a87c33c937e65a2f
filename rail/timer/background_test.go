package timer

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/rail/intercept"
	"golnx/rail/timer/nic"
)

func TestCQGaps(t *testing.T) {
	var now atomic.Int64
	r, hooks := start(t, Config{CQGap: 100}, Env{Clock: now.Load})
	w := newWorld(t, 4, hooks, "eth0")
	look := func() {
		_, err := hooks[0].CQRead(w.view, nil, func([]intercept.Entry) (int, error) { return 0, nil })
		require.NoError(t, err)
	}
	wait := func(inside func()) {
		_, err := hooks[0].CQWait(w.view, nil, func([]intercept.Entry) (int, error) { inside(); return 0, nil })
		require.NoError(t, err)
	}
	now.Store(1000)
	look()          // the first: before it nobody could
	now.Store(1100) // not longer than the limit
	look()
	now.Store(1201)
	look() // a gap
	now.Store(1400)
	require.NoError(t, w.send(0, 0, nil, 0, nil))
	now.Store(1401)
	w.end(0, 0, 0) // somebody drives the rails
	now.Store(1450)
	wait(func() { // no gap: 1401 was the last sign
		now.Store(1900)
		look() // not while somebody waits
		now.Store(2000)
	})
	now.Store(2150)
	wait(func() {}) // a gap, from the end of the wait
	require.NoError(t, r.Close())
	gaps, bad, _ := read(t, OpenCQGaps, cqGapsFile.path(r.cfg.Dir, 0))
	require.Empty(t, bad)
	require.Equal(t, []CQGap{{1100, 1201, 4}, {2000, 2150, 4}}, gaps)
	_, _, m := recorded(t, r)
	require.Equal(t, RowCounts{Recorded: 2}, m.CQGaps)
}

// Without INTERCEPT_TIMER_NIC_DEV the NICs of the rails are sampled, from when their
// endpoint is there.
func TestNICsOfRails(t *testing.T) {
	root := t.TempDir()
	put := func(device, counter, value string) {
		path := filepath.Join(root, "sys/class/net", device, "statistics", counter)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(value), 0o644))
	}
	for _, d := range []string{"eth0", "eth1", "eth2"} {
		put(d, "rx_bytes", "10")
		put(d, "tx_bytes", "20")
	}
	sampled := make(chan bool)
	ts := new(tickers)
	cfg := Config{NIC: true, NICCounters: []string{"rx_*"}}
	r, hooks := start(t, cfg, Env{Ticker: ts.ticker, Sources: []nic.Source{watched{nic.Network{Root: root}, sampled}}})
	w := newWorld(t, 1, hooks, "eth1", "shm")
	<-sampled
	put("eth1", "rx_bytes", "11")
	ts.of(defaultNICEvery) <- time.Time{}
	<-sampled
	written := func() (values []uint64) {
		samples, bad, _ := read(t, OpenNIC, nicFile.path(r.cfg.Dir, 0))
		require.Empty(t, bad)
		for _, s := range samples {
			require.Equal(t, "eth1", s.Device)
			require.Equal(t, "rx_bytes", s.Counter)
			values = append(values, s.Value)
		}
		return values
	}
	ts.of(defaultNICEvery) <- time.Time{}
	<-sampled // the same again, which waits
	go func() { <-sampled }()
	w.closing(hooks) // reads once more, and writes it
	require.Equal(t, []uint64{10, 11, 11}, written())
	go func() { <-sampled }()
	require.NoError(t, r.Close())
	require.Equal(t, 2, ts.stopped)
	require.Equal(t, []uint64{10, 11, 11, 11}, written())
}

func TestNoNIC(t *testing.T) {
	warnings := new(log)
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sys/class/net/eth0"), 0o755))
	r, hooks := start(t, Config{NIC: true}, Env{Ticker: new(tickers).ticker, Warn: warnings, Sources: nic.All(root)})
	newWorld(t, 1, hooks, "shm")
	require.NoError(t, r.Close())
	require.Equal(t, "golnx op timer: no counters were found of the rails' devices (shm) that INTERCEPT_TIMER_NIC_COUNTERS=\"\" fits: name others of eth0 in INTERCEPT_TIMER_NIC_DEV\n", warnings.String())
	_, _, m := recorded(t, r)
	require.Equal(t, RowCounts{Ended: "no counters were found"}, m.NIC)
}
