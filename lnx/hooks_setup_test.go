package lnx_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
	"golnx/providers/fiinfo"
	"golnx/rail/intercept"
)

// Set-up is shown, and can be changed: an answer of getinfo taken out is a domain that
// is not there.
func TestHooksOfSetUp(t *testing.T) {
	var log []string
	h := &intercept.Hooks{
		GetInfo: func(c *intercept.GetInfo, next func(*intercept.GetInfo) error) error {
			log = append(log, "getinfo "+c.Provider)
			err := next(c)
			c.Results = slices.DeleteFunc(c.Results, func(i *fiinfo.Info) bool { return i.Fabric.Provider != "shm" && i.Domain.Name != "lo" })
			return err
		},
		CQOpen: func(r *intercept.Rail, c *intercept.CQOpen, next func(*intercept.CQOpen) error) error {
			log = append(log, "cq_open "+r.Info.Provider)
			c.Size = 64
			return next(c)
		},
		DomainInfo: func(r *intercept.Rail, asked, granted *fiinfo.Info) {
			log = append(log, "domain "+asked.Fabric.Provider+" "+granted.Domain.Name)
		},
		EndpointInfo: func(r *intercept.Rail, asked, granted *fiinfo.Info) {
			log = append(log, "endpoint "+r.Device)
		},
		EndpointCreated: func(e *intercept.Endpoint) { log = append(log, "created "+e.Link) },
		CQCreated:       func(e *intercept.Endpoint) { log = append(log, "cq created") },
		CQClosing:       func(e *intercept.Endpoint) { log = append(log, "cq closing") },
		EndpointClosing: func(e *intercept.Endpoint) { log = append(log, "closing") },
	}
	undo := intercept.Register(h)
	defer undo()
	l, err := lnx.Links(choice{Links: "shm+tcp"}.options())
	require.NoError(t, err)
	ep, err := lnx.Open(l.Links[0])
	require.NoError(t, err)
	require.NoError(t, ep.Close())
	require.NoError(t, ep.Close())
	require.Equal(t, []string{
		"getinfo shm", "getinfo tcp;ofi_rxm", "cq_open shm", "cq_open tcp;ofi_rxm",
		"domain shm shm", "endpoint shm", "domain tcp;ofi_rxm lo", "endpoint lo",
		"created shm+tcp;ofi_rxm:lo", "cq created", "cq closing", "closing",
	}, log)
}

// The consumers of the process come before those of the endpoint. What counts is when the
// endpoint is opened, not when its link was listed.
func TestHooksAreRegistered(t *testing.T) {
	var told []string
	consumer := func(name string) *intercept.Hooks {
		return &intercept.Hooks{Name: name, EndpointCreated: func(*intercept.Endpoint) { told = append(told, name) }}
	}
	opts := choice{Links: "shm"}.options()
	opts.Hooks = []*intercept.Hooks{consumer("third"), consumer("fourth")}
	early := intercept.Register(consumer("early"))
	defer early()
	l, err := lnx.Links(opts)
	require.NoError(t, err)
	early()
	defer intercept.Register(consumer("first"))()
	second := intercept.Register(consumer("second"))
	defer second()
	open := func() {
		ep, err := lnx.Open(l.Links[0])
		require.NoError(t, err)
		require.NoError(t, ep.Close())
	}
	open()
	require.Equal(t, []string{"first", "second", "third", "fourth"}, told)
	second()
	open()
	require.Equal(t, []string{"first", "third", "fourth"}, told[4:])
}

// What was asked for and what was granted is there in the callbacks of a rail, and the
// rail is the one that operations see.
func TestHooksSeeInfo(t *testing.T) {
	type step struct {
		name           string
		asked, granted fiinfo.Info
	}
	steps := map[*intercept.Rail][]step{}
	note := func(name string) func(*intercept.Rail, *fiinfo.Info, *fiinfo.Info) {
		return func(r *intercept.Rail, asked, granted *fiinfo.Info) {
			steps[r] = append(steps[r], step{name, *asked, *granted})
		}
	}
	var rails []*intercept.Rail
	a, b, toB, toA := hookedPair(t, choice{Links: "shm+tcp:lo"}, &intercept.Hooks{
		DomainInfo: note("domain"), EndpointInfo: note("endpoint"),
		EndpointCreated: func(e *intercept.Endpoint) { rails = e.Rails },
		TSend: func(r *intercept.Rail, c *intercept.Send, next func(*intercept.Send) error) error {
			require.Same(t, rails[0], r)
			require.NotNil(t, c.To)
			return next(c)
		},
	})
	exchangeOne(t, a, b, toB, toA)
	require.Len(t, rails, 2)
	for i, r := range rails {
		require.Equal(t, i, r.Index)
		require.Same(t, rails[0].Endpoint, r.Endpoint)
		require.Len(t, steps[r], 2)
		for k, s := range steps[r] {
			require.Equal(t, []string{"domain", "endpoint"}[k], s.name)
			require.Equal(t, r.Info.Provider, s.granted.Fabric.Provider)
			require.Equal(t, []string{"shm", "lo"}[i], s.granted.Domain.Name)
			require.NotZero(t, s.asked.Caps)
			require.Equal(t, s.asked.Caps, s.granted.Caps&s.asked.Caps, "all that was asked for")
			require.NotEqual(t, s.asked, s.granted)
			require.NotZero(t, s.granted.TX.Size, "the attributes of the endpoint")
		}
	}
}

