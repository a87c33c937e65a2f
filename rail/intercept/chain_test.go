package intercept

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers/fierr"
)

// An operation that nobody hooks is nil in the chain: it costs the look.
func TestEmptySlots(t *testing.T) {
	base := Base{
		Send: func(*Send) error { return nil }, Recv: func(*Recv) error { return nil }, RMA: func(*RMA) error { return nil },
	}
	send := func(*Rail, *Send, func(*Send) error) error { return nil }
	c := NewChain([]*Hooks{{}, {TSendV: send, InjectData: send}}, new(Rail), base)
	for op := range NumOps {
		require.Equal(t, op == int(OpTSendV) || op == int(OpInjectData), c.Send[op] != nil, Op(op))
		require.Nil(t, c.Recv[op], Op(op))
		require.Nil(t, c.RMA[op], Op(op))
	}
	require.Nil(t, c.Complete)
	require.Nil(t, c.CompleteRecv)
	require.Nil(t, Reads([]*Hooks{{}}, nil, "cq_read", func(h *Hooks) ReadFunc { return h.CQRead }, nil))
}

// Calls go from the first consumer to the last one, completions the other way. Those
// without the hook are passed over.
func TestOrder(t *testing.T) {
	var log []string
	consumer := func(name string) *Hooks {
		return &Hooks{
			Name: name,
			Write: func(r *Rail, c *RMA, next func(*RMA) error) error {
				log = append(log, "> "+name)
				c.Data++
				err := next(c)
				log = append(log, "< "+name)
				return err
			},
			Complete: func(*Rail, *Completion) { log = append(log, "end "+name) },
		}
	}
	r := &Rail{Index: 3}
	c := NewChain([]*Hooks{consumer("a"), {}, consumer("b")}, r, Base{RMA: func(c *RMA) error {
		log = append(log, "provider")
		require.Equal(t, uint64(2), c.Data)
		return fierr.Again
	}})
	require.Same(t, r, c.Rail)
	require.Equal(t, fierr.Again, c.RMA[OpWrite](new(RMA)), "the same value, which callers compare with")
	require.NoError(t, c.Complete(new(Completion)))
	require.Equal(t, []string{"> a", "> b", "provider", "< b", "< a", "end b", "end a"}, log)
}

// Complete is told of the kinds of operations that the consumer hooks, and of all if it
// hooks none.
func TestWhatCompletes(t *testing.T) {
	send := func(*Rail, *Send, func(*Send) error) error { return nil }
	recv := func(*Rail, *Recv, func(*Recv) error) error { return nil }
	rma := func(*Rail, *RMA, func(*RMA) error) error { return nil }
	var told []string
	tell := func(name string) func(*Rail, *Completion) {
		return func(*Rail, *Completion) { told = append(told, name) }
	}
	c := NewChain([]*Hooks{
		{Complete: tell("all")},
		{TSend: send, Complete: tell("sends")},
		{ReadMsg: rma, Complete: tell("reads")},
		{RecvV: recv, Complete: tell("receives")},
		{Inject: send, TRecv: recv, Complete: tell("both")},
		{TSend: send},
	}, new(Rail), Base{})
	require.NoError(t, c.Complete(new(Completion)))
	require.Equal(t, []string{"both", "reads", "sends", "all"}, told)
	told = nil
	require.NoError(t, c.CompleteRecv(new(Completion)))
	require.Equal(t, []string{"both", "receives", "all"}, told)
}

// A panic is the error of the call, which names consumer and operation, and has the
// error that was panicked with. To the consumers outside it is an error of next.
func TestPanics(t *testing.T) {
	cause := errors.New("cause")
	var seen error
	outer := &Hooks{
		Name: "outer",
		TRecvMsg: func(_ *Rail, c *Recv, next func(*Recv) error) error {
			seen = next(c)
			return seen
		},
	}
	clumsy := &Hooks{
		Name:     "clumsy",
		TRecvMsg: func(*Rail, *Recv, func(*Recv) error) error { panic(cause) },
		Complete: func(r *Rail, _ *Completion) { _ = make([]int, 3)[r.Index] },
	}
	ended := false
	last := &Hooks{Complete: func(*Rail, *Completion) { ended = true }}
	hooks := []*Hooks{last, outer, clumsy}
	c := NewChain(hooks, &Rail{Index: 3}, Base{})

	err := c.Recv[OpTRecvMsg](new(Recv))
	require.Equal(t, seen, err)
	require.EqualError(t, err, `hook "clumsy" of trecvmsg panicked: cause`)
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, fierr.EOther)
	var p *PanicError
	require.ErrorAs(t, err, &p)
	require.Contains(t, string(p.Stack), "TestPanics")

	require.EqualError(t, c.CompleteRecv(new(Completion)), `hook "clumsy" of complete panicked: runtime error: index out of range [3] with length 3`)
	require.True(t, ended, "the other consumers are told")

	require.EqualError(t, Tell(hooks, "cq_created", func(h *Hooks) {
		if h.Name != "" {
			panic("in " + h.Name)
		}
	}), `hook "outer" of cq_created panicked: in outer`, "the first one")
}

