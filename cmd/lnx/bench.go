package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"golnx/cmd/lnx/benchtable"
	"golnx/providers/ofi"
)

// benchCmd compares with C, for `make bench`.
type benchCmd struct {
	Cbench string `required:"" placeholder:"FILE" help:"testdata/cbench, built."`
	Rounds int    `default:"5" help:"How often everything is measured."`
	Rows   string `placeholder:"REGEXP" help:"Only the rows with such a name."`
	Goals  bool   `help:"Only the rows that have a goal."`
	Out    string `placeholder:"DIR" help:"Where to leave the figures, as JSON."`
	CPUs   cpus   `name:"cpus" placeholder:"A,B" help:"Processors for the two ends. Without it, the first two."`
	Quick  bool   `help:"Measure next to nothing, to see that everything runs."`
}

// quickDepths stand for benchtable.Depths in a quick run.
var quickDepths = []int{10, 100}

// Run measures, prints a table and leaves a file.
func (c *benchCmd) Run(a *app) error {
	rows, err := c.rows()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if c.CPUs == nil {
		if c.CPUs, err = twoCPUs(); err != nil {
			return err
		}
	}
	start := time.Now()
	results, err := benchtable.Measure(a.ctx, rows, benchtable.Options{
		Lnx: self, Cbench: c.Cbench, CPUs: fmt.Sprintf("%d,%d", c.CPUs[0], c.CPUs[1]), Rounds: c.Rounds, Quick: c.Quick,
		Tell: func(what string) { a.print(what) },
	})
	if err != nil {
		return err
	}
	if err := benchtable.Print(a.out, results, c.Rounds); err != nil {
		return err
	}
	for _, r := range results {
		if r.Failed != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", r.Name, r.Failed))
		}
	}
	return errors.Join(err, c.leave(a, start, results))
}

func (c *benchCmd) rows() ([]benchtable.Row, error) {
	re, err := regexp.Compile(c.Rows)
	if err != nil {
		return nil, usageError{fmt.Errorf("--rows: %w", err)}
	}
	if c.Rounds < 1 {
		return nil, usageError{fmt.Errorf("--rounds %d: at least 1", c.Rounds)}
	}
	depths := benchtable.Depths
	if c.Quick {
		depths = quickDepths
	}
	rows := slices.DeleteFunc(benchtable.Rows(depths), func(r benchtable.Row) bool {
		return !re.MatchString(r.Name) || c.Goals && r.Goal == 0
	})
	if len(rows) == 0 {
		what := "row"
		if c.Goals {
			what = "row with a goal"
		}
		return nil, usageError{fmt.Errorf("--rows %s: no %s is called like that", c.Rows, what)}
	}
	return rows, nil
}

// twoCPUs answers the first two processors that may be used.
func twoCPUs() (cpus, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var two cpus
	for cpu := 0; cpu <= maxCPU && len(two) < 2; cpu++ {
		if set.IsSet(cpu) {
			two = append(two, cpu)
		}
	}
	if len(two) < 2 {
		return nil, errors.New("one processor only may be used: two ends that poll need two")
	}
	return two, nil
}

// measurement is the file that is left.
type measurement struct {
	Time      time.Time           `json:"time"`
	Seconds   float64             `json:"seconds"`
	Revision  string              `json:"revision"`
	Modified  bool                `json:"modified"`
	Go        string              `json:"go"`
	Libfabric string              `json:"libfabric"`
	CPU       string              `json:"cpu"`
	CPUs      []int               `json:"cpus"`
	Rounds    int                 `json:"rounds"`
	Rows      []benchtable.Result `json:"rows"`
}

// leave writes the figures with what they were measured with.
func (c *benchCmd) leave(a *app, start time.Time, results []benchtable.Result) error {
	if c.Out == "" {
		return nil
	}
	m := measurement{
		Time: start.UTC().Truncate(time.Second), Seconds: time.Since(start).Seconds(),
		Go: runtime.Version(), Libfabric: fmt.Sprint(ofi.HeaderVersion), CPU: cpuModel(), CPUs: c.CPUs, Rounds: c.Rounds, Rows: results,
	}
	m.Revision, m.Modified = revision()
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(c.Out, m.Time.Format("20060102T150405")+".json")
	a.print("figures are in " + path)
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// revision answers what was built, as far as the Go command noted it.
func revision() (rev string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return rev, modified
}

// cpuModel is what the kernel calls the processor; empty if it does not say.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
