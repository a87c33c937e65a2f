package timer

import "sync/atomic"

// endpoint finds an endpoint by its number.
func (r *Recorder) endpoint(id uint64) *endpoint {
	if index := *r.index.Load(); id < uint64(len(index)) {
		return index[id].Load()
	}
	return nil
}

func (r *Recorder) addEndpoint(ep *endpoint, row Endpoint) {
	r.mu.Lock()
	r.endpoints = append(r.endpoints, ep)
	r.waiting.endpoints = append(r.waiting.endpoints, row)
	index := *r.index.Load()
	if ep.id >= uint64(len(index)) {
		larger := make([]atomic.Pointer[endpoint], powerOfTwo(int(ep.id)+1, 0))
		for i := range index {
			larger[i].Store(index[i].Load())
		}
		index = larger
		r.index.Store(&larger)
	}
	index[ep.id].Store(ep)
	r.mu.Unlock()
	r.wakeWriter()
}

// newLink answers the number of a path that an endpoint uses for the first time.
func (r *Recorder) newLink(p pair) uint32 {
	l := Link{
		Endpoint: p.rail.Endpoint.ID, Rail: p.rail.Index, Provider: p.rail.Info.Provider,
		LocalNIC: p.rail.Device, LocalAddr: p.rail.Endpoint.Address,
	}
	if p.to != nil {
		l.RemoteNIC, l.RemoteAddr = p.to.Device, p.to.Address
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.links[l] // a peer that was removed and came back
	if !ok {
		id = uint32(len(r.links))
		r.links[l] = id
		l.ID = int(id)
		r.waiting.links = append(r.waiting.links, l)
	}
	return id
}

func (r *Recorder) addGap(g CQGap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting.gaps) >= mostGaps {
		r.gapsLost++
		return
	}
	r.waiting.gaps = append(r.waiting.gaps, g)
}
