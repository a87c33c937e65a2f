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
}

// openRail opens everything a rail needs, or nothing.
func openRail(core *C.struct_gx_core, info *Info, opts Options) (r *rail, err error) {
	r = &rail{info: info}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
			r = nil
		}
	}()
	if r.c = C.gx_rail_new(core, C.uint32_t(info.IOVLimit)); r.c == nil {
		return r, fail("calloc", -int(fierr.ENoMem), "rail %s", info.Name())
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
	if r.cq, err = openPeerCQ(r.domain, r.c, opts.CQSize); err != nil {
		return r, err
	}
	if r.srx, err = openPeerSRX(r.domain, r.c); err != nil {
		return r, err
	}
	if r.ep, err = openEndpoint(r.domain, info, r.c); err != nil {
		return r, err
	}
	return r, r.ep.enable(r.av)
}

// close closes what is open. What refuses to close stays open, with all that it
// depends on.
func (r *rail) close() error {
	if r.ep != nil {
		if err := r.ep.Close(); err != nil {
			return err
		}
	}
	if r.srx != nil {
		if err := r.srx.Close(); err != nil {
			return err
		}
	}
	if r.cq != nil {
		if err := r.cq.Close(); err != nil {
			return err
		}
	}
	if r.av != nil {
		if err := r.av.Close(); err != nil {
			return err
		}
	}
	if r.domain != nil {
		if err := r.domain.Close(); err != nil {
			return err
		}
	}
	if r.fabric != nil {
		if err := r.fabric.Close(); err != nil {
			return err
		}
	}
	if r.c != nil {
		C.gx_rail_free(r.c)
		r.c = nil
	}
	return nil
}
