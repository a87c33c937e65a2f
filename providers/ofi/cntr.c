// Peer counters: the provider says that it would count, the owner's numbers change.
// They are driven by the rail's CQ, and read under the endpoint's progress lock.
#include "cntr.h"
#include "internal.h"

static void inc(struct fid_peer_cntr *cntr)
{
	gx_container(cntr, struct gx_cntr, peer)->n++;
}

static void incerr(struct fid_peer_cntr *cntr)
{
	gx_container(cntr, struct gx_cntr, peer)->errs++;
}

static struct fi_ops_cntr_owner owner_ops = {
	.size = sizeof(struct fi_ops_cntr_owner),
	.inc = inc,
	.incerr = incerr,
};

static int open_one(struct fid_domain *domain, struct fid_ep *ep, struct gx_cntr *cntr, uint64_t events)
{
	struct fi_peer_cntr_context context = { .size = sizeof(context), .cntr = &cntr->peer };
	struct fi_cntr_attr attr = {
		.events = FI_CNTR_EVENTS_COMP,
		.wait_obj = FI_WAIT_NONE,
		.flags = FI_PEER,
	};
	int ret;

	cntr->peer.fid.fclass = FI_CLASS_PEER_CNTR;
	cntr->peer.owner_ops = &owner_ops;
	ret = fi_cntr_open(domain, &attr, &cntr->cntr, &context);
	return ret ? ret : fi_ep_bind(ep, &cntr->cntr->fid, events);
}

int gx_cntrs_open(struct fid_domain *domain, struct fid_ep *ep, struct gx_cntrs **out)
{
	int ret;

	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -FI_ENOMEM;
	ret = open_one(domain, ep, &(*out)->of[GX_READS], FI_REMOTE_READ);
	return ret ? ret : open_one(domain, ep, &(*out)->of[GX_WRITES], FI_REMOTE_WRITE);
}

// A counter that cannot be closed keeps the memory, which its provider may refer to.
int gx_cntrs_close(struct gx_cntrs *cntrs)
{
	int i, ret;

	for (i = 0; i < GX_CNTRS; i++) {
		if (!cntrs->of[i].cntr)
			continue;
		ret = fi_close(&cntrs->of[i].cntr->fid);
		if (ret)
			return ret;
		cntrs->of[i].cntr = NULL;
	}
	free(cntrs);
	return 0;
}
