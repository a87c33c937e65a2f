package lnx_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// Many goroutines write, read back and register at once, each in its own part of the
// memory, while another drives the target.
func TestRMAParallel(t *testing.T) {
	onLinks(t, func(t *testing.T, c choice) {
		const workers, part, rounds = 64, 16 << 10, 12
		p := newRMAPair(t, c.rma(), workers*part)
		ctx := within(t)
		err := driven(t, func() error {
			errs := make(chan error, workers)
			var wg sync.WaitGroup
			for i := range workers {
				wg.Go(func() { errs <- rmaWorker(ctx, p, i, part, rounds) })
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				if err != nil {
					return err
				}
			}
			return nil
		}, p.b)
		require.NoError(t, err)
		p.w.untouched(t)
	})
}

func rmaWorker(ctx context.Context, p *rmaPair, i, part, rounds int) error {
	mem, err := p.w.remote.Slice(uint64(i*part), uint64(part))
	if err != nil {
		return err
	}
	for round := range rounds {
		size := []int{1, 8, 600, 5000, part}[(i+round)%5]
		want, in := payload(uint64(i*1000+round), size), make([]byte, size)
		region, err := p.a.ep.Register(in, mr.LocalAccess)
		if err != nil {
			return err
		}
		if round%2 == 0 {
			err = mem.WriteAt(ctx, want, 0)
		} else {
			var f *lnx.Future
			if f, err = mem.WriteAsync(ctx, want, 0); err == nil {
				_, err = f.Wait(ctx)
			}
		}
		if err == nil {
			err = mem.ReadAt(ctx, in, 0)
		}
		if err != nil {
			return fmt.Errorf("worker %d, round %d, %d bytes: %w", i, round, size, err)
		}
		if !bytes.Equal(want, in) {
			return fmt.Errorf("worker %d, round %d: %d bytes differ", i, round, size)
		}
		if err := region.Close(); err != nil {
			return err
		}
	}
	return nil
}

// Regions are registered, given away and closed while a peer uses them: it gets the bytes
// or an error, and nothing else.
func TestRMAWhileClosing(t *testing.T) {
	c := choices[0]
	a, b := newNode(t, c.rma()), newNode(t, c.rma())
	toB := a.insert(b.ep.Name())
	b.insert(a.ep.Name())
	keys, stop := make(chan []byte), make(chan struct{})
	owner := make(chan error, 1)
	go func() {
		owner <- func() error {
			for i := range 300 {
				mem := bytes.Repeat([]byte{byte(i)}, 5000)
				r, err := b.ep.Register(mem, mr.RemoteRead)
				if err != nil {
					return err
				}
				key, err := r.RemoteKey()
				if err != nil {
					return err
				}
				keys <- key
				if err := r.Close(); err != nil {
					return err
				}
				clear(mem)
			}
			close(keys)
			return nil
		}()
	}()
	good, gone := 0, 0
	err := driven(t, func() error {
		defer close(stop)
		in := make([]byte, 5000)
		i := 0
		for key := range keys {
			mem, err := a.ep.Import(toB, key)
			if err != nil {
				return err
			}
			err = mem.ReadAt(context.Background(), in, 0)
			switch e, _ := fierr.Of(err); {
			case err == nil && bytes.Equal(in, bytes.Repeat([]byte{byte(i)}, 5000)):
				good++
			case err == nil:
				return fmt.Errorf("round %d: memory that was closed", i)
			case e == fierr.ENoKey:
				gone++
			default:
				return err
			}
			i++
		}
		return nil
	}, b)
	require.NoError(t, err)
	require.NoError(t, <-owner)
	t.Log(good, "read,", gone, "closed before")
	<-stop
}