// A consumer that panics while the endpoint is opened fails the opening, which leaves
// nothing open, and the error says who it was.
func TestHookPanicsInSetUp(t *testing.T) {
	none := func(*intercept.Endpoint) { panic("no") }
	info := func(*intercept.Rail, *fiinfo.Info, *fiinfo.Info) { panic("no") }
	for name, h := range map[string]*intercept.Hooks{
		"cq_open":          {CQOpen: func(*intercept.Rail, *intercept.CQOpen, func(*intercept.CQOpen) error) error { panic("no") }},
		"domain_info":      {DomainInfo: info},
		"endpoint_info":    {EndpointInfo: info},
		"endpoint_created": {EndpointCreated: none},
		"cq_created":       {CQCreated: none},
	} {
		t.Run(name, func(t *testing.T) {
			h.Name = "clumsy"
			err := requireOpenFails(t, h)
			require.ErrorContains(t, err, `hook "clumsy" of `+name+" panicked: no")
			var p *intercept.PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, name, p.Op)
			require.ErrorIs(t, err, fierr.EOther)
		})
	}
	opts := choice{Links: "shm"}.options()
	opts.Hooks = []*intercept.Hooks{{Name: "g", GetInfo: func(*intercept.GetInfo, func(*intercept.GetInfo) error) error { panic("no") }}}
	_, err := lnx.Links(opts)
	require.ErrorContains(t, err, `hook "g" of getinfo panicked`)
}

// Hooks that keep an endpoint from being opened.
func TestHooksThatCannotBe(t *testing.T) {
	require.ErrorContains(t, requireOpenFails(t, &intercept.Hooks{
		CQOpen: func(*intercept.Rail, *intercept.CQOpen, func(*intercept.CQOpen) error) error { return nil },
	}), "shm")
	require.ErrorContains(t, requireOpenFails(t, &intercept.Hooks{
		CQOpen: func(_ *intercept.Rail, c *intercept.CQOpen, next func(*intercept.CQOpen) error) error {
			c.Size = -1
			return next(c)
		},
	}), "CQ of rail shm: a size of -1 was asked for")
	opts := choice{Links: "shm"}.options()
	opts.Hooks = []*intercept.Hooks{nil}
	_, err := lnx.Links(opts)
	require.ErrorIs(t, err, fierr.EInval)
}

// requireOpenFails opens a link with a consumer, which fails. Everything is as before
// then: the link opens without that consumer.
func requireOpenFails(t *testing.T, h *intercept.Hooks) error {
	t.Helper()
	var created, closed int
	witness := &intercept.Hooks{
		EndpointCreated: func(*intercept.Endpoint) { created++ },
		EndpointClosing: func(*intercept.Endpoint) { closed++ },
	}
	opts := choice{Links: "shm+tcp:lo"}.options()
	opts.Hooks = []*intercept.Hooks{witness, h}
	l, err := lnx.Links(opts)
	require.NoError(t, err)
	before := len(held(t).FDs)
	_, failed := lnx.Open(l.Links[0])
	require.Error(t, failed)
	require.LessOrEqual(t, len(held(t).FDs), before)
	require.LessOrEqual(t, created, closed, "who was told of an endpoint is told of its end")

	a, b, toB, toA := hookedPair(t, choice{Links: "shm+tcp:lo"}, witness)
	exchangeOne(t, a, b, toB, toA)
	return failed
}

// A consumer that panics while the endpoint closes makes an error of Close; the endpoint
// is closed all the same, and the others are told.
func TestHookPanicsAtTheEnd(t *testing.T) {
	none := func(*intercept.Endpoint) { panic("no") }
	for name, h := range map[string]*intercept.Hooks{
		"cq_closing":       {Name: "clumsy", CQClosing: none},
		"endpoint_closing": {Name: "clumsy", EndpointClosing: none},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			witness := &intercept.Hooks{
				CQClosing:       func(*intercept.Endpoint) { told = append(told, "cq") },
				EndpointClosing: func(*intercept.Endpoint) { told = append(told, "endpoint") },
			}
			opts := choice{Links: "shm+tcp:lo"}.options()
			opts.Hooks = []*intercept.Hooks{h, witness}
			before := len(held(t).FDs)
			a, b := openNode(t, opts), openNode(t, choice{Links: "shm+tcp:lo"}.options())
			exchangeOne(t, a, b, a.insert(b.ep.Name()), b.insert(a.ep.Name()))
			err := a.ep.Close()
			require.ErrorContains(t, err, `hook "clumsy" of `+name+" panicked: no")
			require.Equal(t, []string{"cq", "endpoint"}, told)
			require.NoError(t, a.ep.Close())
			require.ErrorIs(t, a.ep.TSend(nil, 0, 0, nil), lnx.ErrClosed)
			require.NoError(t, b.ep.Close())
			require.LessOrEqual(t, len(held(t).FDs), before)
		})
	}
}
