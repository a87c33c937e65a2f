// Package sim implements [providers.Core] over a network that exists only in
// memory and in virtual time, so that what happens in a test is exact and
// happens again.
//
// A [Fabric] owns the time and the messages under way. [Fabric.Open] opens an
// endpoint on it, with one rail for each [Rail] given. Rails with the same
// Info.Fabric reach each other.
//
// # Time
//
// Time is a count of nanoseconds from 0. It stands still while code runs, and
// moves when a test calls [Fabric.Advance] or [Fabric.Step] or, with
// Options.Auto, when an endpoint is driven that has nothing to do: then time goes
// on to whatever happens next, anywhere on the fabric. With Auto nothing waits
// for ever that would not wait for ever over a real network, and the timing is
// exact as long as all endpoints are driven in turn.
//
// # Messages
//
// A rail sends its messages one after another at its Rate. A send completes when
// its last byte has left, which is also when the buffer is read (inject copies at
// once); the message arrives Latency (and some Jitter) later. Messages from one
// rail to another stay in order. An endpoint takes in what has arrived when it is
// driven, in the order of arrival over all rails driven.
//
// A receive that is too short gets the first bytes and completes with ETRUNC, as
// with package providers/ofi.
//
// # Failures
//
// [Core.Down] takes a rail away and [Core.Up] brings it back; [Loss] says what
// becomes of its messages. Rail.MaxPeers and Info.TxSize are limits that are
// easily reached.
//
// # Breaches
//
// A simulated Core watches its owner: a slot that is freed twice, used when free,
// or freed while a message has it is a breach of the contract of [providers.Core],
// which [Fabric.Err] reports.
package sim
