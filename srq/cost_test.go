package srq

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/internal/oracle"
)

// However many receives wait, a match looks once in each group, and at no receive to which
// the hash of its key does not lead: see oracle.Decoys. (How many cells that is at most
// is tested in internal/tuple.)
func TestMatchLooksAtFew(t *testing.T) {
	for _, masks := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("masks=%d", masks), func(t *testing.T) {
			q := New(1)
			for i := range oracle.Decoys {
				src, ignore := oracle.DecoyKey(i, masks)
				q.Post(Slot(i), src, oracle.DecoyTag(i), ignore)
			}
			require.Len(t, q.groups.live, 2*masks)
			require.Zero(t, q.rest.Len())
			for i := range oracle.Decoys {
				q.core.Entries.At(Slot(i)).Tag = oracle.ChangedTag(i)
			}
			for i := range 2000 {
				src, ignore := oracle.DecoyKey(i, masks)
				from, tag := oracle.Sought(i)
				require.True(t, q.Post(oracle.Decoys, src, tag, ignore))
				slot, ok := q.Match(from, tag)
				require.True(t, ok)
				require.Equal(t, Slot(oracle.Decoys), slot, "match %d", i)
			}
		})
	}
}
