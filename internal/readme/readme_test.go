// Package readme keeps README.md true: what it shows is run.
package readme

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golnx/rail/railtest"
)

const root = "../.."

// patience is for what takes seconds when much has to be built; running into it is a
// failure.
const patience = 4 * time.Minute

// block is a code block.
type block struct{ language, text string }

// blocks answers the code blocks of the README in order.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllSubmatch(text, -1) {
		all = append(all, block{string(m[1]), string(m[2])})
	}
	require.Equal(t, 2*len(all), bytes.Count(text, []byte("```")), "a code block that does not begin and end a line")
	require.NotRegexp(t, `(?m)^    \S`, string(text), "an indented code block: nothing would run it")
	return all
}

// The blocks, each with the word that it begins with. Every one belongs to a test.
var known = struct{ makes, module, program, run, rail, railTest, window, buffers, record, commands block }{
	makes:    block{"sh", "make"},
	module:   block{"sh", "mkdir"},
	program:  block{"go", "package main"},
	run:      block{"sh", "FI_LNX_PROV_LINKS="},
	rail:     block{"rail", "domain"},
	railTest: block{"go", "package links_test"},
	window:   block{"go", "package window_test"},
	buffers:  block{"go", "// buffers_test.go"},
	record:   block{"sh", "INTERCEPT_TIMER_DIR="},
	commands: block{"sh", "lnx"},
}

// theBlock answers the text of the only block that begins as the known one.
func theBlock(t *testing.T, known block) string {
	t.Helper()
	var found []string
	for _, b := range blocks(t) {
		if b.language == known.language && strings.HasPrefix(b.text, known.text) {
			found = append(found, b.text)
		}
	}
	require.Len(t, found, 1, "blocks of %s that begin with %q", known.language, known.text)
	return found[0]
}

// shell runs commands in a directory, and answers what they print.
func shell(t *testing.T, dir, commands string, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK="), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// beside answers a directory that has the project in it as golnx.
func beside(t *testing.T) string {
	t.Helper()
	project, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(project, filepath.Join(dir, "golnx")))
	return dir
}

// newModule makes the module as the README says.
func newModule(t *testing.T) string {
	t.Helper()
	dir := beside(t)
	out, err := shell(t, dir, theBlock(t, known.module))
	require.NoError(t, err, out)
	return filepath.Join(dir, "hello")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestEveryBlockIsKnown(t *testing.T) {
	require.Len(t, blocks(t), reflect.ValueOf(known).NumField(), "a block that no test runs")
}

func TestMakeTargets(t *testing.T) {
	for line := range strings.Lines(theBlock(t, known.makes)) {
		require.True(t, strings.HasPrefix(line, "make "), line)
		out, err := shell(t, root, "make --dry-run "+strings.TrimPrefix(line, "make "))
		require.NoError(t, err, out)
	}
}

func TestProgram(t *testing.T) {
	dir := newModule(t)
	write(t, filepath.Join(dir, "main.go"), theBlock(t, known.program))
	out, err := shell(t, dir, "gofmt -l . && go vet .")
	require.NoError(t, err, out)
	require.Empty(t, out)
	out, err = shell(t, dir, theBlock(t, known.run))
	require.NoError(t, err, out)
	lines := strings.Split(out, "\n")
	require.Equal(t, "tag 42: hello over shm+tcp;ofi_rxm:lo", lines[0])
	require.Contains(t, lines[1], "shm (up): ", "the rail that carried it comes first")
}

func TestRailCase(t *testing.T) {
	text := theBlock(t, known.rail)
	c, err := railtest.Parse("README.md", text)
	require.NoError(t, err)
	railtest.Run(t, c)

	dir := newModule(t)
	write(t, filepath.Join(dir, "links/links_test.go"), theBlock(t, known.railTest))
	file := filepath.Join(dir, "links/testdata/two_nics.rail")
	write(t, file, text)
	out, err := shell(t, dir, "gofmt -l . && go test -v ./links")
	require.NoError(t, err, out)
	require.Contains(t, out, "--- PASS: TestRails")

	write(t, file, strings.ReplaceAll(text, "cxi:cxi1 to cxi:cxi0", "cxi:cxi0 to cxi:cxi1"))
	out, err = shell(t, dir, "go test ./links")
	require.Error(t, err)
	require.Contains(t, out, "go test -run '^TestRails$' -update")
	out, err = shell(t, dir, "go test ./links -update")
	require.NoError(t, err, out)
	updated, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(updated))
}

func TestExamples(t *testing.T) {
	dir := newModule(t)
	write(t, filepath.Join(dir, "window/window_test.go"), theBlock(t, known.window))
	write(t, filepath.Join(dir, "window/buffers_test.go"), theBlock(t, known.buffers))
	out, err := shell(t, dir, "gofmt -l . && go vet ./window && go test -v ./window")
	require.NoError(t, err, out)
	require.Equal(t, 2, strings.Count(out, "--- PASS: Example"), out)
}

// What was recorded is shown.
func TestRecording(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	out, err := shell(t, root, "go build -o "+bin+" ./cmd/lnx")
	require.NoError(t, err, out)
	out, err = shell(t, dir, theBlock(t, known.record), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	require.NoError(t, err, out)
	require.Contains(t, out, "tsend")
	require.Contains(t, out, "FI_TAGGED")
	require.Contains(t, out, "[1] golnx")
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Greater(t, len(page), 100_000)
}

// Documentation that the README points at is there.
func TestPointers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	docs := ""
	for _, m := range regexp.MustCompile("`(go doc [^`]+)`").FindAllSubmatch(text, -1) {
		out, err := shell(t, root, string(m[1]))
		require.NoError(t, err, out)
		docs += out
	}
	require.Contains(t, docs, "Two ways to use it")
	require.Contains(t, docs, "EAgain ")
	prose := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAll(text, nil)
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllSubmatch(prose, -1) {
		require.FileExists(t, filepath.Join(root, string(m[1])))
	}
}

func TestCommands(t *testing.T) {
	bin := t.TempDir()
	out, err := shell(t, root, "go build -o "+bin+" ./cmd/lnx")
	require.NoError(t, err, out)
	path := "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
	for line := range strings.Lines(theBlock(t, known.commands)) {
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			require.True(t, strings.HasPrefix(line, "lnx "), line)
			out, err := shell(t, t.TempDir(), line, path)
			var exit *exec.ExitError
			if strings.HasPrefix(line, "lnx doctor") && errors.As(err, &exit) {
				require.Equal(t, 1, exit.ExitCode(), out) // it found something, as is its business
				require.Contains(t, out, "!!")
				return
			}
			require.NoError(t, err, out)
			require.NotEmpty(t, out)
		})
	}
}
