// Package readme keeps the program in README.md true.
package readme

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgram(t *testing.T) {
	program, err := os.ReadFile("hello/main.go")
	require.NoError(t, err)
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), "```go\n"+string(program)+"```\n", "README.md shows another program than internal/readme/hello")

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	bin := filepath.Join(t.TempDir(), "hello")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "./hello").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.CommandContext(ctx, bin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "FI_LNX_PROV_LINKS=shm+tcp:lo")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	lines := strings.Split(string(out), "\n")
	assert.Equal(t, "tag 42: hello over shm+tcp;ofi_rxm:lo", lines[0])
	assert.Contains(t, lines[1], "shm (up): ", "the rail that carried it comes first")
}
