package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// rows are the counters of a table.
func rows(table string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^│ ([a-z]\S+)`).FindAllStringSubmatch(table, -1) {
		names = append(names, m[1])
	}
	return names[1:] // the heading
}

func TestCounters(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"hni_?x_paused_3", []string{"hni_tx_paused_#", "hni_rx_paused_#"}},
		{"rh.nack_*", []string{"rh.nack_no_target_conn", "rh.nack_no_target_trs", "rh.nack_no_target_mst", "rh.nack_no_matching_conn", "rh.nack_resource_busy", "rh.nack_trs_pend_rsp", "rh.nack_sequence_error"}},
		{"rndzv_puts", []string{"lpe_rndzv_puts_#", "lpe_rndzv_puts_offloaded_#"}},
		{"Larger pages", []string{"atu_cache_evictions"}},
		{"hni_pkts_sent_by_tc_3", []string{"hni_pkts_sent_by_tc_3"}},
		{"rh:nacks", []string{"rh:nacks"}},
		{"lpe_of_the_future", []string{"lpe_of_the_future"}},
	} {
		got := within(t, "counters", c.pattern)
		require.Zero(t, got.code, got.stderr)
		require.Equal(t, c.want, rows(got.stdout), c.pattern)
		require.Contains(t, got.stdout, "best effort")
	}
	require.Contains(t, within(t, "counters", "hni_pkts_sent_by_tc_3").stdout, "Packets sent in traffic class 3.")
	require.Greater(t, len(rows(within(t, "counters").stdout)), 60)
}

func TestCountersUnknown(t *testing.T) {
	got := within(t, "counters", "rx_bytes")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, `nothing is known of "rx_bytes"`)
	require.Empty(t, got.stdout)
	require.Equal(t, exitUsage, within(t, "counters", "[").code)
}
