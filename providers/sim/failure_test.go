package sim_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// sendTo starts sends of 100 bytes, which take 100 ns each.
func sendTo(t *testing.T, w *world, dest uint64, n int) {
	t.Helper()
	for range n {
		_, err := w.nodes[0].Send(0, providers.SendOp{Dest: dest}, make([]byte, 100))
		require.NoError(t, err)
	}
}

// outcome polls both ends until nothing is to come, and answers how the sends
// ended and how many messages there are.
func outcome(w *world) (ends []fierr.Errno, arrived int) {
	for more := true; more; more = w.f.Step() {
		for _, c := range w.nodes[0].Poll() {
			ends = append(ends, fierr.Errno(c.Err))
		}
		w.nodes[1].Poll()
	}
	return ends, len(w.nodes[1].Unexpected())
}

// A rail that goes down after 250 ns has sent two messages, of which the first is
// there.
func TestDown(t *testing.T) {
	down := fierr.Errno(syscall.ENETDOWN)
	for _, c := range []struct {
		name    string
		end     int // whose rail goes down
		loss    sim.Loss
		ends    []fierr.Errno
		arrived int
	}{
		{"sender's, fail", 0, sim.Fail, []fierr.Errno{0, 0, down, down}, 1},
		{"sender's, lose", 0, sim.Lose, []fierr.Errno{0, 0, 0, 0}, 1},
		{"receiver's, fail", 1, sim.Fail, []fierr.Errno{0, 0, fierr.EHostUnreach, fierr.EHostUnreach}, 0},
		{"receiver's, lose", 1, sim.Lose, []fierr.Errno{0, 0, 0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, sim.Options{}, rails(1, sim.Rail{Rate: 8e9, Latency: 120}), rails(1, sim.Rail{Rate: 8e9}))
			dest := w.to(t, 0, 0, 1, 0)
			w.cores[c.end].Down(0, 250, c.loss)
			w.cores[c.end].Up(0, 1000)
			sendTo(t, w, dest, 4)
			ends, arrived := outcome(w)
			require.Equal(t, c.ends, ends)
			require.Equal(t, c.arrived, arrived)
			if c.loss == sim.Fail {
				require.Equal(t, 1-c.arrived, w.nodes[1].Withdrawn, "what the receiver's rail had is gone")
			}

			// and up again it is as before
			require.EqualValues(t, 1000, w.f.Now())
			sendTo(t, w, dest, 2)
			ends, after := outcome(w)
			require.Equal(t, []fierr.Errno{0, 0}, ends)
			require.Equal(t, arrived+2, after)
			require.EqualValues(t, 1320, w.f.Now(), "no time is lost to what was given up")
			w.close(t)
		})
	}
}

// A rail that comes up again sends at once, however much it had to send before.
func TestUpAgain(t *testing.T) {
	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{Rate: 8e9}), rails(1, sim.Rail{}))
	dest := w.to(t, 0, 0, 1, 0)
	sendTo(t, w, dest, 10)
	w.f.Advance(250)
	w.cores[0].Down(0, 0, sim.Fail)
	w.cores[0].Up(0, 0)
	sendTo(t, w, dest, 1)
	w.f.Advance(99)
	require.Len(t, w.nodes[0].Poll(), 10)
	w.f.Advance(1)
	require.Len(t, w.nodes[0].Poll(), 1)
	w.close(t)
}

func TestSendWhileDown(t *testing.T) {
	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{}), rails(1, sim.Rail{}))
	dest := w.to(t, 0, 0, 1, 0)
	w.cores[0].Down(0, 0, sim.Lose)
	_, err := w.nodes[0].Send(0, providers.SendOp{Dest: dest})
	require.ErrorIs(t, err, syscall.ENETDOWN)
	require.ErrorIs(t, w.cores[0].Probe(0, dest), syscall.ENETDOWN)
	w.cores[0].Up(0, 0)
	sendTo(t, w, dest, 1)
	w.close(t)
}

