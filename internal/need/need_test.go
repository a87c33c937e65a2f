package need

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// ended is a test that only notes how it ended.
type ended struct {
	testing.TB
	how string
	why []any
}

func (e *ended) Helper()          {}
func (e *ended) Skip(why ...any)  { e.how, e.why = "skipped", why }
func (e *ended) Fatal(why ...any) { e.how, e.why = "failed", why; panic(e) }

func skip(m *Missing) (e *ended) {
	e = new(ended)
	defer func() { _ = recover() }() // as Fatal does not return
	Skip(e, m)
	return e
}

func TestSkip(t *testing.T) {
	cause := errors.New("operation not permitted")
	m := &Missing{"hosts cannot be made", cause, "run as root"}
	t.Setenv("CI", "")
	e := skip(m)
	require.Equal(t, "skipped", e.how)
	require.Equal(t, []any{m}, e.why)
	t.Setenv("CI", "true")
	e = skip(m)
	require.Equal(t, "failed", e.how)
	require.ErrorIs(t, m, cause)
	require.EqualError(t, m, "hosts cannot be made: operation not permitted; run as root")
	require.EqualError(t, &Missing{What: "there is no browser", Do: "install chromium"}, "there is no browser: install chromium")
}
