package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"golnx/cmd/lnx/ui"
	"golnx/linkspec"
	"golnx/lnx"
	"golnx/providers"
	"golnx/rail"
	"golnx/rail/railtest"
)

// defaultPeers is how many peers are made up.
const defaultPeers = 2

// planCmd foretells the rails.
type planCmd struct {
	linkFlags
	Machine  string   `type:"existingfile" placeholder:"FILE" help:"A described machine (go doc golnx/rail/railtest) instead of this one. Its link, policy, seed and shm lines, if it has any, take the place of the environment; flags take theirs."`
	Peers    *int     `placeholder:"N" help:"How many peers to make up, each with the rails of the link. Without it, 2, or those of the machine file."`
	Local    bool     `help:"The made-up peers are on this node."`
	Messages int      `default:"4" placeholder:"N" help:"Messages to each peer; they are sent to the peers in turn."`
	Size     ui.Sizes `placeholder:"BYTES" help:"Size of a message. Without it, 8."`
	NUMA     int      `name:"numa" default:"-1" help:"The NUMA node that the caller of a send is on: a hint that it gives, which NEAREST goes by. -1 is none."`
	Seed     *uint64  `placeholder:"N" help:"The sender's seed (its rank). Without it, 0, or that of the machine file."`
	JSON     bool     `name:"json" help:"Print one JSON object."`
}

// Validate checks the flags.
func (c *planCmd) Validate() error {
	if err := c.linkFlags.check(); err != nil {
		return err
	}
	if c.Peers != nil && (*c.Peers < 1 || *c.Peers > railtest.MaxPicks) {
		return fmt.Errorf("--peers %d: 1 to %d are possible", *c.Peers, railtest.MaxPicks)
	}
	if c.Messages < 1 || c.Messages > railtest.MaxPicks {
		return fmt.Errorf("--messages %d: 1 to %d are possible", c.Messages, railtest.MaxPicks)
	}
	if len(c.Size) > 1 {
		return errors.New("--size: a plan has messages of one size")
	}
	return nil
}

// plan is what is simulated.
type plan struct {
	link  string
	rails []rail.Info
	peers []railtest.Peer
	opts  rail.Options
}

// Run simulates and prints.
func (c *planCmd) Run(a *app) error {
	p, err := c.plan(a)
	if err != nil {
		return err
	}
	picks, err := railtest.Simulate(p.rails, p.peers, p.opts, c.steps(p.peers))
	if err != nil {
		return err
	}
	if c.JSON {
		return showPlanJSON(a, p, picks)
	}
	return showPlan(a, p, picks)
}

func (c *planCmd) plan(a *app) (p plan, err error) {
	file, err := c.readMachine()
	if err != nil {
		return p, err
	}
	env, err := c.environment(file)
	if err != nil {
		return p, err
	}
	if c.Machine != "" {
		p, err = c.described(file, env)
	} else {
		p, err = c.real()
		if errors.Is(err, lnx.ErrNoLinks) {
			p, err = c.assumed(a, env, err)
		}
	}
	if err != nil {
		return p, err
	}
	p.opts.Seed = file.Seed
	if c.Seed != nil {
		p.opts.Seed = *c.Seed
	}
	if p.opts.Policy, err = rail.ParsePolicy(cmp.Or(c.Policy, file.Policy, env.Selection.String())); err != nil {
		return p, err
	}
	return p, c.choosePeers(&p)
}

// environment reads the FI_LNX_* variables whose place no flag and no line of the machine
// file takes.
func (c *planCmd) environment(file railtest.Case) (linkspec.Env, error) {
	return linkspec.FromEnv(func(name string) (string, bool) {
		if name == linkspec.EnvProvLinks && c.Links+file.Link != "" || name == linkspec.EnvMultiRailSelection && c.Policy+file.Policy != "" {
			return "", false
		}
		return os.LookupEnv(name)
	})
}

