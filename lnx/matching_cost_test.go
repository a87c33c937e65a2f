//go:build !race && !asan

package lnx_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/srq"
	"golnx/suq"
)

// What a match costs hardly depends on how many others wait, with up to 8 ignore masks
// among them: a search through a list would take 500 times as long at the greater
// depth, and what caches do is far from that.
func TestMatchingAtScale(t *testing.T) {
	const shallow, deep, most = 200, 100_000, 25
	for _, kind := range []struct {
		name  string
		match func(depth, masks int) func(i int) bool
	}{{"posted", postedBehind}, {"unexpected", unexpectedBehind}} {
		for _, masks := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s/masks=%d", kind.name, masks), func(t *testing.T) {
				few, many := perMatch(t, kind.match(shallow, masks)), perMatch(t, kind.match(deep, masks))
				t.Logf("%v behind %d, %v behind %d", few, shallow, many, deep)
				require.Less(t, many, most*few)
			})
		}
	}
}

// perMatch answers what a match takes, undisturbed.
func perMatch(t *testing.T, match func(i int) bool) time.Duration {
	const count = 2000
	var took []time.Duration
	for round := range 15 {
		begun := time.Now()
		for i := range count {
			if !match(round*count + i) {
				require.Fail(t, "not the one that matches")
			}
		}
		took = append(took, time.Since(begun)/count)
	}
	return max(slices.Min(took), 1)
}

const costSource = 7

// costMask is one of so many masks, of bits that tell apart nothing that waits.
func costMask(i, masks int) uint64 { return 1<<(i%masks) - 1 }

func waitingTag(i int) uint64  { return uint64(i+1) << 20 }
func matchingTag(i int) uint64 { return uint64(i)<<40 | 1<<15 }

// postedBehind posts receives, and answers a function that posts one more and matches
// it.
func postedBehind(depth, masks int) func(int) bool {
	q := srq.New(1)
	for i := range depth {
		q.Post(srq.Slot(i), costSource, waitingTag(i), costMask(i, masks))
	}
	return func(i int) bool {
		q.Post(srq.Slot(depth), costSource, matchingTag(i), costMask(i, masks))
		slot, ok := q.Match(costSource, matchingTag(i))
		return ok && slot == srq.Slot(depth)
	}
}

// unexpectedBehind does so for a message, which the masks take turns to ask for.
func unexpectedBehind(depth, masks int) func(int) bool {
	q := suq.New(1)
	for i := range depth {
		q.Push(suq.Slot(i), costSource, waitingTag(i))
	}
	return func(i int) bool {
		q.Push(suq.Slot(depth), costSource, matchingTag(i))
		slot, ok := q.Match(costSource, matchingTag(i), costMask(i, masks))
		return ok && slot == suq.Slot(depth)
	}
}
