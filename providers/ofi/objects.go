package ofi

/*
#include <stdlib.h>
#include "shim.h"

static int gx_close(struct fid *fid) { return fi_close(fid); }

static int gx_cq_open(struct fid_domain *domain, struct gx_rail *rail, size_t size, bool fd)
{
	struct fi_peer_cq_context context = { .size = sizeof(context), .cq = &rail->peer_cq };
	struct fi_cq_attr attr = {
		.size = size,
		.flags = FI_PEER,
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = fd ? FI_WAIT_FD : FI_WAIT_NONE,
	};

	if (rail->direct) {
		attr.flags = 0;
		return fi_cq_open(domain, &attr, &rail->cq, NULL);
	}
	return fi_cq_open(domain, &attr, &rail->cq, &context);
}

static int gx_srx_open(struct fid_domain *domain, struct gx_rail *rail)
{
	struct fi_peer_srx_context context = { .size = sizeof(context), .srx = &rail->peer_srx };
	struct fi_rx_attr attr = { .op_flags = FI_PEER };

	return fi_srx_context(domain, &attr, &rail->srx, &context);
}

static int gx_ep_open(struct fid_domain *domain, struct fi_info *info, struct gx_rail *rail)
{
	return fi_endpoint(domain, info, &rail->ep, NULL);
}

static int gx_cq_fd(struct gx_rail *rail, int *fd)
{
	return fi_control(&rail->cq->fid, FI_GETWAIT, fd);
}

static int gx_trywait(struct fid_fabric *fabric, struct gx_rail *rail)
{
	struct fid *fid = &rail->cq->fid;

	return fi_trywait(fabric, &fid, 1);
}
*/
import "C"

import (
	"unsafe"

	"golnx/providers/fierr"
)

// A Fabric is an opened fi_fabric(3).
type Fabric struct{ c *C.struct_fid_fabric }

// OpenFabric calls fi_fabric(3).
func OpenFabric(info *Info) (*Fabric, error) {
	f := &Fabric{}
	if ret := int(C.fi_fabric(info.c.fabric_attr, &f.c, nil)); ret != 0 {
		return nil, fail("fi_fabric", ret, "%s", info.Name())
	}
	return f, nil
}

// Close calls fi_close(3). Closing twice does nothing.
func (f *Fabric) Close() error { return closeFID(&f.c, "fabric") }

// A Domain is an opened fi_domain(3).
type Domain struct{ c *C.struct_fid_domain }

// OpenDomain calls fi_domain(3).
func OpenDomain(f *Fabric, info *Info) (*Domain, error) {
	d := &Domain{}
	if ret := int(C.fi_domain(f.c, info.c, &d.c, nil)); ret != 0 {
		return nil, fail("fi_domain", ret, "%s", info.Name())
	}
	return d, nil
}

// Close calls fi_close(3). Closing twice does nothing.
func (d *Domain) Close() error { return closeFID(&d.c, "domain") }

// An AV is an opened address vector of type FI_AV_TABLE (fi_av(3)).
type AV struct{ c *C.struct_fid_av }

// OpenAV calls fi_av_open(3) for about count peers.
func OpenAV(d *Domain, count int) (*AV, error) {
	av := &AV{}
	attr := C.struct_fi_av_attr{_type: C.FI_AV_TABLE, count: C.size_t(count)}
	if ret := int(C.fi_av_open(d.c, &attr, &av.c, nil)); ret != 0 {
		return nil, fail("fi_av_open", ret, "%d peers", count)
	}
	return av, nil
}

// Insert calls fi_av_insert(3) for one address.
func (av *AV) Insert(addr []byte) (uint64, error) {
	// A string address has to end in a null byte, whatever the peer wrote.
	c := C.CBytes(append(addr[:len(addr):len(addr)], 0))
	defer C.free(c)
	out := C.fi_addr_t(C.FI_ADDR_NOTAVAIL)
	ret := int(C.fi_av_insert(av.c, c, 1, &out, 0, nil))
	if ret == 1 {
		return uint64(out), nil
	}
	if ret >= 0 { // the number inserted
		ret = -int(fierr.EInval)
	}
	return 0, fail("fi_av_insert", ret, "address %q", addr)
}

// Remove calls fi_av_remove(3).
func (av *AV) Remove(addr uint64) error {
	c := C.fi_addr_t(addr)
	if ret := int(C.fi_av_remove(av.c, &c, 1, 0)); ret != 0 {
		return fail("fi_av_remove", ret, "address %d", addr)
	}
	return nil
}

// Close calls fi_close(3). Closing twice does nothing.
func (av *AV) Close() error { return closeFID(&av.c, "AV") }

// A PeerCQ is a provider's CQ that completes into our ring (fi_peer(3)), or of a rail
// in direct mode one that is copied there.
type PeerCQ struct {
	rail *C.struct_gx_rail
	fd   int // -1 if the provider can only be polled
}

