package rail

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoPath: no rail of the endpoint reaches the peer.
	ErrNoPath = errors.New("no rail reaches the peer")
	// ErrAllDown: rails reach the peer, and every one is down. The error is
	// an *AllDownError.
	ErrAllDown = errors.New("every rail to the peer is down")
	// ErrUnknownPolicy: no policy is registered under the name.
	ErrUnknownPolicy = errors.New("unknown policy")
	// ErrForeignPeer: the Peer was not made by this Selector.
	ErrForeignPeer = errors.New("rail: the peer was not made by this endpoint's selector: make one with its NewPeer")
	// ErrBadPick: a policy answered with a path that cannot be used.
	ErrBadPick = errors.New("policy picked an unusable path")
)

// PanicError is an error of a policy that panicked. It matches ErrBadPick.
type PanicError struct {
	Policy string
	Value  any // of panic
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("rail: policy %s panicked: %v", e.Policy, e.Value)
}

// Is reports whether target is ErrBadPick.
func (e *PanicError) Is(target error) bool { return target == ErrBadPick }

// AllDownError lists the rails that reach a peer when none takes traffic. It
// matches ErrAllDown.
type AllDownError struct {
	Peer   uint64
	Rails  []Info
	Health []Health
}

func (e *AllDownError) Error() string {
	rails := make([]string, len(e.Rails))
	for i := range e.Rails {
		rails[i] = fmt.Sprintf("%v is %v", &e.Rails[i], e.Health[i])
	}
	return fmt.Sprintf("rail: peer %d: every rail that reaches it is down: %s; bring one up, or link another provider or domain",
		e.Peer, strings.Join(rails, ", "))
}

// Is reports whether target is ErrAllDown.
func (e *AllDownError) Is(target error) bool { return target == ErrAllDown }
