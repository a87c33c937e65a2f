package lnx

import (
	"fmt"
	"os"
	"time"

	"golnx/linkspec"
	"golnx/rail"
	"golnx/rail/intercept"
)

// Options say which links are wanted and how an endpoint behaves. The zero value
// takes everything from the environment (fi_lnx(7)) and the defaults named here.
type Options struct {
	// Links is a link spec, as "shm+cxi:cxi0,cxi1". Empty takes
	// FI_LNX_PROV_LINKS.
	Links string
	// Policy names the rail selection policy. Empty takes
	// FI_LNX_MULTI_RAIL_SELECTION, and PER_PEER if that is not set.
	Policy string
	// DisableShm leaves the shm provider out, as FI_LNX_DISABLE_SHM does.
	DisableShm bool
	// DumpStats prints each rail's counters to standard error when the
	// endpoint closes, as FI_LNX_DUMP_STATS does.
	DumpStats bool

	// Direct leaves matching to the provider, in hardware where it can, as LNX_DIRECT=1
	// does. It takes a link of one rail, without the shared queues; "tcp" then is native
	// tcp, without ofi_rxm, and both ends need Direct over it. Memory of peers, counters,
	// options of endpoints, hooks and recordings are the same. What differs:
	//
	//   - Which receive takes a message the provider says, and keeps what is unexpected:
	//     MaxUnexpected and MaxUnexpectedBytes mean nothing, and Stats counts all
	//     messages as expected.
	//   - A peek from any sender does not say who sent the message (AddrUnspec). Where a
	//     provider cannot peek, claim or discard the error is ErrNotSupported.
	//   - Cancel answers nil for a receive that a message has met, too, which completes
	//     then. Future.Cancel answers false while the provider has not decided.
	//   - A receive from a peer that has ended, and AV.Remove of one that receives are
	//     posted from, end in the CQ, with EHOSTDOWN and ECANCELED.
	//   - A transfer over shm of a peer that is killed in its midst fails the receives
	//     from that peer only; one from any sender that it met stays. ErrRailBroken is
	//     not reported.
	//   - Over shm and tcp a link takes one buffer less in a call, and messages of up to
	//     4 GiB: what does not fit into a receive is received aside.
	//   - tcp receives from a sender that it does not know one message at a time, and has
	//     no atomics.
	//   - There are no untagged messages: their calls answer ErrNotSupported.
	//   - ofi_rxm 2.1 is refused, since it crashes when a sender goes whose messages wait.
	//   - cxi matches in software if the process used libfabric before without Direct.
	Direct bool

	// ProviderAlias and DomainAlias let a spec for hardware run without it: a
	// provider or domain of the spec that is a key stands for the value, as
	// "cxi": "tcp;ofi_rxm" and "cxi0": "lo". Nil takes LNX_PROVIDER_ALIAS and
	// LNX_DOMAIN_ALIAS. Links warns on standard error when any are in use.
	ProviderAlias, DomainAlias map[string]string

	// Seed varies between processes which of a peer's addresses a pinning
	// policy begins with; a rank will do.
	Seed uint64
	// Peers is how many peers are expected; 64 if 0. More can be inserted. A peer
	// with 8 rails takes some 4 KB, or 9 KB if each rail reaches all its addresses,
	// besides what the providers keep of it.
	Peers int
	// CQSize is how many unread completions make operations answer EAGAIN;
	// 65,536 if 0.
	CQSize int
	// MaxPosted is how many receives, tagged and untagged, can be posted at once;
	// 1,048,576 if 0. A posted receive takes at most 700 bytes, besides its buffer, or
	// 800 if it has several buffers or one above 64 bytes, which are pinned. Memory
	// follows the most that were ever posted.
	MaxPosted int
	// MaxUnexpected is how many unexpected messages are held, tagged and untagged;
	// 1,048,576 if 0. With the provider's part one takes at most 1,500 bytes besides its
	// own. Of a sender that was not inserted it takes what the provider keeps it in: over
	// shm 43,500 bytes for one of 193 to 4,096, over tcp 18,500 up to 16 KiB.
	// When they are there, the rails are not driven until receives take some. One
	// call into shm takes all that is waiting, so that fast senders can go beyond.
	MaxUnexpected int
	// MaxUnexpectedBytes is how many bytes of unexpected messages are held, as
	// MaxUnexpected; 256 MiB if 0. Over shm only those of 193 to 4,096 bytes count:
	// smaller ones lie in the entry, larger ones with their sender. A message that passes
	// the limit alone counts from when it begins to arrive.
	MaxUnexpectedBytes uint64
	// MinMultiRecv is the room in bytes that a buffer with FlagMultiRecv is released
	// below (FI_OPT_MIN_MULTI_RECV of fi_endpoint(3)); 64 if 0. OptMinMultiRecv reads it,
	// and changes it later.
	MinMultiRecv int
	// MaxSends is how many sends can be under way at once; 65,536 if 0.
	MaxSends int
	// ConnectTimeout is how long sends over a network may find no connection to a
	// peer before they take another rail, or fail with EHOSTUNREACH if there is
	// none; 30 s if 0. Over shm there is no such limit, since a local peer's
	// process is watched.
	ConnectTimeout time.Duration

	// Caps are what the link is to be able to do; CapTagged, which each is, if 0. A
	// rail that cannot makes Links answer an error.
	Caps Caps
	// EagerMR registers memory with all rails at once that need it, as LNX does,
	// instead of with each when it first needs it (package mr).
	EagerMR bool
	// NoMRCache ends registrations of local buffers with the operations that use them.
	// Otherwise MRCacheEntries and MRCacheBytes bound what is kept; 1,024 and 256 MiB
	// if 0.
	NoMRCache      bool
	MRCacheEntries int
	MRCacheBytes   int64

	// Settings are options that the rails' endpoints get before they are enabled
	// (fi_setopt(3)), as OptBufferedMin.To(4096). A rail that refuses one fails Open.
	Settings []Setting

	// Hooks are consumers that see and change the endpoint's operations, after those
	// of intercept.Register.
	Hooks []*intercept.Hooks

	// Lookup reads the environment; os.LookupEnv if nil.
	Lookup func(string) (string, bool)
}

