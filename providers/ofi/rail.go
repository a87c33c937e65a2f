package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"errors"

	"golnx/providers/fierr"
)

// rail is one opened domain: the objects of fi_peer(3)'s owner, in the order
// they are opened. Closing goes the other way.
type rail struct {
	info   *Info
	fabric *Fabric
	domain *Domain
	av     *AV
	c      *C.struct_gx_rail
	cq     *PeerCQ
	srx    *PeerSRX
	ep     *Endpoint
	cntrs  *PeerCounters // nil if the provider counts nothing remote
	keep   bool          // the endpoint could not be enabled and must not be closed
}

// openRail opens everything a rail needs, or nothing. A rail that it answers with
// an error has parts which cannot be closed.
func openRail(core *C.struct_gx_core, info *Info, opts Options) (r *rail, err error) {
	r = &rail{info: info}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.c = C.gx_rail_new(core, C.uint32_t(info.IOVLimit)); r.c == nil {
		return r, fail("calloc", -int(fierr.ENoMem), "rail %s", info.Name())
	}
	r.c.fetch_from, r.c.fetch_up_to = C.uint64_t(info.Fetch.From), C.uint64_t(info.Fetch.UpTo)
	if opts.Direct {
		if err = r.matchItself(); err != nil {
			return r, err
		}
	}
	if r.fabric, err = OpenFabric(info); err != nil {
		return r, err
	}
	if r.domain, err = OpenDomain(r.fabric, info); err != nil {
		return r, err
	}
	if r.av, err = OpenAV(r.domain, opts.AVSize); err != nil {
		return r, err
	}
	err = opts.OpenCQ(int(r.c.index), opts.CQSize, func(size int) (err error) {
		if r.cq != nil {
			return fail("fi_cq_open", -int(fierr.EBusy), "the CQ of %s is open", info.Name())
		}
		r.cq, err = openPeerCQ(r.domain, r.c, size)
		return err
	})
	if err != nil {
		return r, err
	}
	if r.cq == nil {
		return r, fail("fi_cq_open", -int(fierr.EInval), "nobody opened the CQ of %s", info.Name())
	}
	if !opts.Direct {
		if r.srx, err = openPeerSRX(r.domain, r.c); err != nil {
			return r, err
		}
	}
	if r.ep, err = openEndpoint(r.domain, info, r.c); err != nil {
		return r, err
	}
	refused := r.setup(info, opts)
	if err = r.ep.enable(r.av); err != nil && !opts.Direct {
		// In 2.1 closing it takes our SRX for the provider's own and frees it
		// (shm), or trips over what enabling has not made (rxm).
		r.keep = true
	}
	return r, errors.Join(refused, err)
}

// setup does what has to be done before the endpoint is enabled. If it cannot, the
// endpoint is enabled all the same, so that it can be closed.
func (r *rail) setup(info *Info, opts Options) (err error) {
	if countsRemotely(info) {
		if r.cntrs, err = openPeerCounters(r.domain, r.c); err != nil {
			return err
		}
	}
	if opts.Setup != nil {
		return opts.Setup(int(r.c.index), r.ep)
	}
	return nil
}

// close closes what is open. With the endpoint closed nothing calls back any more,
// so that the rail's memory can go; an endpoint that refuses keeps everything.
//
// A domain that refuses is left to libfabric: rxm 2.1 forgets registrations when
// a peer ends in the middle of a rendezvous, and its domain stays busy then.
func (r *rail) close() error {
	if r.keep || r.c == nil {
		return nil
	}
	if r.ep != nil {
		if err := r.ep.Close(); err != nil {
			return err
		}
	}
	errs := []error{r.cntrs.Close()}
	if r.srx != nil {
		errs = append(errs, r.srx.Close())
	}
	if r.cq != nil {
		errs = append(errs, r.cq.Close())
	}
	if r.av != nil {
		errs = append(errs, r.av.Close())
	}
	busy := r.domain != nil && r.domain.Close() != nil
	if r.fabric != nil && !busy {
		errs = append(errs, r.fabric.Close())
	}
	if r.c != nil {
		C.gx_sink_close(r.c)
		C.gx_taken_free(r.c)
	}
	C.gx_rail_free(r.c)
	*r = rail{info: r.info} // closing again does nothing
	return errors.Join(errs...)
}
