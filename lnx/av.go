package lnx

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golnx/internal/doorbell"
	"golnx/internal/livekeys"
	"golnx/peer"
	"golnx/providers"
	"golnx/providers/fierr"
	"golnx/providers/ofi"
	"golnx/rail"
	"golnx/rail/intercept"
	"golnx/suq"
)

// Addr names a peer of an endpoint (fi_addr_t).
type Addr uint64

// AddrUnspec is any source in a receive, and an unknown one in a completion
// (FI_ADDR_UNSPEC).
const AddrUnspec = Addr(providers.NoAddr)

// String prints AddrUnspec by name.
func (a Addr) String() string {
	if a == AddrUnspec {
		return "AddrUnspec"
	}
	return strconv.FormatUint(uint64(a), 10)
}

// AV is an endpoint's address vector (fi_av(3)), of type FI_AV_TABLE. It is safe
// for concurrent use.
type AV Endpoint

// peerState is what an endpoint knows of one peer.
type peerState struct {
	addr  *peer.Address
	named Addr
	rails rail.Peer
	paths []path
	// byPath has the index in paths for each rail and entry of addr.
	byPath  []int
	entries int
	// remotes are what hooks see of the paths, as byPath; nil without hooks.
	remotes []*intercept.Remote
	pid     uint32 // 0 if it cannot be watched
	heard   bool
	err     error // set when the peer is known to have ended
	sends   int   // under way
	// refused is the path of a message that the rail did not take yet.
	refused *path
	// settled is the policy's answer where it does not change from message to
	// message, until something breaks (Endpoint.broken).
	settled   *path
	settledAt int
	// detour is the path that all messages take, in place of the policy's.
	detour *path
	bell   *doorbell.Ringer // nil if the peer has none, or is not local
	mute   bool             // local, without a bell
	why    []error          // of the paths that are dead
	keys   *livekeys.View   // of the memory that node-local rails reach; nil before an Import
}

// remote answers what hooks see of a path.
func (p *peerState) remote(way *path) *intercept.Remote {
	return p.remotes[way.rail*p.entries+way.entry]
}

// Insert makes a peer of its address blob (fi_av_insert(3)): every rail that
// reaches the peer learns its address. A peer that is there already keeps its
// Addr. A blob that is cut short or altered is an error (only what is cut down to
// the blob that C LNX would have written passes for one of C LNX); so is a peer
// that no rail reaches, and the error then names what both sides have.
func (av *AV) Insert(blob []byte) (Addr, error) {
	ep := (*Endpoint)(av)
	remote, err := peer.Decode(blob)
	if err != nil {
		return AddrUnspec, fmt.Errorf("AV.Insert: %w: %w", fierr.EInval, err)
	}
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return AddrUnspec, err
	}
	loc := peer.Locate(ep.self, remote)
	common, err := peer.Common(ep.local, remote, loc, ep.set.DisableShm)
	if err != nil {
		return AddrUnspec, fmt.Errorf("AV.Insert: %w: %w%s", fierr.EHostUnreach, err, ep.otherMode(remote))
	}
	if err := ep.onePath(common); err != nil {
		return AddrUnspec, fmt.Errorf("AV.Insert: %v: %w", remote, err)
	}
	if ep.gone(remote, loc) {
		return AddrUnspec, fmt.Errorf("AV.Insert: %v is an endpoint of this process that has closed: %w", remote, ErrPeerDead)
	}
	p, fresh := ep.peers.Insert(remote)
	if !fresh {
		if p.Data.pid != 0 && p.Data.err == nil && !ep.watch.watches(Addr(p.Addr)) {
			return Addr(p.Addr), ep.watchPeer(p.Data, Addr(p.Addr), loc) // it was removed in between
		}
		return Addr(p.Addr), nil
	}
	p.Data = &peerState{addr: remote, named: Addr(p.Addr)}
	if err := ep.meet(p.Data, Addr(p.Addr), common); err != nil {
		err = errors.Join(fmt.Errorf("AV.Insert: %w", err), ep.peers.Remove(p.Addr))
		ep.farewell()
		return AddrUnspec, err
	}
	if err := ep.watchPeer(p.Data, Addr(p.Addr), loc); err != nil {
		err = errors.Join(fmt.Errorf("AV.Insert: watch the peer's process: %w", err), ep.peers.Remove(p.Addr))
		ep.farewell()
		return AddrUnspec, err
	}
	ep.hooks.remotes(Addr(p.Addr), p.Data)
	ep.resolveUnknown()
	return Addr(p.Addr), nil
}

