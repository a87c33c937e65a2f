package fault_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fault"
	"golnx/providers/fierr"
	"golnx/providers/sim"
	"golnx/providers/sim/linear"
)

// scenario is two endpoints with two rails each that exchange messages while one
// operation of theirs fails.
type scenario struct {
	t      *testing.T
	plan   *fault.Plan
	fabric *sim.Fabric
	cores  []*sim.Core
	nodes  []*linear.Owner
	// errs are all failures that were reported.
	errs []error
	// sends and probes are under way, and the receives have their buffers.
	sends, probes int
	receives      map[providers.Slot]*receipt
}

type receipt struct {
	want, buf []byte
}

// ok notes a failure.
func (s *scenario) ok(err error) bool {
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return err == nil
}

// run answers the sends and receives that succeeded.
func (s *scenario) run() (good int) {
	if !s.open() {
		return 0
	}
	a, b := s.nodes[0], s.nodes[1]
	var toB, toA [2]uint64
	known := true
	for r := range 2 {
		known = s.insert(a, b, r, &toB[r]) && s.insert(b, a, r, &toA[r]) && known
	}
	if known {
		for r := range 2 {
			s.recv(toA[r], 1, "expected", 8)
			s.send(r, toB[r], 1, "expected")
			s.send(r, toB[r], 2, "unexpected")
			s.settle(&good)
			s.recv(toA[r], 2, "unexpected", 10)
			s.recv(toA[r], 3, "never comes", 11)
			if s.ok(a.Core.(providers.Prober).Probe(r, toB[r])) {
				s.probes++
			}
			s.settle(&good)
			s.cancel()
			s.ok(a.Core.Remove(r, toB[r]))
		}
	}
	return good
}

func (s *scenario) open() bool {
	for range 2 {
		n, err := linear.Open(func(o providers.Owner) (providers.Core, error) {
			if err := s.plan.Fail(fault.Open); err != nil {
				return nil, err
			}
			core, err := s.fabric.Open([]sim.Rail{{Latency: 10}, {Latency: 20}}, o, sim.Limits{})
			if err != nil {
				return nil, err
			}
			s.cores = append(s.cores, core)
			return fault.Wrap(core, s.plan), nil
		})
		if !s.ok(err) {
			return false
		}
		s.nodes = append(s.nodes, n)
	}
	return true
}

func (s *scenario) insert(o, other *linear.Owner, rail int, addr *uint64) bool {
	name, err := other.Core.Name(rail)
	if !s.ok(err) {
		return false
	}
	*addr, err = o.Core.Insert(rail, name)
	return s.ok(err)
}

func (s *scenario) send(rail int, dest, tag uint64, text string) {
	if _, err := s.nodes[0].Send(rail, providers.SendOp{Dest: dest, Tag: tag}, []byte(text)); s.ok(err) {
		s.sends++
	}
}

func (s *scenario) recv(src, tag uint64, text string, size int) {
	buf := make([]byte, size)
	if slot, err := s.nodes[1].Recv(src, tag, 0, buf); s.ok(err) {
		s.receives[slot] = &receipt{want: []byte(text), buf: buf}
	}
}

// settle drives both ends until nothing is to come.
func (s *scenario) settle(good *int) {
	for more := true; more; {
		more = s.fabric.Step()
		for _, n := range s.nodes {
			for _, c := range n.Poll() {
				more = true
				s.ended(&c, good)
			}
		}
	}
	require.Zero(s.t, s.sends+s.probes, "sends without an end; %v", s.plan)
}

func (s *scenario) ended(c *providers.Completion, good *int) {
	if c.Kind == providers.Transmit {
		s.sends--
	}
	if r := s.receives[c.Slot]; c.Flags&providers.FlagMsg != 0 {
		s.probes--
	} else if c.Kind == providers.Receive {
		require.NotNil(s.t, r, "%v", s.plan)
		delete(s.receives, c.Slot)
		if c.Err == 0 {
			require.True(s.t, bytes.Equal(r.want, r.buf), "%v", s.plan)
		}
	}
	if c.Err != 0 {
		s.errs = append(s.errs, fierr.Errno(c.Err))
		return
	}
	*good++
}

