package lnx

import (
	"context"

	"golnx/rail/intercept"
)

// Untagged has the blocking and future-style calls for untagged messages, as
// Endpoint has them for tagged ones.
type Untagged Endpoint

// Untagged answers the calls for untagged messages.
func (ep *Endpoint) Untagged() *Untagged { return (*Untagged)(ep) }

// Send sends buf and returns when the buffer is the caller's again; see Endpoint.Send.
func (u *Untagged) Send(ctx context.Context, to Addr, buf []byte) error {
	return (*Endpoint)(u).sendCall(ctx, intercept.OpSend, to, 0, buf)
}

// SendAsync starts a send, waiting only while the rail takes no message.
func (u *Untagged) SendAsync(ctx context.Context, to Addr, buf []byte) (*Future, error) {
	c, err := (*Endpoint)(u).startSend(ctx, intercept.OpSend, to, 0, buf)
	if err != nil {
		return nil, err
	}
	return &Future{c}, nil
}

// Recv receives the oldest message from a peer, or from any with AddrUnspec, into buf;
// see Endpoint.Recv.
func (u *Untagged) Recv(ctx context.Context, from Addr, buf []byte) (RecvInfo, error) {
	return (*Endpoint)(u).recvCall(ctx, intercept.OpRecv, from, 0, 0, buf)
}

// RecvAsync posts a receive, waiting only while the limit is reached.
func (u *Untagged) RecvAsync(ctx context.Context, from Addr, buf []byte) (*Future, error) {
	c, err := (*Endpoint)(u).startRecvCall(ctx, intercept.OpRecv, from, 0, 0, buf)
	if err != nil {
		return nil, err
	}
	return &Future{c}, nil
}
