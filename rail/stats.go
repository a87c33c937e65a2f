package rail

import "fmt"

// Stats counts what one rail did. The fields are plain: they are written under
// the endpoint's progress lock, and a snapshot is a copy made under that lock.
// Counters wrap at 2^64.
type Stats struct {
	// TSends and TInjects are messages the core provider accepted, by kind of
	// call (fi_tsend and its kin, fi_tinject and its kin). A call answered
	// with FI_EAGAIN is not counted.
	TSends, TInjects uint64
	// Sends and Injects are the same of untagged messages (fi_send, fi_inject and
	// their kin).
	Sends, Injects uint64
	// TxBytes is the payload of those messages.
	TxBytes uint64
	// Reads and Writes are accepted operations on peers' memory (fi_read, fi_write and
	// their kin), RMABytes what they move.
	Reads, Writes, RMABytes uint64
	// Atomics are accepted atomic operations, AtomicBytes what they change or fetch.
	Atomics, AtomicBytes uint64
	// RxExpected is messages that met a posted receive, RxUnexpected those
	// that arrived before their receive was posted.
	RxExpected, RxUnexpected uint64
	// RxBytes is the payload of received messages, as sent.
	RxBytes uint64
	// Errors is calls and completions that failed, FI_EAGAIN aside.
	Errors uint64
}

// TSend counts an accepted tagged send of n bytes.
func (s *Stats) TSend(n uint64) { s.TSends++; s.TxBytes += n }

// TInject counts an accepted tagged inject of n bytes.
func (s *Stats) TInject(n uint64) { s.TInjects++; s.TxBytes += n }

// Read counts an accepted RMA read of n bytes.
func (s *Stats) Read(n uint64) { s.Reads++; s.RMABytes += n }

// Write counts an accepted RMA write of n bytes.
func (s *Stats) Write(n uint64) { s.Writes++; s.RMABytes += n }

// Atomic counts an accepted atomic operation on n bytes.
func (s *Stats) Atomic(n uint64) { s.Atomics++; s.AtomicBytes += n }

// Send counts an accepted untagged send of n bytes.
func (s *Stats) Send(n uint64) { s.Sends++; s.TxBytes += n }

// Inject counts an accepted untagged inject of n bytes.
func (s *Stats) Inject(n uint64) { s.Injects++; s.TxBytes += n }

// Expected counts an arrived message of n bytes that met a posted receive.
func (s *Stats) Expected(n uint64) { s.RxExpected++; s.RxBytes += n }

// Unexpected counts an arrived message of n bytes that met none.
func (s *Stats) Unexpected(n uint64) { s.RxUnexpected++; s.RxBytes += n }

// Error counts a failed call or completion.
func (s *Stats) Error() { s.Errors++ }

// Sub answers what happened since the earlier snapshot.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		TSends: s.TSends - earlier.TSends, TInjects: s.TInjects - earlier.TInjects,
		Sends: s.Sends - earlier.Sends, Injects: s.Injects - earlier.Injects,
		TxBytes: s.TxBytes - earlier.TxBytes,
		Reads:   s.Reads - earlier.Reads, Writes: s.Writes - earlier.Writes, RMABytes: s.RMABytes - earlier.RMABytes,
		Atomics: s.Atomics - earlier.Atomics, AtomicBytes: s.AtomicBytes - earlier.AtomicBytes,
		RxExpected: s.RxExpected - earlier.RxExpected, RxUnexpected: s.RxUnexpected - earlier.RxUnexpected,
		RxBytes: s.RxBytes - earlier.RxBytes,
		Errors:  s.Errors - earlier.Errors,
	}
}

// String is one line for logs.
func (s Stats) String() string {
	var rma string
	if s.Reads+s.Writes > 0 {
		rma = fmt.Sprintf("read %d, write %d, rma %d B, ", s.Reads, s.Writes, s.RMABytes)
	}
	if s.Atomics > 0 {
		rma += fmt.Sprintf("atomic %d, %d B, ", s.Atomics, s.AtomicBytes)
	}
	return fmt.Sprintf("tsend %d, tinject %d, send %d, inject %d, tx %d B, "+rma+"expected %d, unexpected %d, rx %d B, errors %d",
		s.TSends, s.TInjects, s.Sends, s.Injects, s.TxBytes, s.RxExpected, s.RxUnexpected, s.RxBytes, s.Errors)
}
