package lnx

import (
	"fmt"

	"golnx/providers/fierr"
	"golnx/rail/intercept"
)

// Untagged messages (fi_msg(3)). They are matched by their sender only, and have
// queues of their own: an untagged message never meets a tagged receive. libfabric's
// names without t would be Send and Recv, which are the calls for goroutines here; so
// this family has an M where the tagged one has a T.

// MSend sends buf (fi_send(3)); see TSend.
func (ep *Endpoint) MSend(buf []byte, to Addr, opContext any) error {
	return ep.tsend1(intercept.OpSend, buf, to, 0, 0, 0, opContext, false)
}

// MSendData sends buf with 64 bits of remote CQ data (fi_senddata(3)).
func (ep *Endpoint) MSendData(buf []byte, data uint64, to Addr, opContext any) error {
	return ep.tsend1(intercept.OpSendData, buf, to, 0, data, FlagRemoteCQData, opContext, false)
}

// MInject sends a copy of buf without a completion (fi_inject(3)); see TInject.
func (ep *Endpoint) MInject(buf []byte, to Addr) error {
	return ep.tsend1(intercept.OpInject, buf, to, 0, 0, FlagInject, nil, true)
}

// MInjectData is MInject with remote CQ data (fi_injectdata(3)).
func (ep *Endpoint) MInjectData(buf []byte, data uint64, to Addr) error {
	return ep.tsend1(intercept.OpInjectData, buf, to, 0, data, FlagInject|FlagRemoteCQData, nil, true)
}

// MSendV sends several buffers as one message (fi_sendv(3)).
func (ep *Endpoint) MSendV(iov [][]byte, to Addr, opContext any) error {
	ep.lock()
	defer ep.unlock()
	return ep.send(intercept.OpSendV, iov, to, 0, 0, 0, opContext, false)
}

// MSendMsg sends with flags (fi_sendmsg(3)), which are those of TSendMsg.
func (ep *Endpoint) MSendMsg(m *Msg, flags Flags) error {
	if bad := flags &^ (FlagCompletion | FlagRemoteCQData | FlagInject); bad != 0 {
		return fmt.Errorf("MSendMsg: %v is not for sends: %w", bad, fierr.EBadFlags)
	}
	ep.lock()
	defer ep.unlock()
	return ep.send(intercept.OpSendMsg, m.IOV, m.Addr, 0, m.Data, flags, m.Context, flags&FlagCompletion == 0)
}

// MRecv posts a receive (fi_recv(3)) for the oldest untagged message from the peer, or
// from any with AddrUnspec; see TRecv.
func (ep *Endpoint) MRecv(buf []byte, from Addr, opContext any) error {
	return ep.recv1(intercept.OpRecv, buf, from, 0, 0, opContext)
}

// MRecvV posts a receive into several buffers (fi_recvv(3)).
func (ep *Endpoint) MRecvV(iov [][]byte, from Addr, opContext any) error {
	return ep.trecvmsg(intercept.OpRecvV, &Msg{IOV: iov, Addr: from, Context: opContext}, FlagCompletion)
}

// MRecvMsg posts a receive with flags (fi_recvmsg(3)). Without FlagCompletion only
// failures are reported, and the end of a multi-receive.
//
// FlagMultiRecv posts one buffer that takes messages one after the other. Each has a
// completion with the receive's Context, whose Off and Len say where in the buffer it
// lies. The buffer is the caller's again with the completion that has FlagMultiRecv:
// that of the last message, or one of its own, which has no other flag. This happens
//
//   - when less than Options.MinMultiRecv bytes are left;
//   - when a message comes that what is left is too short for. It goes to the next
//     receive. In an unused buffer it is cut off instead, which is ETRUNC;
//   - when the receive fails or is canceled. Should messages be on their way into the
//     buffer then, it is released with the last of them.
//
// An empty message takes one byte, so that a buffer does not take messages for ever.
func (ep *Endpoint) MRecvMsg(m *Msg, flags Flags) error {
	return ep.trecvmsg(intercept.OpRecvMsg, m, flags)
}

// untagged says whether an operation is one of fi_msg(3).
func untagged(o intercept.Op) bool {
	return o-intercept.OpSend <= intercept.OpInjectData-intercept.OpSend || o-intercept.OpRecv <= intercept.OpRecvMsg-intercept.OpRecv
}

// countMsg counts an untagged message that a rail has taken.
func (ep *Endpoint) countMsg(p *path, op *txOp, flags Flags) {
	if flags&FlagInject != 0 {
		ep.stats[p.rail].Inject(op.len)
	} else {
		ep.stats[p.rail].Send(op.len)
	}
	if s := &ep.shm[p.rail]; op.len == 0 && s.known && p.addr == s.self {
		s.emptied++
	}
}