// settings are Options with the environment and the defaults applied.
type settings struct {
	Options
	spec      linkspec.Spec
	consumers consumers
}

func (o Options) resolve() (settings, error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	s := settings{Options: o}
	env, err := linkspec.FromEnv(s.relevant)
	if err != nil {
		return s, err
	}
	s.spec = env.Links
	if o.Links != "" {
		if s.spec, err = linkspec.Parse(o.Links); err != nil {
			return s, fmt.Errorf("Options.Links: %w", err)
		}
	}
	if s.Policy == "" {
		s.Policy = env.Selection.String()
	}
	if s.Policy, err = rail.ParsePolicy(s.Policy); err != nil {
		return s, fmt.Errorf("Options.Policy: %w", err)
	}
	s.DisableShm = s.DisableShm || env.DisableShm
	s.DumpStats = s.DumpStats || env.DumpStats
	if err := s.setAliases(); err != nil {
		return s, err
	}
	if err := s.setDirect(); err != nil {
		return s, err
	}
	if err := s.setDefaults(); err != nil {
		return s, err
	}
	if err := s.setCaps(); err != nil {
		return s, err
	}
	s.consumers, err = newConsumers(s.Options)
	return s, err
}

// relevant hides the variables whose place an option takes, so that a wrong one
// harms nobody who does not use it.
func (s *settings) relevant(name string) (string, bool) {
	if name == linkspec.EnvProvLinks && s.Options.Links != "" ||
		name == linkspec.EnvMultiRailSelection && s.Options.Policy != "" {
		return "", false
	}
	return s.Lookup(name)
}

func (s *settings) setDefaults() error {
	for _, f := range []struct {
		name     string
		value    *int
		def, max int
	}{
		{"Peers", &s.Peers, 64, 1 << 24},
		{"CQSize", &s.CQSize, 1 << 16, 1 << 26},
		{"MaxPosted", &s.MaxPosted, 1 << 20, 1 << 26},
		{"MaxUnexpected", &s.MaxUnexpected, 1 << 20, 1 << 26},
		{"MinMultiRecv", &s.MinMultiRecv, 64, 1 << 30},
		{"MaxSends", &s.MaxSends, 1 << 16, 1 << 24},
	} {
		if *f.value == 0 {
			*f.value = f.def
		}
		if *f.value < 0 || *f.value > f.max {
			return fmt.Errorf("option %s is %d: 1 to %d are possible, 0 is %d", f.name, *f.value, f.max, f.def)
		}
	}
	if s.MaxUnexpectedBytes == 0 {
		s.MaxUnexpectedBytes = 256 << 20
	}
	if s.ConnectTimeout == 0 {
		s.ConnectTimeout = 30 * time.Second
	}
	if s.ConnectTimeout < 0 {
		return fmt.Errorf("Options.ConnectTimeout is %v: it cannot be negative", s.ConnectTimeout)
	}
	return nil
}
