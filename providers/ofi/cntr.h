// What peers do with a rail's memory, counted by its provider (peer counters of
// fi_peer(3)).
#ifndef GOLNX_CNTR_H
#define GOLNX_CNTR_H

#include "shim.h"

enum { GX_READS, GX_WRITES, GX_CNTRS };

struct gx_cntr {
	struct fid_peer_cntr peer;
	struct fid_cntr *cntr;
	uint64_t n, errs;
};

struct gx_cntrs {
	struct gx_cntr of[GX_CNTRS];
};

// Opens and binds the counters of an endpoint that is not enabled yet.
int gx_cntrs_open(struct fid_domain *domain, struct fid_ep *ep, struct gx_cntrs **out);
int gx_cntrs_close(struct gx_cntrs *cntrs);

#endif
