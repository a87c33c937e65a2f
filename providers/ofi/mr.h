// Registration of memory, as Go calls it.
#ifndef GOLNX_MR_H
#define GOLNX_MR_H

#include "shim.h"

struct gx_mr_attr {
	uintptr_t base;
	size_t len;
	uint64_t access, key, device, flags, offset;
	uint32_t iface;
	int fd; // of a DMA-BUF, -1 if it is none
};

int gx_mr_reg(struct fid_domain *domain, const struct gx_mr_attr *attr, struct fid_mr **mr);
int gx_mr_bind(struct fid_mr *mr, struct gx_rail *rail);

#endif
