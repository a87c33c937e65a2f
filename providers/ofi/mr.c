// Registration of memory (fi_mr(3)).
#include "mr.h"

int gx_mr_reg(struct fid_domain *domain, const struct gx_mr_attr *a, struct fid_mr **mr)
{
	struct iovec iov = { .iov_base = (void *) a->base, .iov_len = a->len };
	struct fi_mr_dmabuf dmabuf = {
		.fd = a->fd,
		.offset = a->offset,
		.len = a->len,
		.base_addr = (void *) (a->base ? a->base - a->offset : 0),
	};
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = a->access,
		.requested_key = a->key,
		.iface = (enum fi_hmem_iface) a->iface,
		.device.reserved = a->device,
	};
	uint64_t flags = a->flags;

	if (a->fd >= 0) {
		attr.dmabuf = &dmabuf;
		flags |= FI_MR_DMABUF;
	}
	return fi_mr_regattr(domain, &attr, flags, mr);
}

// Binds to the rail's endpoint, which has no pointer of its own in Go.
int gx_mr_bind(struct fid_mr *mr, struct gx_rail *rail)
{
	return fi_mr_bind(mr, &rail->ep->fid, 0);
}
