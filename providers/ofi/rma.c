// Reads and writes of peers' memory (fi_rma(3)).
#include "internal.h"

ssize_t gx_rma(uintptr_t to, bool write, uintptr_t base, size_t len, uintptr_t desc,
	       uint64_t dest, uint64_t addr, uint64_t key, uintptr_t slot)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_tx *tx = (struct gx_tx *) slot;
	void *buf = (void *) base;

	if (write)
		return fi_write(rail->ep, buf, len, (void *) desc, dest, addr, key, &tx->hdr);
	return fi_read(rail->ep, buf, len, (void *) desc, dest, addr, key, &tx->hdr);
}

// The buffers and the ranges stand in the core.
ssize_t gx_rmamsg(uintptr_t to, bool write, size_t count, size_t remote_count,
		  uint64_t dest, uint64_t data, uint64_t flags, uintptr_t slot)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_tx *tx = (struct gx_tx *) slot;
	struct fi_msg_rma msg = {
		.msg_iov = rail->core->iov,
		.desc = rail->core->desc,
		.iov_count = count,
		.addr = dest,
		.rma_iov = rail->core->remote,
		.rma_iov_count = remote_count,
		.context = &tx->hdr,
		.data = data,
	};

	flags |= FI_COMPLETION;
	return write ? fi_writemsg(rail->ep, &msg, flags) : fi_readmsg(rail->ep, &msg, flags);
}
