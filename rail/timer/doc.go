// Package timer measures every operation that this side starts, from the call to its
// completion, on the rails' hooks (package intercept), and samples the NICs' counters
// on the same clock. It writes one set of CSV files for each rank, and reads them again.
//
// # Recording
//
// [FromEnv] makes a [Config] of the environment, [New] a [Recorder] of that, and
// [Recorder.Hooks] is what to register before endpoints are opened. [Recorder.Close]
// ends it.
//
//	INTERCEPT_TIMER_DIR            where the files go; unset or empty: no recording
//	INTERCEPT_TIMER_OPS_MB         limit of the operations' file in MiB (1024), 0 for none
//	INTERCEPT_TIMER_NIC_MB         limit of the counters' file in MiB (256), 0 for none
//	INTERCEPT_TIMER_OPS_MIN_BYTES  shorter operations are left out (0)
//	INTERCEPT_TIMER_OPS_RANKS      ranks that record operations, as 0,4-7 (all)
//	INTERCEPT_TIMER_OPS_NIC        local NICs whose operations are recorded, as cxi0,eth* (all)
//	INTERCEPT_TIMER_NIC            1 samples NIC counters (0)
//	INTERCEPT_TIMER_NIC_DEV        NICs to sample, as cxi0,cxi1 (those of the rails)
//	INTERCEPT_TIMER_NIC_MS         time between two samples in milliseconds (10)
//	INTERCEPT_TIMER_NIC_COUNTERS   counters to sample, as hni_*,rh.* (all)
//	INTERCEPT_TIMER_CQGAP          microseconds without a look at a completion queue from
//	                               which a gap is recorded, 0 for never (0)
//
// docs/timer.md says more of each.
//
// On the data path an operation takes a slot of its endpoint, which stands in for the
// caller's context until the completion, and leaves a record of fixed size in a ring. A
// goroutine of the recorder writes the files. Nothing is allocated and nothing waits:
// what finds no slot or no room in the ring is counted as dropped.
//
// # Reading
//
// [Files] finds the files of all ranks in a directory; [OpenOps] and its kin read them
// row by row. docs/formats.md describes the columns.
package timer
