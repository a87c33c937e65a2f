package rail

import (
	"fmt"
	"strings"
)

// Health says whether a rail takes traffic. The order is from best to worst.
type Health uint8

const (
	// Up is the usual state.
	Up Health = iota
	// Suspect means that errors were seen and not judged yet. The rail keeps
	// the peers pinned to it, and is offered new traffic only where no rail
	// that is Up reaches the peer.
	Suspect
	// Down rails are sent nothing.
	Down
)

var healthNames = [...]string{Up: "up", Suspect: "suspect", Down: "down"}

// String answers "up", "suspect" or "down".
func (h Health) String() string {
	if int(h) < len(healthNames) {
		return healthNames[h]
	}
	return fmt.Sprintf("health %d", uint8(h))
}

// ParseHealth reads what String writes.
func ParseHealth(s string) (Health, error) {
	for h, name := range healthNames {
		if s == name {
			return Health(h), nil
		}
	}
	return Down, fmt.Errorf("rail: health %q is unknown: use one of %s", s, strings.Join(healthNames[:], ", "))
}
