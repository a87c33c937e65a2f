package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// plainUsage puts an error of the parser of command lines into our words: what was
// given, what is wrong with it, what to write instead.
func plainUsage(err error) error {
	text := err.Error()
	for _, r := range usageWords {
		text = r.found.ReplaceAllString(text, r.plain)
	}
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		text = inContext(text, parse.Context)
	}
	if text == err.Error() {
		return usageError{err}
	}
	return usageError{errors.New(text)}
}

var usageWords = []struct {
	found *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`expected duration but got ("(?:[^"\\]|\\.)*").*`), `$1 is no time: write a number with a unit, as 500ms, 30s or 10m`},
	{regexp.MustCompile(`expected a valid \d+ bit int but got (".*")`), `$1 is no whole number in range`},
	{regexp.MustCompile(`expected a valid \d+ bit uint but got (".*")`), `$1 is no whole number from 0`},
	{regexp.MustCompile(`expected \S+ value but got (".*") \((?:short|long) flag.*\); perhaps try (\S+)="(.*)"\?`), `$1 looks like a flag: write $2=$3`},
	{regexp.MustCompile(`expected \S+ value but got "EOL".*`), `its value is missing`},
	{regexp.MustCompile(`^<[a-z]+>: stat `), ``},
	{regexp.MustCompile(`^(--[a-z]+): stat `), `$1 `},
	{regexp.MustCompile(`^missing flags: (.*)`), `$1 is missing`},
	{regexp.MustCompile(`^unknown flag (\S+), did you mean (?:one of )?"-.".*`), `unknown flag $1`},
}

// inContext adds what there is at the place where the parser stopped.
func inContext(text string, c *kong.Context) string {
	node := c.Selected()
	if node == nil {
		node = c.Model.Node
	}
	name := node.FullPath()
	more := fmt.Sprintf("see %s --help", name)
	switch {
	case strings.HasPrefix(text, "expected one of "):
		return fmt.Sprintf("a command is missing: %s has %s; %s", name, commandsOf(node), more)
	case strings.HasPrefix(text, `expected "<`):
		return fmt.Sprintf("%s is missing; %s", strings.TrimSuffix(strings.TrimPrefix(text, `expected "`), `"`), more)
	case strings.HasPrefix(text, "unexpected argument ") && len(node.Children) > 0:
		word, guess, _ := strings.Cut(strings.TrimPrefix(text, "unexpected argument "), ", ")
		if guess != "" {
			return fmt.Sprintf("%s has no command %q, %s", name, word, guess)
		}
		return fmt.Sprintf("%s has no command %q: there are %s", name, word, commandsOf(node))
	case strings.HasPrefix(text, "unexpected argument "), strings.HasPrefix(text, "unknown flag ") && !strings.Contains(text, "did you mean"), strings.HasSuffix(text, " is missing"):
		return text + "; " + more
	}
	return text
}

func commandsOf(node *kong.Node) string {
	var names []string
	for _, c := range node.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}