// Reads of completion queues chain, too. What next has taken out of the queue is not
// lost when the hook panics then.
func TestReads(t *testing.T) {
	var seen []int
	var late func([]Entry) (int, error)
	outer := &Hooks{CQRead: func(e *Endpoint, entries []Entry, next func([]Entry) (int, error)) (int, error) {
		n, err := next(entries)
		seen = append(seen, n)
		return n, err
	}}
	inner := &Hooks{Name: "clumsy", CQRead: func(e *Endpoint, entries []Entry, next func([]Entry) (int, error)) (int, error) {
		if len(entries) == 0 {
			panic("before")
		}
		late = next
		n, err := next(entries)
		if len(entries) == 2 {
			panic("after")
		}
		return n, err
	}}
	taken := 0
	read := Reads([]*Hooks{outer, {}, inner}, new(Endpoint), "cq_read", func(h *Hooks) ReadFunc { return h.CQRead }, func(entries []Entry) (int, error) {
		taken++
		entries[0].Len = taken
		return 1, nil
	})
	for size, want := range []struct {
		n   int
		err string
	}{{0, "panicked: before"}, {1, ""}, {1, "panicked: after"}} {
		entries := make([]Entry, size)
		n, err := read(entries)
		require.Equal(t, want.n, n)
		if want.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, `hook "clumsy" of cq_read `+want.err)
		}
		require.Equal(t, want.n, seen[size])
		if n > 0 {
			require.Equal(t, size, entries[0].Len)
		}
	}
	require.Equal(t, 2, taken)
	_, err := late(make([]Entry, 1))
	require.ErrorIs(t, err, fierr.EOpBadState)

	if underRace {
		return // a sync.Pool forgets then
	}
	one := make([]Entry, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = read(one); seen = seen[:0] }))
}

// Set-up without consumers is what it is.
func TestSetUp(t *testing.T) {
	no := errors.New("no")
	require.Equal(t, no, Getinfo(nil, new(GetInfo), func(*GetInfo) error { return no }))
	require.Equal(t, no, OpenCQ([]*Hooks{{}}, nil, new(CQOpen), func(*CQOpen) error { return no }))
	c := &CQOpen{Size: 7}
	require.NoError(t, OpenCQ([]*Hooks{{CQOpen: func(_ *Rail, c *CQOpen, next func(*CQOpen) error) error {
		c.Size *= 2
		return next(c)
	}}}, nil, c, func(c *CQOpen) error { c.Size++; return nil }))
	require.Equal(t, 15, c.Size)
}

func TestRegister(t *testing.T) {
	require.Empty(t, Registered())
	a, b := new(Hooks), new(Hooks)
	removeA, removeB := Register(a), Register(b)
	both := Registered()
	require.Equal(t, []*Hooks{a, b}, both)
	removeA()
	require.Len(t, Registered(), 1)
	require.Same(t, b, Registered()[0])
	require.Same(t, a, both[0], "what an endpoint has does not change")
	removeA()
	removeB()
	require.Empty(t, Registered())
}

// The trace says nothing of the data path: it has no hooks there.
func TestTraceHasNoOperations(t *testing.T) {
	var text strings.Builder
	h := Trace(&text)
	c := NewChain([]*Hooks{h}, new(Rail), Base{})
	for op := range NumOps {
		require.True(t, c.Send[op] == nil && c.Recv[op] == nil && c.RMA[op] == nil, Op(op))
	}
	require.Nil(t, c.Complete)
	require.Nil(t, c.CompleteRecv)
	require.Nil(t, h.CQRead)
	require.Nil(t, h.CQWait)
	require.NoError(t, h.GetInfo(&GetInfo{Provider: "shm"}, func(*GetInfo) error { return nil }))
	require.Equal(t, "lnx trace: getinfo of shm with no hints: 0 answers, error <nil>\n", text.String())
}

func TestLen(t *testing.T) {
	iov := [][]byte{make([]byte, 3), nil, make([]byte, 4)}
	require.Equal(t, []int{7, 7, 7}, []int{(&Send{IOV: iov}).Len(), (&Recv{IOV: iov}).Len(), (&RMA{IOV: iov}).Len()})
}
