package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"golnx/internal/ranks"
	"golnx/providers/fiinfo"
	"golnx/rail/intercept"
)

const (
	dirKnob        = "INTERCEPT_FLAGS_DIR"
	resultsMaxKnob = "INTERCEPT_FLAGS_RESULTS_MAX"

	defaultResultsMax = 8
)

// Config says what is recorded, and where.
type Config struct {
	// Dir is where the file goes. It is made if it is not there.
	Dir string
	// Rank is in the file's name; RankSource is the variable that said so.
	Rank       int
	RankSource string
	// ResultsMax is how many answers of one fi_getinfo are recorded; 0 is all.
	ResultsMax int
}

// Recorder writes down each step as it is taken. Its hooks are safe for concurrent use.
type Recorder struct {
	path       string
	warn       io.Writer
	resultsMax int

	mu   sync.Mutex
	file output // nil when recording has ended
	size int64  // of the file, up to the last line that is whole
}

// output is what a Recorder needs of an *os.File.
type output interface {
	io.WriteCloser
	Truncate(size int64) error
}

// FromEnv opens the recorder that the environment asks for; nil, and no error, if
// INTERCEPT_FLAGS_DIR is not set or empty. lookup answers a variable, and whether it is
// set. A variable with a bad value is an error that names it, and so is a file that
// cannot be made. What goes wrong later is told on warn, once.
func FromEnv(lookup func(string) (string, bool), warn io.Writer) (*Recorder, error) {
	c := Config{ResultsMax: defaultResultsMax}
	if c.Dir, _ = lookup(dirKnob); c.Dir == "" {
		return nil, nil
	}
	if text, _ := lookup(resultsMaxKnob); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%s=%q: a number of answers of fi_getinfo is needed, as 8, or 0 for all", resultsMaxKnob, text)
		}
		c.ResultsMax = int(n)
	}
	var err error
	if c.Rank, c.RankSource, err = ranks.FromEnv(lookup); err != nil {
		return nil, err
	}
	r, err := New(c, warn)
	if err != nil {
		return nil, fmt.Errorf("%s=%q: %w", dirKnob, c.Dir, err)
	}
	return r, nil
}

// New opens a recorder. A file that an earlier process of this rank left is written
// over; one that another process is writing is left alone, and the new one is called
// flags_rank<N>_2.jsonl, and so on. A process has one recorder.
func New(c Config, warn io.Writer) (*Recorder, error) {
	if c.ResultsMax < 0 {
		return nil, fmt.Errorf("Config.ResultsMax is %d: it is a number of answers, or 0 for all", c.ResultsMax)
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return nil, err
	}
	f, err := create(c.Dir, c.Rank)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	r := &Recorder{path: f.Name(), warn: warn, resultsMax: c.ResultsMax, file: f}
	header := Header{Format: FormatVersion, Rank: c.Rank, RankSource: c.RankSource, Host: host, PID: os.Getpid(), ResultsMax: c.ResultsMax}
	if err := r.append(header); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// mostWriters bounds how many processes of one rank have a file.
const mostWriters = 100

// create makes the rank's file, and holds a lock on it.
func create(dir string, rank int) (*os.File, error) {
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(dir, fileName(rank, n)), os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		// A file system without locks has nobody to be kept from.
		if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) && n < mostWriters {
			f.Close()
			continue
		}
		if err := f.Truncate(0); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}

// Hooks answers what to register with the rails. A nil Recorder has none.
func (r *Recorder) Hooks() *intercept.Hooks {
	if r == nil {
		return nil
	}
	return &intercept.Hooks{
		Name:    "flags",
		GetInfo: r.getInfo,
		DomainInfo: func(rail *intercept.Rail, asked, granted *fiinfo.Info) {
			r.opened(Domain, rail, asked, granted)
		},
		EndpointInfo: func(rail *intercept.Rail, asked, granted *fiinfo.Info) {
			r.opened(Endpoint, rail, asked, granted)
		},
	}
}

// getInfo records what the consumers outside of this one ask for, and what comes of it.
func (r *Recorder) getInfo(c *intercept.GetInfo, next func(*intercept.GetInfo) error) error {
	rec := Record{Step: GetInfo, Provider: c.Provider}
	if c.Hints != nil {
		asked := *c.Hints // inner consumers may write into it
		rec.Asked = &asked
	}
	err := next(c)
	if err != nil {
		rec.Error = err.Error()
	}
	rec.Results, rec.Granted = len(c.Results), c.Results
	if r.resultsMax > 0 && rec.Results > r.resultsMax {
		rec.Granted = c.Results[:r.resultsMax]
	}
	r.record(rec)
	return err
}

func (r *Recorder) opened(step Step, rail *intercept.Rail, asked, granted *fiinfo.Info) {
	rec := Record{Step: step, Provider: rail.Info.Provider, Asked: asked, Results: 1, Granted: []*fiinfo.Info{granted}}
	rec.Rail = &Rail{Index: rail.Index, Name: rail.Info.Name, Device: rail.Device}
	if e := rail.Endpoint; e != nil {
		rec.Rail.Link, rec.Rail.Endpoint = e.Link, e.ID
	}
	r.record(rec)
}

// record appends a line, or ends the recording.
func (r *Recorder) record(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return
	}
	if err := r.append(rec); err != nil {
		// What is there is right: all but a line that was begun.
		err = errors.Join(err, r.file.Truncate(r.size), r.file.Close())
		r.file = nil
		fmt.Fprintf(r.warn, "golnx: %s: recording of flags has ended: %v\n", r.path, err)
	}
}

// append writes a line at once, so that a process that is killed has left all of it.
func (r *Recorder) append(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	n, err := r.file.Write(append(text, '\n'))
	if err != nil {
		return err
	}
	r.size += int64(n)
	return nil
}

// Close ends the recording. Steps that are taken later are not recorded. A nil Recorder
// can be closed, and a closed one again.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
