package lnx

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"golnx/linkspec"
)

// Variables that let a spec for hardware run on a machine without it, as
//
//	LNX_PROVIDER_ALIAS='cxi=tcp;ofi_rxm' LNX_DOMAIN_ALIAS='cxi0=lo,cxi1=eth0'
//
// with shm+cxi:cxi0,cxi1.
const (
	EnvProviderAlias = "LNX_PROVIDER_ALIAS"
	EnvDomainAlias   = "LNX_DOMAIN_ALIAS"
)

// parseAliases reads name=other{,name=other}.
func parseAliases(s string) (map[string]string, error) {
	aliases := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		name, other, ok := strings.Cut(pair, "=")
		name, other = strings.TrimSpace(name), strings.TrimSpace(other)
		if !ok || name == "" || other == "" || strings.Contains(other, "=") {
			return nil, fmt.Errorf("found %q, expected name=other, several with commas between", pair)
		}
		if _, twice := aliases[name]; twice {
			return nil, fmt.Errorf("%s is named twice", name)
		}
		aliases[name] = other
	}
	return aliases, nil
}

// setAliases takes the aliases from the environment where the options have none.
func (s *settings) setAliases() error {
	for _, a := range []struct {
		env string
		to  *map[string]string
	}{{EnvProviderAlias, &s.ProviderAlias}, {EnvDomainAlias, &s.DomainAlias}} {
		text, ok := s.Lookup(a.env)
		if *a.to != nil || !ok {
			continue
		}
		aliases, err := parseAliases(text)
		if err != nil {
			return fmt.Errorf("%s: %w", a.env, err)
		}
		*a.to = aliases
	}
	return nil
}

// warned has what warnAliases has said.
var warned sync.Map

// warnAliases says, loudly and once in the process, that the rails are not what they
// are called.
func (s *settings) warnAliases() {
	if len(s.ProviderAlias) == 0 && len(s.DomainAlias) == 0 {
		return
	}
	var words []string
	for _, m := range []map[string]string{s.ProviderAlias, s.DomainAlias} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			words = append(words, name+" is "+m[name])
		}
	}
	line := "lnx: ALIASES IN USE, FOR DEVELOPMENT ONLY: " + strings.Join(words, ", ")
	if _, said := warned.LoadOrStore(line, true); !said {
		fmt.Fprintln(os.Stderr, line)
	}
}

// aliasOf answers what the spec calls rail i of a member, "" if that is its name.
func (s *settings) aliasOf(m linkspec.Member, i int) string {
	_, aliased := s.ProviderAlias[m.Provider]
	if len(m.Domains) == 0 {
		if !aliased {
			return ""
		}
		return m.Provider
	}
	if _, ok := s.DomainAlias[m.Domains[i]]; !ok && !aliased {
		return ""
	}
	return m.Provider + ":" + m.Domains[i]
}

// alias answers what a name of the spec stands for.
func alias(aliases map[string]string, name string) string {
	if other, ok := aliases[name]; ok {
		return other
	}
	return name
}