// real takes the first link that this machine has.
func (c *planCmd) real() (p plan, err error) {
	listing, err := lnx.Links(c.options())
	if err != nil {
		return p, err
	}
	link := listing.Links[0]
	return plan{link: link.Name, rails: railInfos(link.Rails)}, nil
}

func railInfos(infos []providers.Info) []rail.Info {
	var rails []rail.Info
	for _, i := range infos {
		rails = append(rails, rail.Info{
			Name: i.Name(), Provider: i.Provider, Fabric: i.Fabric, Domain: i.Domain, NodeLocal: i.NodeLocal,
			Speed: i.NIC.Speed, NUMA: i.NIC.NUMA, PCI: i.NIC.PCI, MTU: i.NIC.MTU,
			InjectSize: i.InjectSize, MaxMsgSize: i.MaxMsgSize, AddrFormat: i.AddrFormat.String(),
		})
	}
	return rails
}

// assumed takes the first link of the spec where this machine cannot open any,
// because it lacks providers: their domains are those that the spec names, and
// nothing else is known of them.
func (c *planCmd) assumed(a *app, env linkspec.Env, why error) (plan, error) {
	spec := env.Links
	if c.Links != "" {
		var err error
		if spec, err = linkspec.Parse(c.Links); err != nil {
			return plan{}, err
		}
	}
	if len(spec) == 0 {
		return plan{}, why
	}
	p, missing := plan{link: spec[0].String()}, []string(nil)
	for _, m := range spec[0].Members {
		traits, ok := providers.Lookup(m.Provider)
		switch {
		case !ok:
			return plan{}, why // nothing to assume
		case traits.NodeLocal && (c.DisableShm || env.DisableShm):
			continue
		}
		rails, here, err := c.member(m)
		switch {
		case err != nil:
			return plan{}, err
		case here:
		case traits.NodeLocal && len(m.Domains) == 0:
			rails = []rail.Info{{Name: traits.Name, Provider: traits.Name, NodeLocal: true, NUMA: -1}}
		case len(m.Domains) == 0:
			return plan{}, fmt.Errorf("%w\nto plan as if %s were here, name its domains (%s:DOMAIN,DOMAIN), or give --machine", why, m.Provider, m.Provider)
		}
		if !here {
			missing = append(missing, m.Provider)
		}
		p.rails = append(p.rails, rails...)
	}
	if len(missing) == 0 {
		return plan{}, why
	}
	for _, name := range missing {
		a.print(name + " is not on this machine; planning as if it were")
	}
	return p, nil
}

// options are those of a command that only looks.
func (c *planCmd) options() lnx.Options {
	opts := c.linkFlags.options()
	opts.Lookup = withoutRecording
	return opts
}

// member answers the rails of one member of a link: what this machine has, or if it
// lacks the provider, what the spec names.
func (c *planCmd) member(m linkspec.Member) (rails []rail.Info, here bool, err error) {
	alone := c.options()
	alone.Links = m.String()
	listing, err := lnx.Links(alone)
	if err == nil {
		return railInfos(listing.Links[0].Rails), true, nil
	}
	alone.Links = m.Provider
	if _, errProvider := lnx.Links(alone); errProvider == nil {
		return nil, true, err // a domain is misspelt
	}
	traits, _ := providers.Lookup(m.Provider)
	for _, d := range m.Domains {
		rails = append(rails, rail.Info{Name: traits.Name + ":" + d, Provider: traits.Name, Domain: d, NodeLocal: traits.NodeLocal, NUMA: -1})
	}
	return rails, false, nil
}

// choosePeers makes peers up if the machine names none, and bounds the work.
func (c *planCmd) choosePeers(p *plan) error {
	switch {
	case len(p.peers) == 0:
		p.peers = c.madeUp(p.rails)
	case c.Peers != nil || c.Local:
		return usageError{errors.New("--peers and --local are for made-up peers: the machine file has its own")}
	}
	if len(p.peers)*c.Messages > railtest.MaxPicks {
		return usageError{fmt.Errorf("%d messages to each of %d peers: at most %d can be planned", c.Messages, len(p.peers), railtest.MaxPicks)}
	}
	return nil
}