// cancel takes back the receives that nothing came for.
func (s *scenario) cancel() {
	for slot := range s.receives {
		require.True(s.t, s.nodes[1].Cancel(slot), "a receive without an end; %v", s.plan)
		delete(s.receives, slot)
	}
}

// close closes all, those that refused once more.
func (s *scenario) close() {
	for i, n := range s.nodes {
		for _, m := range n.Unexpected() { // to a receive that failed
			require.NoError(s.t, n.Core.Start(m))
		}
		n.Poll()
		tx, rx := s.cores[i].Slots()
		require.Zero(s.t, tx+rx, "slots are left; %v", s.plan)
		if !s.ok(n.Close()) {
			require.NoError(s.t, n.Close(), "%v", s.plan)
		}
		_, err := s.cores[i].Name(0)
		require.ErrorIs(s.t, err, fierr.EBadF, "it is closed")
	}
	require.NoError(s.t, s.fabric.Err(), "%v", s.plan)
}

// Whatever fails is reported once, everything else ends, and all closes.
func TestEveryOperationFails(t *testing.T) {
	for _, errno := range []fierr.Errno{fierr.EIO, fierr.EAgain} {
		failed := map[fault.Op]int{}
		for plan := range fault.Each("", errno) {
			s := &scenario{t: t, plan: plan, fabric: sim.New(sim.Options{}), receives: map[providers.Slot]*receipt{}}
			good := s.run()
			s.close()
			if !plan.Fired() {
				require.Empty(t, s.errs)
				require.Equal(t, 10, good)
				require.EqualValues(t, plan.N, plan.Calls())
				break
			}
			failed[plan.Where()]++
			require.Len(t, s.errs, 1, "%v", plan)
			require.ErrorIs(t, s.errs[0], errno, "%v", plan)
		}
		require.Equal(t, map[fault.Op]int{
			fault.Open: 2, fault.Name: 4, fault.Insert: 4, fault.AllocTx: 4, fault.Send: 4, fault.Transmit: 4,
			fault.AllocRx: 4, fault.Start: 2, fault.Receive: 6, fault.Probe: 2, fault.Remove: 2, fault.Close: 2,
		}, failed)
	}
}

// A plan for one kind of operation leaves the others alone.
func TestOneKind(t *testing.T) {
	runs := 0
	for plan := range fault.Each(fault.Send, 0) {
		s := &scenario{t: t, plan: plan, fabric: sim.New(sim.Options{}), receives: map[providers.Slot]*receipt{}}
		s.run()
		s.close()
		runs++
		if plan.Fired() {
			require.Equal(t, fault.Send, plan.Where())
			require.Equal(t, []error{fierr.EIO}, s.errs)
		}
	}
	require.Equal(t, 5, runs)
}

func TestNever(t *testing.T) {
	plan := &fault.Plan{N: -1}
	s := &scenario{t: t, plan: plan, fabric: sim.New(sim.Options{}), receives: map[providers.Slot]*receipt{}}
	require.Equal(t, 10, s.run())
	s.close()
	require.NotZero(t, plan.Calls())
	require.False(t, plan.Fired())
	require.Empty(t, plan.Where())
}

func TestUnwrap(t *testing.T) {
	core, err := sim.New(sim.Options{}).Open([]sim.Rail{{}}, nil, sim.Limits{})
	require.NoError(t, err)
	require.True(t, providers.Core(core) == fault.Wrap(core, &fault.Plan{}).Unwrap())
}

// An owner may rely on AllocRx over the limit.
func TestAllocRxOverLimit(t *testing.T) {
	core, err := sim.New(sim.Options{}).Open([]sim.Rail{{}}, nil, sim.Limits{})
	require.NoError(t, err)
	c := fault.Wrap(core, &fault.Plan{Op: fault.AllocRx})
	_, err = c.AllocRx(true)
	require.NoError(t, err)
	_, err = c.AllocRx(false)
	require.True(t, errors.Is(err, fierr.EIO))
	_, err = c.AllocRx(false)
	require.NoError(t, err)
}
