package railtest

import (
	"fmt"
	"os"
	"strings"
)

// T is what Run needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run simulates a case and reports every message that went elsewhere than
// expected.
func Run(t T, c Case) {
	t.Helper()
	run(t, c, "")
}

// run is Run with a line that follows the differences, if there are any.
func run(t T, c Case, hint string) {
	t.Helper()
	picks, err := c.Simulate()
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	diffs := c.Compare(picks)
	for _, diff := range diffs {
		t.Errorf("%s", diff)
	}
	if len(diffs) > 0 && hint != "" {
		t.Errorf("%s", hint)
	}
}

// Compare answers a line for every difference between the picks and what the case
// expects.
func (c *Case) Compare(picks []Pick) []string {
	var diffs []string
	for i, s := range c.Steps {
		if s.Do != Send {
			continue
		}
		var got []Pick
		for len(picks) > 0 && picks[0].Step == i {
			got, picks = append(got, picks[0]), picks[1:]
		}
		where := fmt.Sprintf("%s: step %d (%v)", c.Name, i+1, s)
		if s.line > 0 {
			where = fmt.Sprintf("%s:%d: %v", c.Name, s.line, s)
		}
		if len(got) != len(s.Want) {
			diffs = append(diffs, fmt.Sprintf("%s: %d picks expected, one for each message, and %d made", where, len(s.Want), len(got)))
		}
		for k := range min(len(got), len(s.Want)) {
			have := got[k].String()
			if got[k].Err == nil && strings.Contains(s.Want[k], whySep) {
				have = got[k].Explained()
			}
			if have != s.Want[k] {
				diffs = append(diffs, fmt.Sprintf("%s: message %d:\n  expected %s\n  picked   %s", where, k+1, s.Want[k], have))
			}
		}
	}
	return diffs
}

// RunFile runs the case in a file. With update it first rewrites the file's
// expectations to what the policy does now, which the reader of the change is to
// judge; all other lines stay as they are.
func RunFile(t T, path string, update bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("railtest: %v", err)
		return
	}
	if update {
		changed, err := Update(path, string(text))
		if err == nil && changed != string(text) {
			err = os.WriteFile(path, []byte(changed), 0o644)
		}
		if err != nil {
			t.Fatalf("railtest: update: %v", err)
			return
		}
		text = []byte(changed)
	}
	c, err := Parse(path, string(text))
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	run(t, c, updateHint(t, path))
}

// updateHint says how to have the file follow a policy that was changed on purpose.
// That the flag is called -update is custom.
func updateHint(t T, path string) string {
	command := "go test -update"
	if named, ok := t.(interface{ Name() string }); ok {
		command = fmt.Sprintf("go test -run '^%s$' -update", named.Name())
	}
	return fmt.Sprintf("if the picks are as they should be, write them into %s: %s", path, command)
}

// Update answers a case's text with the expectations replaced by the present
// picks, reasons included if it says explain.
func Update(name, text string) (string, error) {
	c, err := Parse(name, text)
	if err != nil {
		return "", err
	}
	picks, err := c.Simulate()
	if err != nil {
		return "", err
	}
	wants := map[int][]Pick{} // by line of the send
	for _, p := range picks {
		line := c.Steps[p.Step].line
		wants[line] = append(wants[line], p)
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		if words := strings.Fields(line); len(words) > 0 && words[0] == wantMark {
			continue
		}
		b.WriteString(line)
		if len(wants[n]) > 0 && !strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
		for _, p := range wants[n] {
			want := p.String()
			if c.Explain {
				want = p.Explained()
			}
			b.WriteString(wantLine(want))
		}
	}
	return b.String(), nil
}
