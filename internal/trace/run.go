package trace

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golnx/rail/timer"
)

// Unknown is the rank of a peer whose address stands in no rank's files.
const Unknown = -1

// Run is a recorded run. It is for one goroutine.
type Run struct {
	Dir   string
	Ranks []*Rank // in order of their numbers
	// Paths are the different links of all ranks, without what tells ranks apart.
	Paths []*Path

	paths map[pathKey]*Path
	notes []string
	bad   map[string]*badLines // by file
}

// Rank is what one rank recorded.
type Rank struct {
	timer.RankFiles
	// Meta is what the recorder says of itself; zero if it left nothing readable.
	Meta      timer.Meta
	Links     []*Link // in order of their IDs
	Endpoints []timer.Endpoint

	byID map[int]*Link
}

// Link is a directed path from a NIC of a rank to one of a peer.
type Link struct {
	timer.Link
	Rank *Rank
	// Peer is the peer's rank, or Unknown.
	Peer int
	Path *Path
}

// Path is what the same links of different ranks have in common.
type Path struct {
	ID int // its place in Run.Paths
	pathKey
}

type pathKey struct {
	// Rail is a local NIC with its provider, as tcp;ofi_rxm:eth0.
	Rail string
	// From and To are the local and the remote NIC, with the host before it if the
	// trace has several.
	From, To string
}

// String is the path as tables show it.
func (k pathKey) String() string { return k.From + " → " + k.To }

// Open reads what a directory has of each rank, save operations and counters. Files
// that end in the middle of a line are taken as far as they go; Notes tells.
func Open(dir string) (*Run, error) {
	files, err := timer.Files(dir)
	if err != nil {
		return nil, err
	}
	run := &Run{Dir: dir, paths: map[pathKey]*Path{}, bad: map[string]*badLines{}}
	for _, f := range files {
		rank := &Rank{RankFiles: f, byID: map[int]*Link{}}
		run.Ranks = append(run.Ranks, rank)
		if err := run.readRank(rank); err != nil {
			return nil, err
		}
	}
	run.join()
	return run, nil
}

func (r *Run) readRank(rank *Rank) error {
	if rank.RankFiles.Meta != "" {
		meta, err := timer.ReadMeta(rank.RankFiles.Meta)
		if err != nil {
			r.note("%v", err)
		} else {
			rank.Meta = *meta
			r.noteMeta(rank)
		}
	}
	err := each(r, rank.RankFiles.Links, timer.OpenLinks, nil, func(l *timer.Link) error {
		rank.link(l.ID).Link = *l
		return nil
	})
	err2 := each(r, rank.RankFiles.Endpoints, timer.OpenEndpoints, nil, func(e *timer.Endpoint) error {
		rank.Endpoints = append(rank.Endpoints, *e)
		return nil
	})
	if rank.Ops != "" && rank.RankFiles.Links == "" {
		r.note("rank %d has no links file: what its operations ran on is not known", rank.Rank)
	}
	return errors.Join(err, err2)
}

// link answers the rank's link of this number, a new one if there is none.
func (k *Rank) link(id int) *Link {
	l := k.byID[id]
	if l == nil {
		l = &Link{Link: timer.Link{ID: id}, Rank: k, Peer: Unknown}
		k.byID[id] = l
		k.Links = append(k.Links, l)
	}
	return l
}

// linkOf answers the link of an operation, also when the links file lacks it.
func (r *Run) linkOf(rank *Rank, id int) *Link {
	if l := rank.byID[id]; l != nil {
		return l
	}
	if len(rank.byID) >= mostLinks {
		id = -1 // a file that names ever new links does not fill memory
	}
	l := rank.link(id)
	if l.Path == nil {
		l.Path = r.path(l)
	}
	return l
}

// mostLinks is how many links a rank may have that stand in no links file.
const mostLinks = 1 << 16