// meet makes the peer known to the rails and to the policy.
func (ep *Endpoint) meet(state *peerState, addr Addr, common []peer.Path) (err error) {
	if err := ep.insertPaths(state, common); err != nil {
		return err
	}
	if state.rails, err = ep.sel.NewPeer(uint64(addr), state.railPaths()); err != nil {
		return err
	}
	if err := ep.mapPaths(state, addr); err != nil {
		return err
	}
	ep.meetBell(state)
	return nil
}

// insertPaths tells the rails the peer's addresses. All of them have to take it:
// what comes from the peer over a rail that does not know it has no source, so
// that receives from the peer would wait for ever.
func (ep *Endpoint) insertPaths(state *peerState, common []peer.Path) error {
	state.entries = len(state.addr.Entries)
	state.byPath = make([]int, len(ep.link.Rails)*state.entries)
	for _, c := range common {
		name := state.addr.Entries[c.Entry].Addr
		a, again := ep.reinstate(c.Rail, name)
		if !again {
			var err error
			if a, err = ep.core.Insert(c.Rail, name); err != nil {
				ep.stats[c.Rail].Error()
				return fmt.Errorf("rail %s does not take %v: %w", ep.link.Rails[c.Rail].Name(), state.addr, err)
			}
		}
		state.byPath[c.Rail*state.entries+c.Entry] = len(state.paths)
		state.paths = append(state.paths, path{rail: c.Rail, entry: c.Entry, addr: a})
		if ep.ownName(c.Rail, state.addr.Entries[c.Entry].Addr) {
			ep.shm[c.Rail].meetSelf(a)
		}
	}
	return nil
}

func (ep *Endpoint) removePaths(state *peerState) {
	ep.leaveBell(state)
	ep.forgetHeard(state)
	for i := range state.paths {
		p := &state.paths[i]
		if !ep.retire(state, p) && ep.core.Remove(p.rail, p.addr) != nil {
			ep.stats[p.rail].Error()
		}
		ep.shm[p.rail].leaveSelf(p.addr)
		if int(p.addr) >= len(ep.byRail[p.rail]) {
			continue
		}
		ep.byRail[p.rail][p.addr] = nil
		if c, ok := ep.core.(providers.Laner); ok {
			_ = c.MapPeer(p.rail, p.addr, providers.NoAddr) // it is mapped, so there is room
		}
	}
	state.paths = nil
	_ = state.keys.Close() // munmap(2) of what was mapped
}

func (state *peerState) railPaths() []rail.Path {
	var paths []rail.Path
	for _, p := range state.paths {
		paths = append(paths, rail.Path{Rail: p.rail, Addr: p.entry})
	}
	return paths
}

// mapPaths lets messages from the peer's addresses be known as the peer's.
func (ep *Endpoint) mapPaths(state *peerState, addr Addr) error {
	for _, p := range state.paths {
		if c, ok := ep.core.(providers.Laner); ok {
			if err := c.MapPeer(p.rail, p.addr, uint64(addr)); err != nil {
				return err
			}
		}
		for int(p.addr) >= len(ep.byRail[p.rail]) {
			ep.byRail[p.rail] = append(ep.byRail[p.rail], nil)
		}
		ep.byRail[p.rail][p.addr] = state
	}
	return nil
}

// senderOf answers the sender of a message, nil if it is not known.
func (ep *Endpoint) senderOf(r int, src uint64) *peerState {
	if src >= uint64(len(ep.byRail[r])) {
		return nil
	}
	return ep.byRail[r][src]
}

// name is the Addr of the peer, AddrUnspec of nobody.
func (p *peerState) name() Addr {
	if p == nil {
		return AddrUnspec
	}
	return p.named
}

// heard tells the policy on which path a peer is heard first: rail r, and the address
// of the peer that src is there.
func (ep *Endpoint) heard(state *peerState, r int, src uint64) {
	state.heard = true
	for _, p := range state.paths {
		if p.rail == r && p.addr == src {
			way := rail.Path{Rail: p.rail, Addr: p.entry}
			if ep.ownPolicy {
				ep.toTell = append(ep.toTell, heardOn{state, way})
			} else {
				ep.sel.Heard(&state.rails, way)
			}
			return
		}
	}
}

// resolveUnknown asks again whose the unexpected messages are that came from an
// unknown sender. Receives from that sender take them from now on; none can be
// waiting, since the sender had no Addr.
func (ep *Endpoint) resolveUnknown() {
	ep.resolveIn(ep.suq)
	ep.resolveIn(ep.msgs.suq)
}

