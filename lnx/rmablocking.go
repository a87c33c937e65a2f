package lnx

import (
	"context"
	"fmt"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// ReadAt reads len(buf) bytes at offset off into buf, and returns when they are there. It
// waits while the rail takes no operation (EAGAIN). When ctx ends before the operation
// was handed over nothing was read; after that the error is an *InFlightError.
func (m *RemoteMemory) ReadAt(ctx context.Context, buf []byte, off uint64) error {
	return m.do(ctx, intercept.OpRead, buf, off, 0, 0)
}

// WriteAt writes buf at offset off, and returns when the buffer is the caller's again.
// Its context is ReadAt's.
func (m *RemoteMemory) WriteAt(ctx context.Context, buf []byte, off uint64) error {
	return m.do(ctx, intercept.OpWrite, buf, off, 0, 0)
}

// WriteDataAt is WriteAt with remote CQ data (see Endpoint.WriteData).
func (m *RemoteMemory) WriteDataAt(ctx context.Context, buf []byte, data, off uint64) error {
	return m.do(ctx, intercept.OpWriteData, buf, off, data, FlagRemoteCQData)
}

// ReadAsync starts a read, waiting only while the rail takes no operation.
func (m *RemoteMemory) ReadAsync(ctx context.Context, buf []byte, off uint64) (*Future, error) {
	return m.async(ctx, intercept.OpRead, buf, off)
}

// WriteAsync starts a write, waiting only while the rail takes no operation.
func (m *RemoteMemory) WriteAsync(ctx context.Context, buf []byte, off uint64) (*Future, error) {
	return m.async(ctx, intercept.OpWrite, buf, off)
}

func (m *RemoteMemory) async(ctx context.Context, o intercept.Op, buf []byte, off uint64) (*Future, error) {
	c, err := m.start(ctx, o, buf, off, 0, 0)
	if err != nil {
		return nil, err
	}
	return &Future{c}, nil
}

func (m *RemoteMemory) do(ctx context.Context, o intercept.Op, buf []byte, off, data uint64, flags Flags) error {
	c, err := m.start(ctx, o, buf, off, data, flags)
	if err != nil {
		return err
	}
	if err := m.ep.await(ctx, &c.waiter, c.over.Load); err != nil && !c.over.Load() {
		return &InFlightError{&Future{c}, fmt.Errorf("%s of %d bytes at offset %d of peer %v: %w", callName(o), len(buf), off, m.to, err)}
	}
	err = c.err
	c.free()
	return err
}

func (m *RemoteMemory) start(ctx context.Context, o intercept.Op, buf []byte, off, data uint64, flags Flags) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := newCall(m.ep)
	for try := 0; ; try++ {
		err := m.ep.rma1(o, buf, m, off, data, flags, c, false)
		if err == nil {
			return c, nil
		}
		if err == fierr.Again {
			if err = m.ep.pause(ctx, try); err != nil {
				err = fmt.Errorf("%s of %d bytes at offset %d of peer %v, which takes nothing: %w", callName(o), len(buf), off, m.to, err)
			}
		}
		if err != nil {
			c.free()
			return nil, err
		}
	}
}
