package lnx_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/netns"
	"golnx/internal/twoproc"
	"golnx/lnx"
	"golnx/providers/fierr"
)

// smallShm opens endpoints until its /dev/shm has no room for another, and uses those
// that there are.
var smallShm = netns.NewRole("small shm", func(c *twoproc.Child) {
	resize := func(size string) {
		require.NoError(c, unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_REMOUNT, "mode=1777,size="+size))
	}
	l, err := lnx.Links(choice{Links: "shm"}.options())
	require.NoError(c, err)
	open := func() (*node, error) {
		ep, err := lnx.Open(l.Links[0])
		if err != nil {
			require.ErrorIs(c, err, fierr.ENoSpc)
			require.ErrorContains(c, err, "/dev/shm")
			return nil, err
		}
		return &node{t: c, ep: ep}, nil
	}
	resize("1m")
	_, err = open()
	require.Error(c, err)

	resize("64m") // what a container gets
	var nodes []*node
	for {
		n, err := open()
		if err != nil {
			break
		}
		nodes = append(nodes, n)
		require.Less(c, len(nodes), 64)
	}
	require.Greater(c, len(nodes), 1)
	takeRoom(c, "/dev/shm/full")

	// Nobody else's file takes what the endpoints have.
	for _, n := range nodes {
		self := n.insert(n.ep.Name())
		var msgs []message
		for i := range 2000 {
			m := message{Size: 4000, Tag: 1, Seed: uint64(i)}
			if i%100 == 0 {
				m.Size = 300_000
			}
			msgs = append(msgs, m)
		}
		seen := n.unexpected()
		var sends []*pending
		for _, m := range msgs {
			p, err := n.start(self, m)
			require.NoError(c, err)
			sends = append(sends, p)
		}
		n.await(seen+uint64(len(msgs)), msgs[len(msgs)-1].Tag)
		for _, m := range msgs {
			check(c, n.recv(m.Size, self, 1, 0), m, self)
		}
		n.finish(sends...)
	}
	require.NoError(c, os.Remove("/dev/shm/full"))

	// The room of one that closes is free again.
	require.NoError(c, nodes[0].ep.Close())
	nodes[0], err = open()
	require.NoError(c, err)
	_, err = open()
	require.Error(c, err)
	for _, n := range nodes {
		require.NoError(c, n.ep.Close())
	}
	c.Put(true)
})

// takeRoom writes a file until there is no room.
func takeRoom(t require.TestingT, name string) {
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	page := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(page)
	}
	require.True(t, errors.Is(err, unix.ENOSPC), err)
}

// A /dev/shm without room for an endpoint makes Open answer ENOSPC, and endpoints
// that are open have their room for certain.
func TestSmallShm(t *testing.T) {
	netns.Need(t)
	p := smallShm.Start(t, netns.Place{OwnShm: true}, limit)
	var done bool
	p.Get(&done)
	p.Wait()
}
