package lnx

import (
	"fmt"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// RMAMsg is an operation of ReadMsg and WriteMsg (struct fi_msg_rma).
type RMAMsg struct {
	// IOV is the local buffers, at most Link.Info.IOVLimit. The slice of slices can be
	// reused when the call returns.
	IOV [][]byte
	// Remote is the ranges, of one peer, at most Link.Info.RMAIOVLimit; together they
	// have as many bytes as IOV.
	Remote  []RemoteRange
	Context any
	// Data goes to the target's CQ if FlagRemoteCQData is given.
	Data uint64
}

// Read reads len(buf) bytes at an offset of a peer's memory into buf (fi_read(3)). The
// completion has opContext as its Context; buf belongs to the endpoint until then.
// EAGAIN means that nothing was started: read the CQ, then try again.
//
// Which rail it takes is the policy's to say, as with sends. A key whose memory was
// closed is ENOKEY over a node-local rail; over tcp the target then breaks the connection,
// with all that is under way on it.
func (ep *Endpoint) Read(buf []byte, from *RemoteMemory, off uint64, opContext any) error {
	return ep.rma1(intercept.OpRead, buf, from, off, 0, 0, opContext, false)
}

// ReadV reads into several buffers (fi_readv(3)).
func (ep *Endpoint) ReadV(iov [][]byte, from *RemoteMemory, off uint64, opContext any) error {
	return ep.rmaV(intercept.OpReadV, iov, from, off, opContext)
}

// ReadMsg reads with flags (fi_readmsg(3)): FlagCompletion, without which only a failure
// is reported, and a completion level.
func (ep *Endpoint) ReadMsg(m *RMAMsg, flags Flags) error {
	if bad := flags &^ (FlagCompletion | levels); bad != 0 {
		return fmt.Errorf("ReadMsg: %v is not for reads: %w", bad, fierr.EBadFlags)
	}
	return ep.rmaMsg(intercept.OpReadMsg, m, flags)
}

// Write writes buf into a peer's memory, at an offset (fi_write(3)). See Read.
//
// The completion says that buf can be used again; that the peer's memory has the bytes
// says FlagDeliveryComplete.
func (ep *Endpoint) Write(buf []byte, to *RemoteMemory, off uint64, opContext any) error {
	return ep.rma1(intercept.OpWrite, buf, to, off, 0, 0, opContext, false)
}

// WriteV writes several buffers, one behind the other (fi_writev(3)).
func (ep *Endpoint) WriteV(iov [][]byte, to *RemoteMemory, off uint64, opContext any) error {
	return ep.rmaV(intercept.OpWriteV, iov, to, off, opContext)
}

// WriteMsg writes with flags (fi_writemsg(3)): those of ReadMsg, FlagRemoteCQData and
// FlagInject.
func (ep *Endpoint) WriteMsg(m *RMAMsg, flags Flags) error {
	if bad := flags &^ (FlagCompletion | FlagRemoteCQData | FlagInject | levels); bad != 0 {
		return fmt.Errorf("WriteMsg: %v is not for writes: %w", bad, fierr.EBadFlags)
	}
	if both := FlagInject | FlagDeliveryComplete; flags&both == both {
		return fmt.Errorf("WriteMsg: %v exclude each other: %w", both, fierr.EBadFlags)
	}
	return ep.rmaMsg(intercept.OpWriteMsg, m, flags)
}

// InjectWrite writes a copy of buf, at most Link.Info.InjectSize bytes, without a
// completion (fi_inject_write(3)). Should it fail after all, there is an error entry
// without context in the CQ.
func (ep *Endpoint) InjectWrite(buf []byte, to *RemoteMemory, off uint64) error {
	return ep.rma1(intercept.OpInjectWrite, buf, to, off, 0, FlagInject, nil, true)
}

// WriteData writes with 64 bits of remote CQ data (fi_writedata(3)): when the memory has
// the bytes, the target finds an entry with FlagRemoteWrite|FlagRemoteCQData in its CQ.
// Its Src is AddrUnspec where the provider does not tell whose it was, as rxm.
func (ep *Endpoint) WriteData(buf []byte, data uint64, to *RemoteMemory, off uint64, opContext any) error {
	return ep.rma1(intercept.OpWriteData, buf, to, off, data, FlagRemoteCQData, opContext, false)
}

// InjectWriteData is InjectWrite with remote CQ data (fi_inject_writedata(3)).
func (ep *Endpoint) InjectWriteData(buf []byte, data uint64, to *RemoteMemory, off uint64) error {
	return ep.rma1(intercept.OpInjectWriteData, buf, to, off, data, FlagInject|FlagRemoteCQData, nil, true)
}

// rma1 uses one buffer. The scratch slices avoid allocations.
func (ep *Endpoint) rma1(o intercept.Op, buf []byte, m *RemoteMemory, off, data uint64, flags Flags, opContext any, quiet bool) error {
	ep.lock()
	defer ep.unlock()
	ep.one[0] = buf
	err := ep.rmaAt(o, ep.one[:], m, off, uint64(len(buf)), data, flags, opContext, quiet)
	ep.one[0] = nil
	return err
}

func (ep *Endpoint) rmaV(o intercept.Op, iov [][]byte, m *RemoteMemory, off uint64, opContext any) error {
	n := uint64(0)
	for _, b := range iov {
		n += uint64(len(b))
	}
	ep.lock()
	defer ep.unlock()
	return ep.rmaAt(o, iov, m, off, n, 0, 0, opContext, false)
}

// rmaAt uses one range, under the lock.
func (ep *Endpoint) rmaAt(o intercept.Op, iov [][]byte, m *RemoteMemory, off, n, data uint64, flags Flags, opContext any, quiet bool) error {
	if ep.rma == nil {
		return ep.withoutCap(callName(o), ErrNoRMA)
	}
	ep.rma.one[0] = RemoteRange{m, off, n}
	err := ep.startRMA(o, iov, ep.rma.one[:], data, flags, opContext, quiet)
	ep.rma.one[0].Mem = nil
	return err
}

func (ep *Endpoint) rmaMsg(o intercept.Op, m *RMAMsg, flags Flags) error {
	ep.lock()
	defer ep.unlock()
	return ep.startRMA(o, m.IOV, m.Remote, m.Data, flags, m.Context, flags&FlagCompletion == 0)
}