// openPeerCQ calls fi_cq_open(3), with FI_PEER unless the rail is in direct mode, and
// with a wait descriptor where the provider has one.
func openPeerCQ(d *Domain, rail *C.struct_gx_rail, size int) (*PeerCQ, error) {
	cq := &PeerCQ{rail: rail, fd: -1}
	ret := int(C.gx_cq_open(d.c, rail, C.size_t(size), true))
	if ret == 0 {
		var fd C.int
		if C.gx_cq_fd(rail, &fd) == 0 {
			cq.fd = int(fd)
		}
		return cq, nil
	}
	if ret = int(C.gx_cq_open(d.c, rail, C.size_t(size), false)); ret != 0 {
		return nil, fail("fi_cq_open", ret, "CQ of %d entries", size)
	}
	return cq, nil
}

// Close calls fi_close(3). Closing twice does nothing.
func (cq *PeerCQ) Close() error { return closeFID(&cq.rail.cq, "CQ") }

// A PeerSRX is a provider's receive context that asks us for receives
// (fi_peer(3)).
type PeerSRX struct{ rail *C.struct_gx_rail }

func openPeerSRX(d *Domain, rail *C.struct_gx_rail) (*PeerSRX, error) {
	if ret := int(C.gx_srx_open(d.c, rail)); ret != 0 {
		return nil, fail("fi_srx_context", ret, "peer SRX")
	}
	return &PeerSRX{rail}, nil
}

// Close calls fi_close(3). Closing twice does nothing.
func (s *PeerSRX) Close() error { return closeFID(&s.rail.srx, "SRX") }

// An Endpoint is a rail's own fi_endpoint(3).
type Endpoint struct {
	rail *C.struct_gx_rail
	name string
}

func openEndpoint(d *Domain, info *Info, rail *C.struct_gx_rail) (*Endpoint, error) {
	if ret := int(C.gx_ep_open(d.c, info.c, rail)); ret != 0 {
		return nil, fail("fi_endpoint", ret, "%s", info.Name())
	}
	return &Endpoint{rail, info.Name()}, nil
}

// enable binds what the endpoint needs and calls fi_enable(3).
func (ep *Endpoint) enable(av *AV) error {
	type step struct {
		what  string
		fid   *C.struct_fid
		flags C.uint64_t
	}
	steps := []step{{"AV", &av.c.fid, 0}, {"CQ", &ep.rail.cq.fid, C.FI_TRANSMIT | C.FI_RECV}}
	if ep.rail.srx != nil {
		steps = append(steps, step{"SRX", &ep.rail.srx.fid, 0})
	}
	for _, s := range steps {
		if ret := int(C.fi_ep_bind(ep.rail.ep, s.fid, s.flags)); ret != 0 {
			return fail("fi_ep_bind", ret, "%s of %s", s.what, ep.name)
		}
	}
	if ret := int(C.fi_enable(ep.rail.ep)); ret != 0 {
		return fail("fi_enable", ret, "%s", ep.name)
	}
	return nil
}

// Name calls fi_getname(3).
func (ep *Endpoint) Name() ([]byte, error) {
	buf := make([]byte, 256)
	for {
		n := C.size_t(len(buf))
		ret := int(C.fi_getname(&ep.rail.ep.fid, unsafe.Pointer(&buf[0]), &n))
		switch {
		case ret == 0 && int(n) <= len(buf):
			return buf[:n], nil
		case ret == -int(fierr.ETooSmall) || int(n) > len(buf):
			if n > 1<<16 {
				return nil, fail("fi_getname", -int(fierr.EOther), "%s: a name of %d bytes", ep.name, n)
			}
			buf = make([]byte, n)
		default:
			return nil, fail("fi_getname", ret, "%s", ep.name)
		}
	}
}

// Close calls fi_close(3). Closing twice does nothing.
func (ep *Endpoint) Close() error { return closeFID(&ep.rail.ep, "endpoint") }

// closeFID closes the object that *obj points to, once. A refusal keeps it open.
// Every fid_… begins with its fid.
func closeFID[T any](obj **T, what string) error {
	if *obj == nil {
		return nil
	}
	if ret := int(C.gx_close((*C.struct_fid)(unsafe.Pointer(*obj)))); ret != 0 {
		return fail("fi_close", ret, "%s", what)
	}
	*obj = nil
	return nil
}

// trywait calls fi_trywait(3), which arms the descriptor. For a peer CQ rxm 2.1 always
// answers EAGAIN, so that the answer says nothing: the caller has made progress, and
// the descriptor becomes readable with whatever comes then.
func trywait(f *Fabric, cq *PeerCQ) bool {
	ret := int(C.gx_trywait(f.c, cq.rail))
	return ret == 0 || ret == -int(fierr.EAgain) && !bool(cq.rail.direct)
}
