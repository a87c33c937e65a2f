package nic

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ counter, want string }{
		{"hni_sts_tx_ok_octets", "Bytes sent in good packets."},
		{"hni_pkts_sent_by_tc_0", "Packets sent in traffic class 0. The class of HPC data depends on the site; requests and responses have different ones."},
		{"hni_pkts_sent_by_tc_17", "Packets sent in traffic class 17. The class of HPC data depends on the site; requests and responses have different ones."},
		{"hni_pkts_recv_by_tc_#", "Packets received in traffic class #."},
		{"hni_rx_ok_36_to_63", "Good packets received of 36 to 63 bytes."},
		{"hni_rx_ok_64", "Good packets received of just 64 bytes."},
		{"hni_rx_ok_8192_to_max", "Good packets received of 8192 bytes and more."},
		{"hni_rx_ok_tagged", "Good packets received, of one kind."},
		{"pct_prf_smt_status_max_smt_in_use", "How full a table of the packet tracking is, now or at most (max). A level, not a count."},
		{"atu_cache_hit_derivative1_page_size_2", "Translations found in the cache as pages of the first larger size, of pool 2."},
		{"cq_num_txq_cmd_reads_3", "Reads of commands to send from the host's memory, of size 3: 0 is 64 bytes, 1 is 128, 2 is 192, 3 is 256."},
		{"rh.nacks", "Refusals (NACK) received, of all kinds."},
		{"rh:nacks", "Refusals (NACK) received, of all kinds."},
		{"rh.max_parked_nids", "The most of something since the retry handler began."},
		{"mst_mem_ucor_err_cntr", "Errors of this block's memory that could not be mended. Not 0 is broken hardware."},
		{"ixe_get_len_errors", "Packets received with an error, by kind."},
		{"mb_of_the_future_4", "Of the management block (MB): accesses to registers. Says nothing about traffic."},
	} {
		text, ok := Describe(c.counter)
		require.True(t, ok, c.counter)
		require.Equal(t, c.want, text, c.counter)
	}
}

func TestDescribeUnknown(t *testing.T) {
	for _, counter := range []string{"", "_", "__", "#", "0", "*", "rh", "hni", "rx_bytes", "port1.port_xmit_data", "hni/x", "\xff", "[", strings.Repeat("_", 10000)} {
		text, ok := Describe(counter)
		require.False(t, ok, "%q: %s", counter, text)
		require.Empty(t, text)
	}
}

// What users meet first: HPE's groups of counters, and what MPI reports by default.
func TestCassiniFirstMet(t *testing.T) {
	for _, counter := range strings.Fields(`
		hni_pkts_sent_by_tc_0 hni_pkts_recv_by_tc_7 hni_tx_paused_1 hni_rx_paused_1 hni_rx_paused_std
		hni_pcs_good_cw hni_pcs_corrected_cw hni_pcs_uncorrected_cw hni_llr_tx_replay_event hni_llr_rx_replay_event
		hni_tx_ok_27 hni_tx_ok_35 hni_tx_ok_36_to_63 hni_tx_ok_4096_to_8191 hni_tx_ok_8192_to_max hni_sts_rx_ok_octets
		parbs_tarb_pi_posted_pkts parbs_tarb_pi_posted_blocked_cnt parbs_tarb_pi_non_posted_pkts parbs_tarb_pi_non_posted_blocked_cnt
		pi_pti_tarb_mrd_pkts pi_pti_tarb_mwr_pkts oxe_mcu_meas_95 oxe_channel_idle
		ixe_disp_dmawr_reqs ixe_dmawr_stall_p_cdt ixe_dmawr_stall_np_cdt ixe_tc_req_ecn_pkts_3 ixe_pool_no_ecn_pkts_0
		lpe_net_match_priority_0 lpe_net_match_overflow_0 lpe_net_match_request_0 lpe_net_match_requests_0
		lpe_append_cmds_0 lpe_search_nid_any_0 lpe_rndzv_puts_0 lpe_rndzv_puts_offloaded_0 lpe_amo_cmds lpe_famo_cmds
		atu_cache_miss_0 atu_cache_evictions atu_client_req_ee atu_client_req_ixe atu_client_req_oxe atu_cache_miss_ee
		atu_cache_miss_ixe atu_cache_miss_oxe atu_cache_hit_base_page_size_0 atu_cache_hit_derivative1_page_size_0 atu_ats_trans_latency_0
		cq_dma_cmd_counts_1 cq_cq_cmd_counts_0 cq_num_dma_cmds_0 cq_num_idc_cmds_0
		pct_spt_timeouts pct_sct_timeouts pct_no_tct_nacks pct_no_trs_nacks pct_no_mst_nacks pct_retry_srb_requests pct_trs_rsp_nack_drops
		pct_req_ordered pct_req_unordered pct_responses_received pct_conn_sct_open pct_host_access_latency_15 pct_req_rsp_latency_31 pct_mst_hit_on_som
		rh:sct_timeouts rh:spt_timeouts rh:spt_timeouts_o rh:spt_timeouts_u rh:tct_timeouts rh:connections_cancelled
		rh:nack_no_matching_conn rh:nack_no_target_conn rh:nack_no_target_mst rh:nack_no_target_trs rh:nack_resource_busy rh:nacks
		rh:nack_sequence_error rh:pkts_cancelled_o rh:pkts_cancelled_u rh:sct_in_use`) {
		_, ok := Describe(counter)
		require.True(t, ok, counter)
		own, _ := cutNumbers(strings.Replace(counter, ":", ".", 1))
		require.True(t, names()[own], "%s has only the meaning of its family", counter)
	}
}

func names() map[string]bool {
	m := map[string]bool{}
	for _, meaning := range CassiniMeanings() {
		m[meaning.Counter] = true
	}
	return m
}

// Each entry can be reached, and is written as the file says.
func TestCassiniTable(t *testing.T) {
	require.Len(t, names(), len(CassiniMeanings()), "a counter has two entries")
	for _, m := range CassiniMeanings() {
		require.True(t, strings.HasSuffix(m.Text, ".") || strings.HasSuffix(m.Text, ".)"), "%s: no sentence", m.Counter)
		require.NotContains(t, m.Text, "  ", m.Counter)
		require.NotContains(t, m.Text, "\t", m.Counter)
		_, err := path.Match(m.Counter, "")
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(m.Text, "#"), strings.Count(m.Counter, "#"), m.Counter)
		text, ok := Describe(strings.NewReplacer("#", "5", "*", "any").Replace(m.Counter))
		require.True(t, ok, m.Counter)
		require.Equal(t, strings.ReplaceAll(m.Text, "#", "5"), text, m.Counter)
	}
}
