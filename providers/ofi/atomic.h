// Atomic operations on peers' memory (fi_atomic(3)).
#ifndef GOLNX_ATOMIC_H
#define GOLNX_ATOMIC_H

#include "shim.h"

#include <rdma/fi_atomic.h>

enum { GX_OPERANDS, GX_COMPARE, GX_RESULT, GX_SIDES };

// One operation; Go fills it in.
struct gx_atomic {
	struct {
		struct fi_ioc iov[GX_IOV];
		void *desc[GX_IOV];
		size_t count;
	} side[GX_SIDES];
	struct fi_rma_ioc remote[GX_IOV];
	size_t remote_count;
	uint64_t dest, flags;
	uint32_t kind, op, type;
};

ssize_t gx_atomic(uintptr_t rail, uintptr_t call, uintptr_t tx);
int gx_query_atomic(struct fid_domain *domain, uint32_t kind, uint32_t op, uint32_t type,
		    struct fi_atomic_attr *attr);

#endif
