package railtest_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail/railtest"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata/rail/*.rail")

// The cases say what each policy does, link by link; with -update they are
// rewritten to what it does now.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../../testdata/rail/*.rail")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { railtest.RunFile(t, f, *update) })
	}
}
