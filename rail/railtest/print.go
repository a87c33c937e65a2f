package railtest

import (
	"fmt"
	"strings"
)

// String writes the machine file; ParseMachine reads it back.
func (m Machine) String() string {
	var b strings.Builder
	for _, d := range m.Domains {
		b.WriteString("domain " + domainName(d.Provider, d.Domain))
		if d.NodeLocal {
			b.WriteString(" node-local")
		}
		for _, a := range attrs {
			if v := a.get(&d); v != "" {
				b.WriteString(" " + a.key + "=" + v)
			}
		}
		b.WriteByte('\n')
	}
	if len(m.Distances) > 0 {
		b.WriteString("distances")
		for _, row := range m.Distances {
			b.WriteString(" " + strings.Trim(strings.ReplaceAll(fmt.Sprint(row), " ", ","), "[]"))
		}
		b.WriteByte('\n')
	}
	for _, p := range m.Peers {
		b.WriteString("peer " + p.Name)
		if p.Local {
			b.WriteString(" local")
		}
		for _, a := range p.Addrs {
			b.WriteString(" " + a.String() + onFabric(a.Fabric))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func onFabric(fabric string) string {
	if fabric == "" {
		return ""
	}
	return "@" + fabric
}

// String writes the case file; Parse reads it back.
func (c Case) String() string {
	var b strings.Builder
	b.WriteString(c.Machine.String())
	fmt.Fprintf(&b, "link %s\n", c.Link)
	if c.Use != 0 {
		fmt.Fprintf(&b, "use %d\n", c.Use)
	}
	if c.Policy != "" {
		fmt.Fprintf(&b, "policy %s\n", c.Policy)
	}
	if c.Seed != 0 {
		fmt.Fprintf(&b, "seed %d\n", c.Seed)
	}
	if c.ShmOff {
		b.WriteString("shm off\n")
	}
	if c.Explain {
		b.WriteString("explain\n")
	}
	for _, s := range c.Steps {
		b.WriteString(s.String())
		b.WriteByte('\n')
		for _, w := range s.Want {
			b.WriteString(wantLine(w))
		}
	}
	return b.String()
}

// String writes the step without what is expected of it.
func (s Step) String() string {
	switch s.Do {
	case Recv:
		return fmt.Sprintf("recv %s %s from %s", s.Peer, s.Rail, s.Addr)
	case Set:
		return fmt.Sprintf("%v %s", s.Health, s.Rail)
	}
	text := "send " + s.Peer
	if s.Times > 0 {
		text += fmt.Sprintf(" x%d", s.Times)
	}
	if s.Size > 0 {
		text += fmt.Sprintf(" size=%d", s.Size)
	}
	if s.NUMA >= 0 {
		text += fmt.Sprintf(" numa=%d", s.NUMA)
	}
	return text
}

func wantLine(want string) string { return "  " + wantMark + " " + want + "\n" }
