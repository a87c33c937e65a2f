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
		TxBytes:    s.TxBytes - earlier.TxBytes,
		RxExpected: s.RxExpected - earlier.RxExpected, RxUnexpected: s.RxUnexpected - earlier.RxUnexpected,
		RxBytes: s.RxBytes - earlier.RxBytes,
		Errors:  s.Errors - earlier.Errors,
	}
}

// String is one line for logs.
func (s Stats) String() string {
	return fmt.Sprintf("tsend %d, tinject %d, send %d, inject %d, tx %d B, expected %d, unexpected %d, rx %d B, errors %d",
		s.TSends, s.TInjects, s.Sends, s.Injects, s.TxBytes, s.RxExpected, s.RxUnexpected, s.RxBytes, s.Errors)
}
