package lnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/providers/fierr"
)

// holder is a comparable type whose values may not be.
type holder struct{ v any }

// Operations take any context. Where one is looked for, a value that cannot be
// compared is refused, and those of other operations are passed over, though they
// have the same type.
func TestUncomparableContexts(t *testing.T) {
	n := newNode(t, choice{Links: "shm"}.options())
	self := n.insert(n.ep.Name())
	uncomparable := []any{
		holder{[]int{1}}, holder{map[int]int{}}, holder{func() {}}, holder{holder{[]int{}}},
		[1]any{[]int{1}}, []int{1}, map[int]int{}, func() {},
	}
	for _, c := range uncomparable {
		require.NoError(t, n.ep.TRecv(nil, self, 1, 0, c))
	}
	comparable := []any{holder{1}, holder{nil}, holder{holder{"x"}}, [1]any{1}}
	for _, c := range comparable {
		require.ErrorIs(t, n.ep.Cancel(c), fierr.ENoEnt, "%#v", c)
		require.NoError(t, n.ep.TRecv(nil, self, 1, 0, c))
	}
	peek := func(c any, flags lnx.Flags) error {
		return n.ep.TRecvMsg(&lnx.Msg{Addr: self, Tag: 2, Context: c}, flags)
	}
	for range comparable {
		n.send(self, message{Size: 1, Tag: 2})
	}
	n.await(uint64(len(comparable)), 2)
	for _, c := range comparable {
		require.NoError(t, peek(c, lnx.FlagPeek|lnx.FlagClaim), "%#v", c)
		require.ErrorIs(t, peek(c, lnx.FlagPeek|lnx.FlagClaim), fierr.EBusy, "%#v", c)
	}
	for _, c := range uncomparable {
		require.ErrorIs(t, n.ep.Cancel(c), fierr.EInval, "%T", c)
		require.ErrorIs(t, peek(c, lnx.FlagPeek|lnx.FlagClaim), fierr.EInval, "%T", c)
		require.ErrorIs(t, peek(c, lnx.FlagClaim), fierr.EInval, "%T", c)
		require.ErrorIs(t, peek(c, lnx.FlagClaim|lnx.FlagDiscard), fierr.EInval, "%T", c)
		require.NoError(t, peek(c, lnx.FlagPeek), "%T", c) // is not looked for
	}
	for _, c := range comparable {
		require.NoError(t, peek(c, lnx.FlagClaim), "%#v", c)
		require.NoError(t, n.ep.Cancel(c), "%#v", c)
		require.ErrorIs(t, n.ep.Cancel(c), fierr.ENoEnt, "%#v", c)
	}
}