func (ep *Endpoint) resolveIn(q *suq.Queue) {
	for slot := range q.Unknown() {
		op := ep.rx.at(slot)
		src := ep.core.Whose(slot)
		from := ep.senderOf(int(op.rail), src)
		if from == nil {
			continue
		}
		op.from = from.named
		q.SetSource(slot, uint64(from.named))
		if !from.heard {
			ep.heard(from, int(op.rail), src)
		}
		ep.mustFetch(slot, int(op.rail), ep.core.Unexpected(slot).Size)
	}
}

// Remove ends the acquaintance with a peer (fi_av_remove(3)). Sends under way to
// it should have completed; the Addr is not given to another peer while any has
// not. Messages that arrive from it afterwards have no known source.
func (av *AV) Remove(addr Addr) error {
	ep := (*Endpoint)(av)
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return err
	}
	if ep.peerOf(addr) == nil {
		return unknownAddr("AV.Remove", addr)
	}
	ep.watch.remove(addr)
	if ep.direct.core != nil {
		ep.takeBackFrom(addr, fierr.ECanceled) // or they would take another's, at its address
	}
	err := ep.peers.Remove(peer.Addr(addr))
	ep.farewell()
	return err
}

// Lookup answers the address of a peer (fi_av_lookup(3)); its String is the
// printable form (fi_av_straddr).
func (av *AV) Lookup(addr Addr) (*peer.Address, error) {
	ep := (*Endpoint)(av)
	ep.lock()
	defer ep.unlock()
	if err := ep.check(); err != nil {
		return nil, err
	}
	state := ep.peerOf(addr)
	if state == nil {
		return nil, unknownAddr("AV.Lookup", addr)
	}
	return state.addr, nil
}

func unknownAddr(op string, addr Addr) error {
	return fmt.Errorf("%s: Addr %d names no peer of this endpoint: insert its address blob first: %w", op, addr, fierr.EInval)
}

// peerOf answers what is known of a peer, nil if the Addr names none.
func (ep *Endpoint) peerOf(addr Addr) *peerState {
	if p := ep.peers.Lookup(peer.Addr(addr)); p != nil {
		return p.Data
	}
	return nil
}

// makeBlob writes what Name answers, and keeps the rails' own addresses.
func (ep *Endpoint) makeBlob() ([]byte, error) {
	a := &peer.Address{Host: ep.self.Host, Ext: &peer.Extension{Node: ep.self.Node, Bell: ep.bells.name()}}
	// C LNX 2.1 sends to the first address of a provider only, which must not
	// be one that it could mistake for its own.
	for _, i := range loopbackLast(ep.core.Rails()) {
		info := ep.core.Rails()[i]
		name, err := ep.core.Name(i)
		if err != nil {
			return nil, err
		}
		a.Entries = append(a.Entries, peer.Entry{Addr: name})
		ep.local = append(ep.local, peer.LocalRail{
			Index: i, Provider: info.Provider, Fabric: info.Fabric, Domain: info.Domain,
			Format: peer.AddrFormat(info.AddrFormat), Addr: name,
		})
		a.Ext.Rails = append(a.Ext.Rails, peer.Rail{
			Provider: info.Provider, Fabric: info.Fabric, Domain: info.Domain,
			Format: peer.AddrFormat(info.AddrFormat), Speed: info.NIC.Speed, NUMA: int32(info.NIC.NUMA),
		})
	}
	// C LNX of the installed libfabric should be able to read it.
	if ofi.HeaderVersion == (ofi.Version{Major: 2, Minor: 1}) {
		return peer.Encode21(a)
	}
	return peer.Encode22(a)
}

// ownName says whether an address is that of our own rail.
func (ep *Endpoint) ownName(r int, addr []byte) bool {
	return slices.ContainsFunc(ep.local, func(l peer.LocalRail) bool { return l.Index == r && bytes.Equal(l.Addr, addr) })
}

// loopbackLast answers the rails' indices with those over loopback at the end.
func loopbackLast(rails []providers.Info) []int {
	var order, last []int
	for i, r := range rails {
		if strings.HasPrefix(r.Fabric, "127.") || strings.HasPrefix(r.Fabric, "::1/") {
			last = append(last, i)
		} else {
			order = append(order, i)
		}
	}
	return append(order, last...)
}

func railInfos(infos []providers.Info) []rail.Info {
	var out []rail.Info
	for i, info := range infos {
		out = append(out, rail.Info{
			Index: i, Name: info.Name(), Provider: info.Provider, Fabric: info.Fabric, Domain: info.Domain,
			NodeLocal: info.NodeLocal, Speed: info.NIC.Speed, NUMA: info.NIC.NUMA, PCI: info.NIC.PCI, MTU: info.NIC.MTU,
			InjectSize: info.InjectSize, MaxMsgSize: info.MaxMsgSize, AddrFormat: info.AddrFormat.String(),
		})
	}
	return out
}
