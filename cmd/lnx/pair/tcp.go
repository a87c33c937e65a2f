package pair

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Listener waits for the one connection of a remote other end.
type Listener struct{ l net.Listener }

// Listen opens a TCP address, as ":7000".
func Listen(ctx context.Context, addr string) (*Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Listener{l}, nil
}

// Addr is the address as it was opened, with a port if none was asked for.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }

// Accept waits for the other end, at most for the limit, and stops listening.
func (l *Listener) Accept(ctx context.Context, limit time.Duration) (net.Conn, error) {
	defer l.l.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nobody connected to %v within %v", l.Addr(), limit))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.l.Close() })
	defer stop()
	conn, err := l.l.Accept()
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return conn, err
}

// Close stops listening.
func (l *Listener) Close() error { return l.l.Close() }

// Dial connects to a listening other end within the limit.
func Dial(ctx context.Context, addr string, limit time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: limit}
	return d.DialContext(ctx, "tcp", addr)
}
