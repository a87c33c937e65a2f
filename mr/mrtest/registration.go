package mrtest

import (
	"encoding/binary"

	"golnx/mr"
	"golnx/providers"
)

const (
	rawSize = 24
	rawBase = 0x5eed
)

// Registration is what a Domain has registered.
type Registration struct {
	domain       *Domain
	attr         mr.Attr
	desc         uintptr
	key          uint64
	bound, ready bool
	closed       bool
}

// Domain answers whose it is.
func (r *Registration) Domain() mr.Registrar { return r.domain }

// Desc answers fi_mr_desc(3).
func (r *Registration) Desc() uintptr {
	if !r.ready || r.closed {
		_ = r.domain.wrong("fi_mr_desc of one that is closed (%t) or not enabled", r.closed)
	}
	return r.desc
}

// Key answers fi_mr_key(3).
func (r *Registration) Key() uint64 {
	if !r.ready || r.closed || r.domain.has(mr.ModeRaw) {
		_ = r.domain.wrong("fi_mr_key of one that is closed (%t), not enabled, or has a raw key", r.closed)
		return mr.KeyNotAvail
	}
	return r.key
}

// RawKey answers fi_mr_raw_attr(3).
func (r *Registration) RawKey() (uint64, []byte, error) {
	end, err := r.domain.call("fi_mr_raw_attr")
	defer end()
	if err != nil {
		return 0, nil, err
	}
	raw := make([]byte, rawSize)
	binary.LittleEndian.PutUint64(raw, r.key)
	return rawBase, raw, nil
}

// BindEndpoint answers fi_mr_bind(3).
func (r *Registration) BindEndpoint() error {
	end, err := r.domain.call("fi_mr_bind")
	defer end()
	if err != nil {
		return err
	}
	if r.ready || r.closed || !r.domain.has(providers.MREndpoint) {
		return r.domain.wrong("fi_mr_bind of one that is closed (%t) or enabled", r.closed)
	}
	r.bound = true
	return nil
}

// Enable answers fi_mr_enable(3).
func (r *Registration) Enable() error {
	end, err := r.domain.call("fi_mr_enable")
	defer end()
	if err != nil {
		return err
	}
	if r.ready || r.closed || !r.bound {
		return r.domain.wrong("fi_mr_enable of one that is closed (%t), enabled, or not bound", r.closed)
	}
	r.ready = true
	return nil
}

// Close answers fi_close(3).
func (r *Registration) Close() error {
	end, err := r.domain.call("fi_close")
	defer end()
	if err != nil {
		return err
	}
	if r.closed {
		return r.domain.wrong("fi_close a second time")
	}
	r.closed = true
	r.domain.mu.Lock()
	delete(r.domain.live, r.key)
	r.domain.mu.Unlock()
	return nil
}
