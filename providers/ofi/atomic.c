// Atomic operations. The forms with a message are used for all, since they are the ones
// that take FI_COMPLETION.
#include "atomic.h"

enum { BASE, FETCH, COMPARE }; // of providers.AtomicKind

ssize_t gx_atomic(uintptr_t to, uintptr_t what, uintptr_t slot)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_atomic *call = (struct gx_atomic *) what;
	struct gx_tx *tx = (struct gx_tx *) slot;
	uint64_t flags = call->flags | FI_COMPLETION;
	struct fi_msg_atomic msg = {
		.msg_iov = call->side[GX_OPERANDS].iov,
		.desc = call->side[GX_OPERANDS].desc,
		.iov_count = call->side[GX_OPERANDS].count,
		.addr = call->dest,
		.rma_iov = call->remote,
		.rma_iov_count = call->remote_count,
		.datatype = call->type,
		.op = call->op,
		.context = &tx->hdr,
	};

	switch (call->kind) {
	case BASE:
		return fi_atomicmsg(rail->ep, &msg, flags);
	case FETCH:
		return fi_fetch_atomicmsg(rail->ep, &msg, call->side[GX_RESULT].iov,
					  call->side[GX_RESULT].desc,
					  call->side[GX_RESULT].count, flags);
	case COMPARE:
		return fi_compare_atomicmsg(rail->ep, &msg, call->side[GX_COMPARE].iov,
					    call->side[GX_COMPARE].desc,
					    call->side[GX_COMPARE].count,
					    call->side[GX_RESULT].iov,
					    call->side[GX_RESULT].desc,
					    call->side[GX_RESULT].count, flags);
	}
	return -FI_EINVAL;
}

int gx_query_atomic(struct fid_domain *domain, uint32_t kind, uint32_t op, uint32_t type,
		    struct fi_atomic_attr *attr)
{
	static const uint64_t flags[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };

	return fi_query_atomic(domain, type, op, attr, flags[kind]);
}
