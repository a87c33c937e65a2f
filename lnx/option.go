package lnx

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golnx/providers"
	"golnx/providers/fierr"
)

// OptionValue is a type of options: size_t, int or bool in C.
type OptionValue interface{ uint64 | int32 | bool }

// Rule says what the value of an option is for a link, whose rails have one each.
type Rule uint8

// The rules.
const (
	// Smallest: the smallest of the rails' values, which is what the whole link can do.
	Smallest Rule = iota
	// Same: the value that all rails have. If they differ, Get is an error, and Rails
	// answers them.
	Same
)

// Option is an option of endpoints (FI_OPT_ENDPOINT of fi_getopt(3)).
type Option[T OptionValue] struct {
	name   string
	number int
	rule   Rule
	// without answers for a rail that does not know the option; nil makes that an error.
	without func(ep *Endpoint, rail int) T
	// own is where the option lies if the owner of the rails has it, and not the rails.
	own func(ep *Endpoint) *T
}

// The options, with fi_getopt(3)'s numbers. Rails that do not know a size, or whose
// provider cannot be asked, have that of their Info, as the man page has it. To add one,
// add a line here or in any other program.
var (
	// OptMinMultiRecv: bytes of room below which a multi-receive buffer is given back.
	OptMinMultiRecv = Option[uint64]{"FI_OPT_MIN_MULTI_RECV", 0, Same, nil, func(ep *Endpoint) *uint64 { return &ep.minMultiRecv }}
	// OptCMDataSize: bytes of user data in connection requests; to be read only.
	OptCMDataSize = NewOption[uint64]("FI_OPT_CM_DATA_SIZE", 1, Smallest)
	// OptBufferedMin and OptBufferedLimit bound what FI_BUFFERED_RECV holds, in bytes.
	OptBufferedMin   = NewOption[uint64]("FI_OPT_BUFFERED_MIN", 2, Same)
	OptBufferedLimit = NewOption[uint64]("FI_OPT_BUFFERED_LIMIT", 3, Same)
	// OptHMEMP2P: how device memory is transferred between peers.
	OptHMEMP2P = NewOption[int32]("FI_OPT_FI_HMEM_P2P", 8, Same)
	// OptCUDAAPIPermitted and OptSharedMemoryPermitted can be set and not be read.
	OptCUDAAPIPermitted      = NewOption[bool]("FI_OPT_CUDA_API_PERMITTED", 10, Same)
	OptSharedMemoryPermitted = NewOption[bool]("FI_OPT_SHARED_MEMORY_PERMITTED", 11, Same)
	// Largest operations of each kind, in bytes.
	OptMaxMsgSize    = sizeOption("FI_OPT_MAX_MSG_SIZE", 12, maxMsgSize)
	OptMaxTaggedSize = sizeOption("FI_OPT_MAX_TAGGED_SIZE", 13, maxMsgSize)
	OptMaxRMASize    = sizeOption("FI_OPT_MAX_RMA_SIZE", 14, maxMsgSize)
	OptMaxAtomicSize = sizeOption("FI_OPT_MAX_ATOMIC_SIZE", 15, maxAtomicSize)
	// Largest operations that the provider copies, in bytes.
	OptInjectMsgSize    = sizeOption("FI_OPT_INJECT_MSG_SIZE", 16, injectSize)
	OptInjectTaggedSize = sizeOption("FI_OPT_INJECT_TAGGED_SIZE", 17, injectSize)
	OptInjectRMASize    = sizeOption("FI_OPT_INJECT_RMA_SIZE", 18, injectSize)
	OptInjectAtomicSize = sizeOption("FI_OPT_INJECT_ATOMIC_SIZE", 19, injectSize)
)

// NewOption describes an option of libfabric, or of one provider (fi_ext.h has their
// numbers).
func NewOption[T OptionValue](name string, number int, rule Rule) Option[T] {
	return Option[T]{name: name, number: number, rule: rule}
}

func sizeOption(name string, number int, without func(*Endpoint, int) uint64) Option[uint64] {
	return Option[uint64]{name: name, number: number, rule: Smallest, without: without}
}

func maxMsgSize(ep *Endpoint, r int) uint64 { return ep.link.Rails[r].MaxMsgSize }

// maxAtomicSize is what one operation on bytes takes; providers' max_msg_size is of
// messages.
func maxAtomicSize(ep *Endpoint, r int) uint64 {
	return uint64(ep.atomicCountOn(r, AtomicBase, AtomicWrite, Uint8))
}

func injectSize(ep *Endpoint, r int) uint64 { return ep.link.Rails[r].InjectSize }

// String is the option's name in C.
func (o Option[T]) String() string { return o.name }

