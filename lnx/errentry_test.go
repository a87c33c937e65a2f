package lnx

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// ReadErr answers all that is known of a failure: here of a message with data that is
// too long.
func TestErrEntryOfTruncation(t *testing.T) {
	onRails(t, func(t *testing.T, links string) {
		a, b, toB, toA := connected(t, Options{Links: links})
		for _, size := range []int{65, 4097, 20_000} {
			buf := make([]byte, 60)
			require.NoError(t, b.TRecv(buf, AddrUnspec, 0x70, 0xf, "context"))
			sent := calling(func() error {
				for {
					if err := a.TSendData(make([]byte, size), 0xfeed, toB, 0x7a, nil); err != fierr.Again {
						return err
					}
				}
			})
			require.NoError(t, outcome(t, sent, "TSendData"))
			var e *ErrEntry
			soon(t, func() bool {
				_, _ = a.CQ().Read(make([]Entry, 1))
				_, err := b.CQ().Read(make([]Entry, 1))
				if errors.Is(err, fierr.EAvail) {
					e, err = b.CQ().ReadErr()
					require.NoError(t, err)
				}
				return e != nil
			}, "%d bytes", size)
			require.Equal(t, Entry{
				Context: "context", Flags: FlagTagged | FlagRecv | FlagRemoteCQData,
				Len: 60, Tag: 0x7a, Data: 0xfeed, Src: toA,
			}, e.Entry)
			require.Equal(t, fierr.ETrunc, e.Err)
			require.Equal(t, size-60, e.Olen)
			require.NotEmpty(t, e.Rail)
			require.Equal(t, b.Link().Rails[0].Name(), e.Rail)
			_, err := b.CQ().ReadErr()
			require.ErrorIs(t, err, fierr.EAgain, "it is answered once")
		}
	})
}

// failingCore makes completions fail, with a number of the provider's own.
type failingCore struct {
	providers.Core
	code fierr.Errno
	prov int32
}

func (c *failingCore) Ready() []providers.Completion {
	ready := c.Core.Ready()
	for i := range ready {
		ready[i].Err, ready[i].ProvErrno = int32(c.code), c.prov
	}
	return ready
}

// The provider's own number is answered for sends and receives, and its text where it
// says more.
func TestErrEntryOfProvider(t *testing.T) {
	for _, c := range []struct {
		code fierr.Errno
		prov int32
		want string
	}{
		{fierr.EIO, 111, "input/output error (provider error 111: connection refused)"},
		{fierr.EIO, -111, "input/output error (provider error -111: connection refused)"},
		{fierr.EIO, 5, "input/output error"},
		{fierr.EIO, 0, "input/output error"},
	} {
		f := sim.New(sim.Options{})
		rails := simRails(1, sim.Rail{})
		var eps [2]*Endpoint
		for i := range eps {
			var err error
			eps[i], err = openWith(simLink(t, rails, Options{}), func(_ *Link, o providers.Owner) (providers.Core, error) {
				core, err := f.Open(rails, o, sim.Limits{})
				if err != nil {
					return nil, err
				}
				return &failingCore{core, c.code, c.prov}, nil
			})
			require.NoError(t, err)
		}
		to, err := eps[0].AV().Insert(eps[1].Name())
		require.NoError(t, err)
		require.NoError(t, eps[1].TRecv(make([]byte, 1000), AddrUnspec, 7, 0, "in"))
		require.NoError(t, eps[0].TSend(make([]byte, 1000), to, 7, "out"))
		f.Advance(1_000_000)
		for i, what := range []struct {
			context string
			flags   Flags
			text    string
		}{{"out", FlagTagged | FlagSend, "send"}, {"in", FlagTagged | FlagRecv, "receive"}} {
			_, err := eps[i].CQ().Read(make([]Entry, 1))
			require.ErrorIs(t, err, fierr.EAvail)
			e, err := eps[i].CQ().ReadErr()
			require.NoError(t, err)
			require.Equal(t, what.context, e.Context)
			require.Equal(t, what.flags, e.Flags)
			require.EqualValues(t, 7, e.Tag)
			require.Equal(t, c.code, e.Err)
			require.EqualValues(t, c.prov, e.ProvErrno)
			require.ErrorIs(t, e, c.code)
			require.EqualError(t, e, what.text+" with tag 0x7 over "+e.Rail+": "+c.want)
			require.NoError(t, eps[i].Close())
		}
	}
}

func TestErrEntryText(t *testing.T) {
	for want, e := range map[string]ErrEntry{
		"receive with tag 0x1f over shm: truncation error: the message has 30 bytes, the buffer 10": {
			Entry: Entry{Flags: FlagTagged | FlagRecv, Tag: 0x1f, Len: 10}, Err: fierr.ETrunc, Olen: 20, Rail: "shm",
		},
		"receive with tag 0x1: " + fierr.ECanceled.Error(): {Entry: Entry{Flags: FlagTagged | FlagRecv, Tag: 1}, Err: fierr.ECanceled},
		"send with tag 0x1: " + ErrPeerDead.Error():        {Entry: Entry{Flags: FlagTagged | FlagSend, Tag: 1}, Err: fierr.EHostDown},
		"send with tag 0x1: " + ErrRailBroken.Error():      {Entry: Entry{Flags: FlagTagged | FlagSend, Tag: 1}, Err: fierr.EOwnerDead},
	} {
		require.EqualError(t, &e, want)
	}
}
