package timer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golnx/rail/intercept"
	"golnx/rail/timer/nic"
)

// sampler is the goroutine that reads NIC counters.
type sampler struct {
	r       *Recorder
	table   *table
	devices []*sampled
	flushed int64 // when the table last was

	mu     sync.Mutex
	wanted map[string]bool // NICs of rails; false for those that are open
	wake   chan struct{}

	flushes chan chan struct{}
	done    chan struct{}
}

// sampled is a NIC under observation.
type sampled struct {
	s      *sampler
	device nic.Device
	each   func(counter int, value uint64)
	// prefix is the part of a counter's lines between time and value.
	prefix []string
	state  []reading
}

// reading is the last one of a counter.
type reading struct {
	time  int64 // 0 before the first
	value uint64
	// waits says that it is not written, because it was as the one before.
	waits bool
}

func newSampler(r *Recorder) (*sampler, error) {
	s := &sampler{r: r, wanted: map[string]bool{}, wake: make(chan struct{}, 1), flushes: make(chan chan struct{}), done: make(chan struct{})}
	l := limit{r.cfg.NICBytes, nicMBKnob, r.cfg.Knobs()[nicMBKnob]}
	var err error
	s.table, err = r.table(nicFile, nicColumns, l, func(cause error) { r.ended(cause, "no more NIC counters are recorded") })
	if err != nil {
		return nil, err
	}
	for _, name := range s.named() {
		s.open(name)
	}
	return s, nil
}

// named answers the NICs that INTERCEPT_TIMER_NIC_DEV names.
func (s *sampler) named() []string {
	if len(s.r.cfg.NICDevices) == 0 {
		return nil // they come with the rails
	}
	return slices.DeleteFunc(devices(s.r.env.Sources), func(name string) bool { return !matches(s.r.cfg.NICDevices, name) })
}

// devices answers the NICs of all sources.
func devices(sources []nic.Source) []string {
	names := map[string]bool{}
	for _, source := range sources {
		for _, name := range source.Devices() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// want samples the NICs of rails from now on. It can be called from any goroutine.
func (s *sampler) want(rails []*intercept.Rail) {
	s.mu.Lock()
	for _, r := range rails {
		if _, known := s.wanted[r.Device]; !known {
			s.wanted[r.Device] = true
		}
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sampler) run() {
	ticks, stop := s.r.env.Ticker(s.r.cfg.NICEvery)
	defer stop()
	defer close(s.done)
	s.sample()
	for !s.table.ended {
		select {
		case <-s.wake:
			s.openWanted()
			s.sample()
		case <-ticks:
			s.sample()
		case written := <-s.flushes:
			s.finish()
			close(written)
		case <-s.r.stop:
			s.finish()
			s.found()
			return
		}
	}
}

func (s *sampler) openWanted() {
	s.mu.Lock()
	var names []string
	for name, isNew := range s.wanted {
		if isNew {
			names = append(names, name)
			s.wanted[name] = false
		}
	}
	s.mu.Unlock()
	slices.Sort(names)
	for _, name := range names {
		s.open(name)
	}
}

// open opens the counters of a NIC, from whichever source has it.
func (s *sampler) open(name string) {
	for _, source := range s.r.env.Sources {
		d := source.Open(name, func(counter string) bool { return matches(s.r.cfg.NICCounters, counter) })
		counters := d.Counters()
		if len(counters) == 0 {
			d.Close()
			continue
		}
		one := &sampled{s: s, device: d, state: make([]reading, len(counters))}
		for _, c := range counters {
			prefix := append(appendField([]byte{','}, name), ',')
			one.prefix = append(one.prefix, string(append(appendField(prefix, c), ',')))
		}
		one.each = one.read
		s.devices = append(s.devices, one)
	}
}

func (s *sampler) sample() {
	for _, d := range s.devices {
		d.device.Read(d.each)
	}
	if now := s.r.clock(); now-s.flushed >= int64(flushEvery) {
		s.flushed = now
		s.table.flush()
	}
	if s.r.broken() {
		s.table.ended = true
	}
}

// read takes one reading. The middle ones of a row of equal values are not written.
func (d *sampled) read(counter int, value uint64) {
	now := d.s.r.clock()
	was := &d.state[counter]
	if was.time != 0 && was.value == value {
		was.time, was.waits = now, true
		return
	}
	d.writeWaiting(counter)
	*was = reading{time: now, value: value}
	d.write(counter)
}

func (d *sampled) writeWaiting(counter int) {
	if d.state[counter].waits {
		d.state[counter].waits = false
		d.write(counter)
	}
}

func (d *sampled) write(counter int) {
	b := strconv.AppendInt(d.s.table.buf, d.state[counter].time, 10)
	b = append(b, d.prefix[counter]...)
	b = strconv.AppendUint(b, d.state[counter].value, 10)
	d.s.table.add(append(b, '\n'))
}

// flush writes what there is, and waits for it. It can be called from any goroutine.
func (s *sampler) flush() {
	written := make(chan struct{})
	select {
	case s.flushes <- written:
		<-written
	case <-s.done:
	}
}

// finish reads the counters, and writes all that is not written.
func (s *sampler) finish() {
	s.openWanted()
	s.sample()
	for _, d := range s.devices {
		for counter := range d.state {
			d.writeWaiting(counter)
		}
	}
	s.table.flush()
}

// found warns if there was nothing to sample.
func (s *sampler) found() {
	if len(s.devices) > 0 {
		return
	}
	s.table.note("no counters were found")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r.warn(fmt.Sprintf("no counters were found of the rails' devices (%s) that %s=%q fits: name others of %s in %s",
		strings.Join(slices.Sorted(maps.Keys(s.wanted)), ", "), nicCountersKnob, strings.Join(s.r.cfg.NICCounters, ","), strings.Join(devices(s.r.env.Sources), ", "), nicDevKnob))
}

// state answers the counts; none if no counters are sampled.
func (s *sampler) state() RowCounts {
	if s == nil {
		return RowCounts{}
	}
	return s.table.state()
}

// close closes the files, after run has ended.
func (s *sampler) close() error {
	if s == nil {
		return nil
	}
	for _, d := range s.devices {
		d.device.Close()
	}
	return s.table.file.Close()
}