// What is to nobody fails; so does what is to another network.
func TestUnreachable(t *testing.T) {
	other := rails(1, sim.Rail{Info: providers.Info{Fabric: "other"}})
	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{}), rails(1, sim.Rail{}), other)
	gone, elsewhere := w.to(t, 0, 0, 1, 0), w.to(t, 0, 0, 2, 0)
	require.NoError(t, w.nodes[1].Close())
	sendTo(t, w, gone, 1)
	sendTo(t, w, elsewhere, 1)
	w.f.Advance(0)
	for _, c := range w.nodes[0].Poll() {
		require.Equal(t, fierr.EHostUnreach, fierr.Errno(c.Err))
	}
	tx, rx := w.cores[0].Slots()
	require.Zero(t, tx+rx)
	w.close(t)
}

// Closing ends what has not left, and lets the rest arrive.
func TestCloseWithMessages(t *testing.T) {
	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{Rate: 8e9, Latency: 1000}), rails(1, sim.Rail{}))
	dest := w.to(t, 0, 0, 1, 0)
	sendTo(t, w, dest, 3)
	w.f.Advance(200)
	require.NoError(t, w.nodes[0].Close())
	_, err := w.cores[0].Name(0)
	require.ErrorIs(t, err, fierr.EBadF)
	_, err = w.cores[0].Insert(0, []byte("x"))
	require.ErrorIs(t, err, fierr.EBadF)
	require.ErrorIs(t, w.cores[0].Remove(0, 0), fierr.EBadF)
	require.ErrorIs(t, w.cores[0].Send(0, &providers.SendOp{}), fierr.EBadF)
	require.ErrorIs(t, w.cores[0].Probe(0, dest), fierr.EBadF)
	w.cores[0].Up(0, 0)
	for w.f.Step() {
	}
	w.nodes[1].Poll()
	require.Len(t, w.nodes[1].Unexpected(), 2)
	w.close(t)
}

func TestRefusals(t *testing.T) {
	f := sim.New(sim.Options{})
	for _, r := range [][]sim.Rail{
		nil,
		rails(65, sim.Rail{}),
		rails(1, sim.Rail{Latency: -1}),
		rails(1, sim.Rail{Jitter: -1}),
		rails(1, sim.Rail{MaxPeers: -1}),
		rails(1, sim.Rail{Info: providers.Info{IOVLimit: 5}}),
	} {
		_, err := f.Open(r, nil, sim.Limits{})
		require.ErrorIs(t, err, fierr.EInval)
	}

	w := newWorld(t, sim.Options{}, rails(1, sim.Rail{MaxPeers: 1, Info: providers.Info{InjectSize: 4, MaxMsgSize: 8, IOVLimit: 1}}), rails(1, sim.Rail{}))
	a, dest := w.nodes[0], w.to(t, 0, 0, 1, 0)
	for _, c := range []struct {
		op   providers.SendOp
		bufs [][]byte
		err  error
	}{
		{providers.SendOp{Dest: dest}, [][]byte{make([]byte, 9)}, fierr.EMsgSize},
		{providers.SendOp{Dest: dest, Flags: providers.FlagInject}, [][]byte{make([]byte, 5)}, fierr.EMsgSize},
		{providers.SendOp{Dest: dest}, [][]byte{{1}, {2}}, fierr.EInval},
		{providers.SendOp{Dest: 17}, nil, fierr.EInval},
	} {
		_, err := a.Send(0, c.op, c.bufs...)
		require.Equal(t, c.err, err)
	}
	_, err := a.Send(1, providers.SendOp{Dest: dest})
	require.Equal(t, fierr.EInval, err)

	core := w.cores[0]
	again, err := core.Insert(0, []byte(string(core.Rails()[0].Addr)))
	require.ErrorIs(t, err, fierr.ENoMem, again)
	for _, addr := range [][]byte{nil, make([]byte, 65)} {
		_, err := core.Insert(0, addr)
		require.ErrorIs(t, err, fierr.EInval)
	}
	require.Equal(t, dest, w.to(t, 0, 0, 1, 0), "inserted twice")
	require.NoError(t, core.Remove(0, dest))
	require.NoError(t, core.Remove(0, dest))
	require.ErrorIs(t, core.Remove(0, dest), fierr.EInval)
	w.close(t)
}

