package rail

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Factory makes a policy for one endpoint. rails is the endpoint's list and must
// not be changed; an error refuses the endpoint.
type Factory func(rails []Info, o Options) (Policy, error)

var registry = struct {
	sync.RWMutex
	byName map[string]Factory
	own    map[string]bool // names of the package's policies; fixed once it is initialised
}{byName: map[string]Factory{}, own: map[string]bool{}}

// RegisterPolicy makes a policy known under a name, for [Options].Policy. Names
// consist of A-Z, 0-9 and _; each can be taken once, and the built-in ones are taken.
// Safe for concurrent use.
func RegisterPolicy(name string, f Factory) error {
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return fmt.Errorf("rail: policy name %q: use capitals, digits and _", name)
	}
	if f == nil {
		return fmt.Errorf("rail: policy %s: the factory is nil", name)
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.byName[name]; taken {
		return fmt.Errorf("rail: policy %s is registered already: choose another name", name)
	}
	registry.byName[name] = f
	return nil
}

// builtin registers the package's own policies while it is initialised.
func builtin(name string, f Factory) { registry.byName[name], registry.own[name] = f, true }

// BuiltIn tells whether a policy is the package's own: such a one neither panics nor ends
// the goroutine that asks it.
func BuiltIn(name string) bool { return registry.own[name] }

// Policies lists the registered names in order.
func Policies() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.byName))
}

// ParsePolicy answers the name of a registered policy: the one given, or PER_PEER
// for the empty string. Case does not matter; a name that is not registered is
// ErrUnknownPolicy. FI_LNX_MULTI_RAIL_SELECTION admits only the two policies of
// fi_lnx(7), which package linkspec sees to.
func ParsePolicy(name string) (string, error) {
	name, _, err := lookup(name)
	return name, err
}

func lookup(name string) (string, Factory, error) {
	if name == "" {
		name = PerPeer
	}
	known := strings.Map(capital, name)
	registry.RLock()
	f := registry.byName[known]
	registry.RUnlock()
	if f == nil {
		return "", nil, fmt.Errorf("%w %q: known are %s", ErrUnknownPolicy, name, strings.Join(Policies(), ", "))
	}
	return known, f, nil
}

// capital is for names, which are of ASCII: strings.ToUpper makes an S of other letters, too.
func capital(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}