// join finds out who the peers are, and which links are the same path.
func (r *Run) join() {
	owners := map[string][]*Rank{}
	for _, rank := range r.Ranks {
		for _, e := range rank.Endpoints {
			if e.Address != "" && !slices.Contains(owners[e.Address], rank) {
				owners[e.Address] = append(owners[e.Address], rank)
			}
		}
	}
	for _, rank := range r.Ranks {
		slices.SortFunc(rank.Links, func(a, b *Link) int { return a.ID - b.ID })
		for _, l := range rank.Links {
			if peer := owner(owners[l.RemoteAddr], rank); peer != nil {
				l.Peer = peer.Rank
			}
		}
	}
	// Only now: a path's name has the peer's host in it.
	for _, rank := range r.Ranks {
		for _, l := range rank.Links {
			l.Path = r.path(l)
		}
	}
}

// owner tells whose address it is, as a rank sees it. Addresses of shared memory and
// of loopback are there once on every host.
func owner(ranks []*Rank, from *Rank) *Rank {
	if len(ranks) > 1 {
		ranks = slices.DeleteFunc(slices.Clone(ranks), func(k *Rank) bool { return k.Meta.Host != from.Meta.Host })
	}
	if len(ranks) != 1 {
		return nil
	}
	return ranks[0]
}

func (r *Run) path(l *Link) *Path {
	key := pathKey{Rail: l.rail(), From: r.nic(l.Rank.Rank, l.LocalNIC), To: r.nic(l.Peer, l.RemoteNIC)}
	p := r.paths[key]
	if p == nil {
		p = &Path{ID: len(r.Paths), pathKey: key}
		r.paths[key] = p
		r.Paths = append(r.Paths, p)
	}
	return p
}

// rail names the rail, as package rail does.
func (l *Link) rail() string {
	switch {
	case l.Provider == "" && l.LocalNIC == "":
		return "unknown"
	case l.Provider == "", l.Provider == l.LocalNIC:
		return l.LocalNIC
	case l.LocalNIC == "":
		return l.Provider
	}
	return l.Provider + ":" + l.LocalNIC
}

// nic names a NIC of a rank.
func (r *Run) nic(rank int, name string) string {
	if name == "" {
		name = "unknown"
	}
	if k := r.rank(rank); k != nil && k.Meta.Host != "" && len(r.Hosts()) > 1 {
		return k.Meta.Host + "/" + name
	}
	return name
}

func (r *Run) rank(number int) *Rank {
	i, ok := slices.BinarySearchFunc(r.Ranks, number, func(k *Rank, n int) int { return k.Rank - n })
	if !ok {
		return nil
	}
	return r.Ranks[i]
}

// Hosts answers the hosts of all ranks, as far as they are known, each once.
func (r *Run) Hosts() []string {
	var hosts []string
	for _, k := range r.Ranks {
		if k.Meta.Host != "" {
			hosts = append(hosts, k.Meta.Host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Names answers what was run: the names of the links that endpoints were opened on.
func (r *Run) Names() []string {
	var names []string
	for _, k := range r.Ranks {
		for _, e := range k.Endpoints {
			if e.Link != "" {
				names = append(names, e.Link)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Notes answers what is not as it should be in the files that were read so far: lines
// that were passed over, recordings that ended early.
func (r *Run) Notes() []string {
	notes := slices.Clone(r.notes)
	for _, file := range slices.Sorted(maps.Keys(r.bad)) {
		notes = append(notes, r.bad[file].String())
	}
	return notes
}

func (r *Run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *Run) noteMeta(rank *Rank) {
	m := &rank.Meta
	if m.Ended != "" && m.Ended != "closed" {
		r.note("rank %d: recording ended early: %s", rank.Rank, m.Ended)
	}
	for _, file := range []struct {
		what string
		timer.RowCounts
	}{{"operations", m.Ops.RowCounts}, {"counter values", m.NIC}, {"gaps", m.CQGaps}} {
		if file.Dropped > 0 {
			r.note("rank %d: %d %s were not recorded%s", rank.Rank, file.Dropped, file.what, because(file.Ended))
		}
	}
	if m.Ops.Unfinished > 0 {
		r.note("rank %d: %d operations had not completed at the end", rank.Rank, m.Ops.Unfinished)
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + strings.TrimSpace(reason) + ")"
}
