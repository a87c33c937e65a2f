package rail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
)

func TestHealthRoundTrips(t *testing.T) {
	for h := rail.Up; h <= rail.Down; h++ {
		got, err := rail.ParseHealth(h.String())
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
	got, err := rail.ParseHealth("UP")
	require.EqualError(t, err, `rail: health "UP" is unknown: use one of up, suspect, down`)
	require.Equal(t, rail.Down, got, "what is not understood takes no traffic")
	require.Equal(t, "health 9", rail.Health(9).String())
}

func TestStats(t *testing.T) {
	var s rail.Stats
	s.TSend(100)
	s.TSend(200)
	before := s
	s.TInject(8)
	s.Send(1)
	s.Inject(1)
	s.Inject(1)
	s.Expected(10)
	s.Unexpected(20)
	s.Unexpected(30)
	s.Error()
	require.Equal(t, rail.Stats{TSends: 2, TInjects: 1, Sends: 1, Injects: 2, TxBytes: 311, RxExpected: 1, RxUnexpected: 2, RxBytes: 60, Errors: 1}, s)
	require.Equal(t, rail.Stats{TInjects: 1, Sends: 1, Injects: 2, TxBytes: 11, RxExpected: 1, RxUnexpected: 2, RxBytes: 60, Errors: 1}, s.Sub(before))
	require.Equal(t, "tsend 2, tinject 1, send 1, inject 2, tx 311 B, expected 1, unexpected 2, rx 60 B, errors 1", s.String())
	s.Read(5)
	before = s
	s.Write(7)
	require.Equal(t, "tsend 2, tinject 1, send 1, inject 2, tx 311 B, read 1, write 1, rma 12 B, expected 1, unexpected 2, rx 60 B, errors 1", s.String())
	require.Equal(t, rail.Stats{Writes: 1, RMABytes: 7}, s.Sub(before))
	var sink rail.Stats
	require.Zero(t, testing.AllocsPerRun(100, func() { sink.TSend(8); sink.Expected(8) }))
}

func TestDistance(t *testing.T) {
	rails := nics(4) // nodes 0, 1, 0, 1
	rails[2].NUMA, rails[3].NUMA = -1, 7
	plain := selector(t, rails, rail.Options{}).Rails()
	table := selector(t, rails, rail.Options{Distances: [][]int{{10, 32}, {32, 10}}}).Rails()
	for _, c := range []struct{ node, rail, plain, table int }{
		{-1, 0, 0, 0}, // no hint: all alike
		{-1, 2, 0, 0},
		{0, 0, 10, 10},
		{0, 1, 20, 32},
		{1, 0, 20, 32},
		{0, 2, 20, 32}, // node unknown: the farthest
		{0, 3, 20, 32}, // outside the table: the farthest
		{7, 3, 10, 10}, // but its own is its own
		{9, 0, 20, 20},
	} {
		require.Equal(t, c.plain, plain.Distance(c.node, c.rail), "%+v", c)
		require.Equal(t, c.table, table.Distance(c.node, c.rail), "%+v, with a table", c)
	}
}
