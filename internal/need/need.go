// Package need lets a test say what it cannot do without.
package need

import (
	"fmt"
	"os"
	"testing"
)

// Missing is why a test cannot run on this machine.
type Missing struct {
	What string // cannot be had or done, as "network namespaces cannot be made"
	Err  error  // what showed it; nil if What says all
	Do   string // what gives it, as "run as root"
}

func (m *Missing) Error() string {
	if m.Err == nil {
		return fmt.Sprintf("%s: %s", m.What, m.Do)
	}
	return fmt.Sprintf("%s: %v; %s", m.What, m.Err, m.Do)
}

// Unwrap answers Err.
func (m *Missing) Unwrap() error { return m.Err }

// Skip ends a test on a machine that lacks something. Where CI is set in the environment,
// as .ci/run sets it, nothing may be missing: the test fails there.
func Skip(t testing.TB, m *Missing) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(m)
	}
	t.Skip(m)
}
