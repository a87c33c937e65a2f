package lnx_test

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/netns"
	"golnx/internal/twoproc"
	"golnx/lnx"
)

// Specs for a machine with cxi, on hosts that have two other NICs, with nothing but
// environment variables.

type aliasedListing struct {
	Said  string     // on standard error
	Rails [][]string // of each link
}

const aliasedMessages = 20

// aliasedSide opens every link of the environment's spec, one after the other, and
// exchanges messages with the other side.
var aliasedSide = netns.NewRole("aliased", func(c *twoproc.Child) {
	links, said := listAloud(c)
	l := aliasedListing{Said: said}
	for _, link := range links {
		var names []string
		for _, r := range link.Rails {
			names = append(names, r.Name())
		}
		l.Rails = append(l.Rails, names)
	}
	c.Put(l)
	for _, link := range links {
		ep, err := lnx.Open(link)
		require.NoError(c, err)
		c.Put(ep.Name())
		var blob []byte
		c.Get(&blob)
		to, err := ep.AV().Insert(blob)
		require.NoError(c, err)
		c.Put(true) // it knows the other side
		c.Get(new(bool))
		exchangeOver(c, ep, to)
		c.Put(ep.Stats())
		c.Get(new(bool)) // the other side is done
		require.NoError(c, ep.Close())
	}
})

// listAloud lists the links, and answers what that printed.
func listAloud(c *twoproc.Child) ([]*lnx.Link, string) {
	r, w, err := os.Pipe()
	require.NoError(c, err)
	stderr := os.Stderr
	os.Stderr = w
	listing, err := lnx.Links(lnx.Options{})
	os.Stderr = stderr
	require.NoError(c, err)
	require.NoError(c, w.Close())
	said, err := io.ReadAll(r)
	require.NoError(c, err)
	return listing.Links, string(said)
}

func exchangeOver(c *twoproc.Child, ep *lnx.Endpoint, to lnx.Addr) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		for i := range uint64(aliasedMessages) {
			if err := ep.Send(ctx, to, i, payload(i, 5000)); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	buf := make([]byte, 5000)
	for i := range uint64(aliasedMessages) {
		_, err := ep.Recv(ctx, to, i, 0, buf)
		require.NoError(c, err)
		require.Equal(c, payload(i, 5000), buf)
	}
	require.NoError(c, <-sent)
}

func TestAliasedHosts(t *testing.T) {
	hostA, hostB := netns.Join(t, "", "")
	const nic0, nic1 = "cxi:cxi0=tcp;ofi_rxm:nic0", "cxi:cxi1=tcp;ofi_rxm:nic1"
	const warning = "lnx: ALIASES IN USE, FOR DEVELOPMENT ONLY: cxi is tcp;ofi_rxm, cxi0 is nic0, cxi1 is nic1\n"
	t.Setenv("LNX_PROVIDER_ALIAS", "cxi=tcp;ofi_rxm")
	t.Setenv("LNX_DOMAIN_ALIAS", "cxi0=nic0,cxi1=nic1")
	for _, c := range []struct {
		links, policy string
		own           bool // /dev/shm
		rails         []map[string]uint64
	}{
		{"shm+cxi:cxi0|shm+cxi:cxi1", "PER_PEER", true, []map[string]uint64{
			{"shm": 0, nic0: aliasedMessages},
			{"shm": 0, nic1: aliasedMessages},
		}},
		{"shm+cxi:cxi0|shm+cxi:cxi1", "PER_PEER", false, []map[string]uint64{
			{"shm": aliasedMessages, nic0: 0},
			{"shm": aliasedMessages, nic1: 0},
		}},
		{"shm+cxi:cxi0,cxi1", "PER_MSG", true, []map[string]uint64{
			{"shm": 0, nic0: aliasedMessages / 2, nic1: aliasedMessages / 2},
		}},
	} {
		t.Run(c.links, func(t *testing.T) {
			t.Setenv("FI_LNX_PROV_LINKS", c.links)
			t.Setenv("FI_LNX_MULTI_RAIL_SELECTION", c.policy)
			sides := []*twoproc.Proc{
				aliasedSide.Start(t, netns.Place{Host: hostA}, farLife),
				aliasedSide.Start(t, netns.Place{Host: hostB, OwnShm: c.own}, farLife),
			}
			for _, p := range sides {
				var l aliasedListing
				p.Get(&l)
				require.Equal(t, warning, l.Said)
				require.Len(t, l.Rails, len(c.rails))
				for i, names := range l.Rails {
					require.Len(t, names, len(c.rails[i]))
				}
			}
			for _, want := range c.rails {
				hand[[]byte](sides)
				hand[bool](sides)
				var stats [2][]lnx.RailStats
				for i, p := range sides {
					p.Get(&stats[i])
				}
				for i, p := range sides {
					p.Put(true)
					for _, s := range stats[i] {
						require.Contains(t, want, s.Name)
						require.Equal(t, want[s.Name], s.TSends, s.Name)
						require.Equal(t, want[s.Name], s.RxExpected+s.RxUnexpected, s.Name)
					}
				}
			}
			for _, p := range sides {
				p.Wait()
			}
		})
	}
}

// hand gives each of two processes what the other says next.
func hand[T any](sides []*twoproc.Proc) {
	var said [2]T
	for i, p := range sides {
		p.Get(&said[i])
	}
	for i, p := range sides {
		p.Put(said[1-i])
	}
}
