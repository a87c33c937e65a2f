package suq

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
)

// However many messages wait, a receive whose mask was asked for before looks at none to
// which the hash of its key does not lead: see oracle.Decoys. (How many cells that is at
// most is tested in internal/tuple.)
func TestMatchLooksAtFew(t *testing.T) {
	for _, masks := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("masks=%d", masks), func(t *testing.T) {
			q := New(1)
			from, _ := oracle.Sought(0)
			for i := range oracle.Decoys {
				q.Push(Slot(i), from, oracle.DecoyTag(i))
			}
			for i := range 2 * masks { // each index takes all in
				src, ignore := oracle.DecoyKey(i, masks)
				_, tag := oracle.Sought(i)
				_, ok := q.Match(src, tag, ignore)
				require.False(t, ok)
			}
			require.Len(t, q.masks.list, 2*masks)
			for i := range oracle.Decoys {
				q.core.Entries.At(Slot(i)).Tag = oracle.ChangedTag(i)
			}
			for i := range 2000 {
				src, ignore := oracle.DecoyKey(i, masks)
				_, tag := oracle.Sought(i)
				require.True(t, q.Push(oracle.Decoys, from, tag))
				slot, ok := q.Match(src, tag, ignore)
				require.True(t, ok)
				require.Equal(t, Slot(oracle.Decoys), slot, "match %d", i)
			}
			require.Zero(t, q.masks.scanned, "messages looked at one by one")
		})
	}
}