// Get answers the option's value for the link (fi_getopt(3)). An error names the rail that
// does not know the option, or the rails that do not agree.
func (o Option[T]) Get(ep *Endpoint) (T, error) {
	values, err := o.Rails(ep)
	if err != nil {
		var none T
		return none, err
	}
	v := values[0]
	for r, w := range values[1:] {
		switch {
		case o.rule == Same && w != v:
			return v, fmt.Errorf("%s: %s has %v, %s has %v: ask for Rails: %w",
				o.name, ep.link.Rails[0].Name(), v, ep.link.Rails[r+1].Name(), w, fierr.EOpNotSupp)
		case less(w, v):
			v = w
		}
	}
	return v, nil
}

// Rails answers the value of each rail, in the link's order.
func (o Option[T]) Rails(ep *Endpoint) ([]T, error) {
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return nil, err
	}
	values := make([]T, len(ep.link.Rails))
	for r := range values {
		var err error
		if values[r], err = o.get(ep, r); err != nil {
			return nil, fmt.Errorf("%s: rail %s: %w", o.name, ep.link.Rails[r].Name(), err)
		}
	}
	return values, nil
}

func (o Option[T]) get(ep *Endpoint, r int) (v T, err error) {
	if o.own != nil {
		return *o.own(ep), nil
	}
	err = fierr.ENoProtoOpt
	if core, ok := ep.core.(providers.Optioner); ok {
		want := encode(v)
		var got []byte
		if got, err = core.Option(r, o.number, want); err == nil {
			return decode[T](got)
		}
	}
	if o.without != nil && (errors.Is(err, fierr.ENoProtoOpt) || errors.Is(err, fierr.ENoSys)) {
		return o.without(ep, r), nil
	}
	return v, err
}

// Set sets the option on every rail (fi_setopt(3)). Most options have to be set before an
// endpoint is enabled: Options.Settings does that. If a rail refuses, the error names it,
// and those that had the option set get their old value back, where it can be read.
func (o Option[T]) Set(ep *Endpoint, v T) error {
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return err
	}
	if o.own != nil {
		*o.own(ep) = v
		return nil
	}
	core, ok := ep.core.(providers.Optioner)
	if !ok {
		return fmt.Errorf("%s: the rails have no options: %w", o.name, fierr.ENoProtoOpt)
	}
	before := make([][]byte, len(ep.link.Rails))
	for r := range before {
		old, unread := core.Option(r, o.number, encode(v))
		if err := core.SetOption(r, o.number, encode(v)); err != nil {
			for done, value := range before[:r] {
				if value != nil {
					_ = core.SetOption(done, o.number, value) // it took that once
				}
			}
			return fmt.Errorf("%s: set to %v: rail %s: %w", o.name, v, ep.link.Rails[r].Name(), err)
		}
		if unread == nil {
			before[r] = old
		}
	}
	return nil
}

// Setting is an option with a value, for Options.Settings.
type Setting struct {
	name  string
	value any
	apply func(ep *Endpoint, set func(number int, value []byte) error) error
}

// String is as in C: FI_OPT_BUFFERED_MIN = 64.
func (s Setting) String() string { return fmt.Sprintf("%s = %v", s.name, s.value) }

// To is the setting of the option to a value.
func (o Option[T]) To(v T) Setting {
	return Setting{o.name, v, func(ep *Endpoint, set func(int, []byte) error) error {
		if o.own != nil {
			*o.own(ep) = v
			return nil
		}
		return set(o.number, encode(v))
	}}
}

// applySettings sets what Options.Settings have on a rail that is about to be enabled.
func (ep *Endpoint) applySettings(set func(number int, value []byte) error) error {
	for _, s := range ep.set.Settings {
		if s.apply == nil {
			return fmt.Errorf("Options.Settings: one is empty: make it with an Option's To: %w", fierr.EInval)
		}
		if err := s.apply(ep, set); err != nil {
			return fmt.Errorf("Options.Settings: %v: %w", s, err)
		}
	}
	return nil
}

// less orders sizes; other options have no order.
func less[T OptionValue](a, b T) bool {
	x, ok := any(a).(uint64)
	return ok && x < any(b).(uint64)
}

// encode answers a value as C has it, decode the other way.
func encode[T OptionValue](v T) []byte {
	switch v := any(v).(type) {
	case uint64:
		return binary.NativeEndian.AppendUint64(nil, v)
	case int32:
		return binary.NativeEndian.AppendUint32(nil, uint32(v))
	case bool:
		if v {
			return []byte{1}
		}
	}
	return []byte{0}
}

func decode[T OptionValue](b []byte) (v T, err error) {
	if want := len(encode(v)); len(b) != want {
		return v, fmt.Errorf("the value has %d bytes, want %d: %w", len(b), want, fierr.EInval)
	}
	switch p := any(&v).(type) {
	case *uint64:
		*p = binary.NativeEndian.Uint64(b)
	case *int32:
		*p = int32(binary.NativeEndian.Uint32(b))
	case *bool:
		*p = b[0] != 0
	}
	return v, nil
}