func TestLimits(t *testing.T) {
	core, err := sim.New(sim.Options{}).Open(rails(1, sim.Rail{}), nil, sim.Limits{MaxRx: 2, MaxTx: 2})
	require.NoError(t, err)
	for range 2 {
		_, err = core.AllocTx()
		require.NoError(t, err)
		_, err = core.AllocRx(false)
		require.NoError(t, err)
	}
	_, err = core.AllocTx()
	require.Equal(t, fierr.Again, err)
	_, err = core.AllocRx(false)
	require.Equal(t, fierr.Again, err)
	slot, err := core.AllocRx(true)
	require.NoError(t, err)
	core.ReleaseRx(slot)
	_, err = core.AllocRx(false)
	require.Equal(t, fierr.Again, err, "two are still taken")
	core.FreeTx(1)
	_, err = core.AllocTx()
	require.NoError(t, err)
}

// badOwner answers a slot of its choice.
type badOwner struct{ slot providers.Slot }

func (o badOwner) Match(int, uint64, uint64, uint64) (providers.Slot, bool) { return o.slot, true }
func (badOwner) MatchMsg(int, uint64, uint64) (providers.Slot, bool)        { return 0, true }
func (badOwner) Dropped(providers.Slot)                                     {}

// Every breach of the contract is reported and harms nothing.
func TestBreaches(t *testing.T) {
	for name, breach := range map[string]func(w *world, dest uint64){
		"FreeTx twice": func(w *world, _ uint64) {
			slot, _ := w.cores[0].AllocTx()
			w.cores[0].FreeTx(slot)
			w.cores[0].FreeTx(slot)
		},
		"FreeTx under way": func(w *world, dest uint64) {
			slot, _ := w.nodes[0].Send(0, providers.SendOp{Dest: dest})
			w.cores[0].FreeTx(slot)
		},
		"Send with a slot in use": func(w *world, dest uint64) {
			slot, _ := w.nodes[0].Send(0, providers.SendOp{Dest: dest})
			_ = w.cores[0].Send(0, &providers.SendOp{Dest: dest, Slot: slot})
		},
		"Send without a slot":   func(w *world, dest uint64) { _ = w.cores[0].Send(0, &providers.SendOp{Dest: dest, Slot: 9}) },
		"ReleaseRx of nothing":  func(w *world, _ uint64) { w.cores[0].ReleaseRx(0) },
		"SetBuffers of nothing": func(w *world, _ uint64) { w.cores[0].SetBuffers(0, nil) },
		"too many buffers": func(w *world, _ uint64) {
			slot, _ := w.cores[0].AllocRx(false)
			w.cores[0].SetBuffers(slot, make([]providers.IOVec, 5))
		},
		"Start without a message": func(w *world, _ uint64) {
			slot, _ := w.cores[0].AllocRx(false)
			_ = w.cores[0].Start(slot)
		},
		"Unexpected without a message": func(w *world, _ uint64) { w.cores[0].Unexpected(0) },
		"Match with a free slot": func(w *world, _ uint64) {
			core, _ := w.f.Open(rails(1, sim.Rail{}), badOwner{3}, sim.Limits{})
			name, _ := core.Name(0)
			dest, _ := w.cores[0].Insert(0, name)
			_, _ = w.nodes[0].Send(0, providers.SendOp{Dest: dest})
			w.f.Advance(0)
			core.Progress(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sim.Options{}, rails(1, sim.Rail{}), rails(1, sim.Rail{}))
			breach(w, w.to(t, 0, 0, 1, 0))
			require.Error(t, w.f.Err())
			for _, n := range w.nodes {
				require.NoError(t, n.Close())
			}
		})
	}
}