// madeUp answers peers that have what we have.
func (c *planCmd) madeUp(rails []rail.Info) []railtest.Peer {
	n := defaultPeers
	if c.Peers != nil {
		n = *c.Peers
	}
	var addrs []railtest.Addr
	for _, r := range rails {
		domain := r.Domain
		if domain == r.Provider {
			domain = "" // as the rail's own name has it
		}
		addrs = append(addrs, railtest.Addr{Provider: r.Provider, Domain: domain, Fabric: r.Fabric})
	}
	peers := make([]railtest.Peer, n)
	for i := range peers {
		peers[i] = railtest.Peer{Name: fmt.Sprintf("peer%d", i+1), Local: c.Local, Addrs: addrs}
	}
	return peers
}

// steps sends a message to every peer in turn, as often as was asked for.
func (c *planCmd) steps(peers []railtest.Peer) []railtest.Step {
	size := defaultSize
	if len(c.Size) > 0 {
		size = c.Size[0]
	}
	var steps []railtest.Step
	for range c.Messages {
		for _, peer := range peers {
			steps = append(steps, railtest.Step{Do: railtest.Send, Peer: peer.Name, Size: uint64(size), NUMA: c.NUMA})
		}
	}
	return steps
}

// pickJSON is one message.
type pickJSON struct {
	Message int    `json:"message"` // to its peer, from 1
	Peer    string `json:"peer"`
	Rail    string `json:"rail,omitempty"`
	Addr    string `json:"addr,omitempty"`
	Why     string `json:"why,omitempty"`
	Error   string `json:"error,omitempty"`
}

// railLoad is how many of the messages a rail carries.
type railLoad struct {
	Name     string `json:"name"`
	Messages int    `json:"messages"`
}

// outcome puts the picks into the form that is shown.
func (p *plan) outcome(picks []railtest.Pick) ([]pickJSON, []railLoad) {
	rows, loads := make([]pickJSON, len(picks)), make([]railLoad, len(p.rails))
	for i, r := range p.rails {
		loads[i].Name = r.Name
	}
	for i, pick := range picks {
		rows[i] = pickJSON{Message: i/len(p.peers) + 1, Peer: pick.Peer, Rail: pick.Rail, Addr: pick.Addr, Why: pick.Why}
		if pick.Err != nil {
			rows[i].Error = pick.Err.Error()
			continue
		}
		loads[slices.IndexFunc(p.rails, func(r rail.Info) bool { return r.Name == pick.Rail })].Messages++
	}
	return rows, loads
}

func showPlan(a *app, p plan, picks []railtest.Pick) error {
	rows, loads := p.outcome(picks)
	t := ui.NewTable(fmt.Sprintf("Link %s, policy %s", p.link, p.opts.Policy), "message")
	t.AppendHeader([]any{"message", "to", "rail", "address", "why"})
	for _, r := range rows {
		if r.Error != "" {
			t.AppendRow([]any{r.Message, r.Peer, "-", "-", r.Error})
			continue
		}
		t.AppendRow([]any{r.Message, r.Peer, r.Rail, r.Addr, r.Why})
	}
	if err := ui.Print(a.out, t); err != nil {
		return err
	}
	t = ui.NewTable("", "messages")
	t.AppendHeader([]any{"rail", "messages"})
	for _, l := range loads {
		t.AppendRow([]any{l.Name, l.Messages})
	}
	return ui.Print(a.out, t)
}

func showPlanJSON(a *app, p plan, picks []railtest.Pick) error {
	rows, loads := p.outcome(picks)
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Link   string     `json:"link"`
		Policy string     `json:"policy"`
		Picks  []pickJSON `json:"picks"`
		Rails  []railLoad `json:"rails"`
	}{p.link, p.opts.Policy, rows, loads})
}
