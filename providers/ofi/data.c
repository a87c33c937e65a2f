// The data path: what Go calls to send, to receive and to drive the rails.
#include "internal.h"

static ssize_t sendv(struct gx_rail *rail, size_t count, uint64_t dest, uint64_t tag,
		     uint64_t data, uint64_t flags, struct gx_tx *tx)
{
	struct fi_msg_tagged msg = {
		.msg_iov = rail->core->iov,
		.iov_count = count,
		.addr = dest,
		.tag = tag,
		.context = &tx->hdr,
		.data = data,
	};

	return fi_tsendmsg(rail->ep, &msg, flags | FI_COMPLETION);
}

ssize_t gx_sendv(uintptr_t rail, size_t count, uint64_t dest, uint64_t tag,
		 uint64_t data, uint64_t flags, uintptr_t tx)
{
	return sendv((struct gx_rail *) rail, count, dest, tag, data, flags, (struct gx_tx *) tx);
}

ssize_t gx_send(uintptr_t to, uintptr_t base, size_t len, uint64_t dest,
		uint64_t tag, uint64_t data, uint64_t flags, uintptr_t slot)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_tx *tx = (struct gx_tx *) slot;
	void *buf = (void *) base;

	if (!flags)
		return fi_tsend(rail->ep, buf, len, NULL, dest, tag, &tx->hdr);
	rail->core->iov[0].iov_base = buf;
	rail->core->iov[0].iov_len = len;
	return sendv(rail, 1, dest, tag, data, flags, tx);
}

ssize_t gx_inject(uintptr_t to, uintptr_t base, size_t len, uint64_t dest,
		  uint64_t tag, uint64_t data, bool with_data)
{
	struct fid_ep *ep = ((struct gx_rail *) to)->ep;

	if (with_data)
		return fi_tinjectdata(ep, (void *) base, len, data, dest, tag);
	return fi_tinject(ep, (void *) base, len, dest, tag);
}

// Sends staged messages until one is refused, and answers how many were taken.
uint32_t gx_send_staged(uintptr_t to, uint32_t n)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_core *core = rail->core;
	struct gx_staged *m = core->staged;
	uint32_t i;

	core->refused = 0;
	for (i = 0; i < n; i++, m++) {
		core->refused = m->tx ? gx_send(to, m->buf, m->len, m->dest, m->tag, m->data, m->flags, m->tx) :
			gx_inject(to, m->buf, m->len, m->dest, m->tag, m->data, m->flags & FI_REMOTE_CQ_DATA);
		if (core->refused)
			break;
	}
	return i;
}

// Gives an unexpected message memory of its own, which stays until gx_unfetch.
int gx_fetch(uintptr_t slot)
{
	struct gx_rx *rx = (struct gx_rx *) slot;
	size_t size = rx->entry.msg_size;
	int ret;

	if (!gx_new_spill(rx, size))
		return -FI_ENOMEM;
	rx->fetched = true;
	rx->iov[0].iov_base = rx->spill;
	rx->iov[0].iov_len = size;
	rx->desc[0] = NULL;
	rx->entry.count = 1;
	rx->posted = size;
	ret = gx_start(slot);
	if (ret) {
		gx_unfetch(slot);
		rx->hdr.state |= GX_UNEXPECTED;
	}
	return ret;
}

void gx_unfetch(uintptr_t slot)
{
	struct gx_rx *rx = (struct gx_rx *) slot;

	gx_drop_spill(rx);
	rx->fetched = false;
}

// Gives an unexpected message its buffers; they stand in rx->iov.
int gx_start(uintptr_t slot)
{
	struct gx_rx *rx = (struct gx_rx *) slot;
	struct gx_rail *rail = gx_rail_of(rx);
	int ret;

	rx->hdr.state &= (uint8_t) ~GX_UNEXPECTED;
	ret = gx_fit(rx, rail, rx->entry.msg_size);
	if (ret)
		return ret;
	if (rx->entry.flags & FI_MSG)
		return rail->peer_srx.peer_ops->start_msg(&rx->entry);
	return rail->peer_srx.peer_ops->start_tag(&rx->entry);
}

uint64_t gx_whose(struct gx_rail *rail, struct gx_rx *rx)
{
	if (rx->fetched) // the provider no longer has it; then it was known
		return rx->entry.addr;
	return rail->whose ? rail->whose(&rx->entry) : FI_ADDR_UNSPEC;
}
