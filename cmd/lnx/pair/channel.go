package pair

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Preamble is what both sides send first.
const Preamble = "lnx perf 1\n"

// MaxFrame bounds a message, in bytes.
const MaxFrame = 256 << 10

// maxText bounds the error texts that are passed on, in bytes.
const maxText = 4 << 10

// kindError is the kind of the message that Fail sends.
const kindError = "error"

// ErrGone says that the other end has closed the connection or is no more.
var ErrGone = errors.New("the other end has closed the connection")

// PeerError is what the other end says went wrong there.
type PeerError struct{ Text string }

// Error is the other end's text.
func (e *PeerError) Error() string { return "the other end: " + e.Text }

// Message is one message of a channel.
type Message struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body,omitempty"`
}

// Decode reads the body into v. Unknown fields are refused.
func (m Message) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(m.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("message %q from the other end cannot be read: %w", m.Kind, err)
	}
	return nil
}

// Channel carries messages between the two ends. Send and Fail are safe for
// concurrent use.
type Channel struct {
	conn     net.Conn
	limit    time.Duration
	messages chan Message
	ctx      context.Context
	cancel   context.CancelCauseFunc
	mu       sync.Mutex // writes
}

// Open exchanges the preambles within the limit, which also bounds every write
// and the arrival of every frame that has begun. The channel owns conn.
func Open(ctx context.Context, conn net.Conn, limit time.Duration) (*Channel, error) {
	if err := greet(ctx, conn, limit); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &Channel{conn: conn, limit: limit, messages: make(chan Message, 16)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	go c.receive()
	return c, nil
}

// greet exchanges the preambles.
func greet(ctx context.Context, conn net.Conn, limit time.Duration) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := io.WriteString(conn, Preamble)
	got := make([]byte, len(Preamble))
	n := 0
	if err == nil {
		n, err = io.ReadFull(conn, got)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !strings.HasPrefix(Preamble, string(got[:n])):
		return fmt.Errorf("the other end does not speak the protocol of lnx perf: it began with %q, not %q", got[:n], Preamble)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the other end sent %d of the first %d bytes within %v", n, len(Preamble), limit)
	case err != nil:
		return gone(err)
	}
	return conn.SetDeadline(time.Time{})
}

// gone makes an end of the connection ErrGone.
func gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrGone
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

// Context ends with the context given to Open, and when the other end fails or
// goes away; its cause says which.
func (c *Channel) Context() context.Context { return c.ctx }

// Messages has what arrived. Messages that were sent before the other end went
// away are in it although the context has ended.
func (c *Channel) Messages() <-chan Message { return c.messages }

// receive reads until the connection ends.
func (c *Channel) receive() {
	for {
		m, err := c.read()
		if err == nil && m.Kind == kindError {
			err = peerError(m)
		}
		if err != nil {
			c.cancel(err)
			return
		}
		select {
		case c.messages <- m:
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Channel) read() (m Message, err error) {
	var head [4]byte
	// The first byte may take as long as a test does.
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return m, gone(err)
	}
	if _, err := io.ReadFull(c.conn, head[:1]); err != nil {
		return m, gone(err)
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return m, gone(err)
	}
	if _, err := io.ReadFull(c.conn, head[1:]); err != nil {
		return m, gone(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxFrame {
		return m, fmt.Errorf("the other end announces a message of %d bytes: at most %d are allowed", n, MaxFrame)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c.conn, frame); err != nil {
		return m, gone(err)
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		return m, fmt.Errorf("the other end sent a message that is no JSON: %w", err)
	}
	return m, nil
}

// peerError takes the text of an error message, without what could upset a
// terminal.
func peerError(m Message) error {
	var text string
	if err := m.Decode(&text); err != nil {
		return err
	}
	text = text[:min(len(text), maxText)]
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		quoted := strconv.Quote(line)
		lines[i] = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	return &PeerError{strings.Join(lines, "\n")}
}

// Send sends a message whose body is v as JSON.
func (c *Channel) Send(kind string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame, err := json.Marshal(Message{kind, body})
	if err != nil {
		return err
	}
	if len(frame) > MaxFrame {
		return fmt.Errorf("message %q has %d bytes: at most %d can be sent", kind, len(frame), MaxFrame)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return err
	}
	if _, err := c.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
		return gone(err)
	}
	return nil
}

// Fail tells the other end what went wrong here, and answers err, so marked that
// Told knows it. What the other end said itself is not sent back.
func (c *Channel) Fail(err error) error {
	var theirs *PeerError
	if errors.As(err, &theirs) {
		return &toldError{err}
	}
	text := err.Error()
	if !errors.Is(err, ErrGone) && c.Send(kindError, text[:min(len(text), maxText)]) == nil {
		return &toldError{err}
	}
	// The connection is broken. What came before that may say that the other end
	// has failed itself.
	t := time.NewTimer(c.limit)
	defer t.Stop()
	select {
	case <-c.ctx.Done():
	case <-t.C:
	}
	if errors.As(context.Cause(c.ctx), &theirs) {
		return &toldError{err}
	}
	return err
}

// Told says whether the other end knows of an error.
func Told(err error) bool {
	var told *toldError
	return errors.As(err, &told)
}

type toldError struct{ error }

func (e *toldError) Unwrap() error { return e.error }

// Close ends the connection.
func (c *Channel) Close() error {
	c.cancel(context.Canceled)
	return c.conn.Close()
}
