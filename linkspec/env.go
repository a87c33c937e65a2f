package linkspec

import (
	"errors"
	"fmt"
	"strings"
)

// The variables that [FromEnv] looks up; see fi_lnx(7).
const (
	EnvProvLinks          = "FI_LNX_PROV_LINKS"
	EnvMultiRailSelection = "FI_LNX_MULTI_RAIL_SELECTION"
	EnvDisableShm         = "FI_LNX_DISABLE_SHM"
	EnvDumpStats          = "FI_LNX_DUMP_STATS"
)

// Selection is a way of spreading messages over the rails of a link, a value of
// FI_LNX_MULTI_RAIL_SELECTION. The zero value is the default.
type Selection uint8

const (
	// PerPeer picks a rail and an address for each peer once, which keeps the
	// order of messages.
	PerPeer Selection = iota
	// PerMsg picks them for each message anew, which does not.
	PerMsg
)

// String returns the word of the environment: PER_PEER or PER_MSG.
func (s Selection) String() string {
	switch s {
	case PerPeer:
		return "PER_PEER"
	case PerMsg:
		return "PER_MSG"
	default:
		return fmt.Sprintf("Selection(%d)", uint8(s))
	}
}

// ParseSelection reads PER_MSG or PER_PEER in any case, or as much of one as tells it
// from the other: C LNX takes "per_p", too.
func ParseSelection(s string) (Selection, error) {
	for _, sel := range [...]Selection{PerMsg, PerPeer} {
		name := sel.String()
		if len(s) > len("PER_") && len(s) <= len(name) && strings.EqualFold(s, name[:len(s)]) {
			return sel, nil
		}
	}
	return 0, fmt.Errorf("found %s, expected %v or %v; another policy is for Options.Policy", quoteShort(s), PerMsg, PerPeer)
}

// Env holds what the FI_LNX_* variables say. The zero value is that of an
// environment with none of them.
type Env struct {
	// Links is the value of FI_LNX_PROV_LINKS, nil if it is not set.
	Links Spec
	// LinksSet tells whether FI_LNX_PROV_LINKS is set. C LNX offers nothing
	// without it.
	LinksSet bool
	// Selection is that of FI_LNX_MULTI_RAIL_SELECTION, PerPeer if not set.
	Selection Selection
	// DisableShm (FI_LNX_DISABLE_SHM) leaves the shm provider out of every link.
	DisableShm bool
	// DumpStats (FI_LNX_DUMP_STATS) asks for statistics at the end.
	DumpStats bool
}

// An EnvError says what is wrong with one variable. It wraps the reason, which for
// FI_LNX_PROV_LINKS is a [*SyntaxError].
type EnvError struct {
	Name  string // such as FI_LNX_PROV_LINKS
	Value string // as found
	Err   error
}

func (e *EnvError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *EnvError) Unwrap() error { return e.Err }

// FromEnv reads the FI_LNX_* variables through lookup, which is called once for
// each and has the meaning of [os.LookupEnv]; the caller normally passes that.
//
// A variable that is set to the empty string is set, and its value wrong. Booleans
// are those of fi_provider(3), FI_PARAM_BOOL: 1, true, yes, on, 0, false, no
// or off, in capitals or not.
//
// Every wrong variable is reported: the error joins one [*EnvError] for each, and
// the Env is then zero.
func FromEnv(lookup func(string) (string, bool)) (Env, error) {
	var env Env
	var errs []error
	read := func(name string, parse func(string) error) bool {
		value, ok := lookup(name)
		if !ok {
			return false
		}
		if err := parse(value); err != nil {
			errs = append(errs, &EnvError{Name: name, Value: value, Err: err})
		}
		return true
	}
	env.LinksSet = read(EnvProvLinks, into(&env.Links, Parse))
	read(EnvMultiRailSelection, into(&env.Selection, ParseSelection))
	read(EnvDisableShm, into(&env.DisableShm, ParseBool))
	read(EnvDumpStats, into(&env.DumpStats, ParseBool))
	if len(errs) > 0 {
		return Env{}, errors.Join(errs...)
	}
	return env, nil
}

func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*to, err = parse(value)
		return err
	}
}

// ParseBool reads a boolean as fi_provider(3) has it (FI_PARAM_BOOL).
func ParseBool(s string) (bool, error) {
	// No letter outside ASCII lowers to one of these, so this agrees with
	// strcasecmp(3).
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	default:
		return false, fmt.Errorf("found %s, expected 1, true, yes, on, 0, false, no or off", quoteShort(s))
	}
}
