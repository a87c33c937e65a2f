package doorbell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/doorbell"
	"golnx/internal/netns"
	"golnx/internal/twoproc"
)

// first has a bell and refuses others'.
var first = netns.NewRole("first", func(c *twoproc.Child) {
	var own uint64
	c.Get(&own)
	b, err := doorbell.New(own)
	require.NoError(c, err)
	c.Put(b.Name())
	r, err := doorbell.Open(b.Name())
	require.NoError(c, err, "its own")
	require.NoError(c, r.Close())
	var other doorbell.Name
	for c.Get(&other) {
		_, err := doorbell.Open(other)
		require.ErrorIs(c, err, doorbell.ErrUnavailable)
		c.Put(err.Error())
	}
})

// In another PID namespace a name means another process, or none. That it has a
// bell under the same numbers is told by the token.
func TestPIDNamespaces(t *testing.T) {
	netns.Need(t)
	outside := newBell(t, token)
	a, b := first.Start(t, netns.Place{OwnPID: true}, limit), first.Start(t, netns.Place{OwnPID: true}, limit)
	var nameA, nameB doorbell.Name
	a.Put(token + 1)
	a.Get(&nameA)
	b.Put(token + 2)
	b.Get(&nameB)
	require.EqualValues(t, 1, nameA.PID)
	sameNumbers := nameB
	sameNumbers.Token = nameA.Token
	require.Equal(t, nameA, sameNumbers)

	var said string
	b.Put(nameA)
	b.Get(&said)
	require.Contains(t, said, "token is 0x112233445566778a, want 0x1122334455667789")
	b.Put(outside.Name())
	b.Get(&said)
	require.Contains(t, said, "no such file or directory")
	_, err := doorbell.Open(nameA) // process 1 out here is another one
	require.ErrorIs(t, err, doorbell.ErrUnavailable)
	a.Wait()
	b.Wait()
}
