package ofi

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"golnx/providers"
)

func TestCheckVersion(t *testing.T) {
	v21, v22, v117 := Version{2, 1}, Version{2, 2}, Version{1, 17}
	assert.NoError(t, checkVersion(v21, v21))
	assert.NoError(t, checkVersion(v22, v22))
	for _, pair := range [][2]Version{{v117, v117}, {v117, v21}, {v22, v21}, {v21, v22}} {
		err := checkVersion(pair[0], pair[1])
		require.Error(t, err)
		assert.Contains(t, err.Error(), pair[0].String(), "names the library")
		assert.Contains(t, err.Error(), pair[1].String(), "names the headers")
	}
}

func TestLoadSetsWhatProvidersNeed(t *testing.T) {
	require.NoError(t, Load())
	for _, traits := range providers.All() {
		for _, e := range traits.Env {
			_, set := os.LookupEnv(e.Name)
			assert.True(t, set, "%s for %s", e.Name, traits.Name)
		}
	}
}
