package trace

import "golnx/rail/timer"

// mostCounters bounds the counters that are followed over time.
const mostCounters = 256

// Counter is what one counter of one device did over time.
type Counter struct {
	// Host is empty where it is not known; then Rank tells counters apart.
	Host            string
	Rank            int // that sampled it
	Device, Counter string
	// Total is by how much it grew altogether.
	Total float64
	Cells *Lane[CounterCell]
}

// CounterCell is one bin.
type CounterCell struct {
	// Delta is by how much the counter grew, and Covered the time in ns of this bin
	// that lies between samples: 0 where the counter's growth is not known.
	Delta, Covered float64
}

// Rate is the growth per second; meaningless if Covered is 0.
func (c CounterCell) Rate() float64 { return c.Delta / c.Covered * 1e9 }

func (c *CounterCell) add(from *CounterCell) {
	c.Delta += from.Delta
	c.Covered += from.Covered
}

// counters follows all counters of a run. A device that several ranks of one host
// sample is taken from the first of them.
type counters struct {
	line    *Timeline
	series  map[counterKey]*series
	sampler map[deviceKey]int
	all     []*Counter
	leftOut int
}

type deviceKey struct {
	host   string
	rank   int // where the host is not known
	device string
}

type counterKey struct {
	deviceKey
	counter string
}

// series is the last sample of a counter. Its Counter is made when it first changes:
// most of a NIC's never do.
type series struct {
	time    int64
	value   uint64
	counter *Counter
	dropped bool
}

func newCounters(line *Timeline) *counters {
	return &counters{line: line, series: map[counterKey]*series{}, sampler: map[deviceKey]int{}}
}

func (c *counters) add(k *Rank, s *timer.NICSample) {
	device := deviceKey{host: k.Meta.Host, device: s.Device}
	if device.host == "" {
		device.rank = k.Rank
	}
	if sampler, ok := c.sampler[device]; !ok {
		c.sampler[device] = k.Rank
	} else if sampler != k.Rank {
		return
	}
	key := counterKey{device, s.Counter}
	last := c.series[key]
	if last == nil {
		if len(c.series) < mostSeries {
			c.series[key] = &series{time: s.Time, value: s.Value}
		} else {
			c.leftOut++
		}
		return
	}
	if s.Time > last.time && s.Value >= last.value { // else it was set back
		c.grow(k, s, last)
	}
	last.time, last.value = s.Time, s.Value
}

// mostSeries bounds the counters whose last value is kept.
const mostSeries = 1 << 16

// grow notes the growth from the last sample to this one.
func (c *counters) grow(k *Rank, s *timer.NICSample, last *series) {
	delta := float64(s.Value - last.value)
	if last.counter == nil && delta > 0 && !last.dropped {
		if len(c.all) == mostCounters {
			last.dropped = true
			c.leftOut++
			return
		}
		last.counter = &Counter{
			Host: k.Meta.Host, Rank: k.Rank, Device: s.Device, Counter: s.Counter,
			Cells: newLane(c.line, (*CounterCell).add),
		}
		c.all = append(c.all, last.counter)
	}
	if last.counter == nil {
		return
	}
	last.counter.Total += delta
	span := float64(s.Time - last.time)
	c.line.spread(last.time, s.Time, func(cell int, share float64) {
		last.counter.Cells.cells[cell].add(&CounterCell{Delta: share * delta, Covered: share * span})
	})
}
