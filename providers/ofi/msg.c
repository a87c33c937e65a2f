// The data path of untagged messages.
#include "internal.h"

static ssize_t sendv(struct gx_rail *rail, size_t count, uint64_t dest,
		     uint64_t data, uint64_t flags, struct gx_tx *tx)
{
	struct fi_msg msg = {
		.msg_iov = rail->core->iov,
		.iov_count = count,
		.addr = dest,
		.context = &tx->hdr,
		.data = data,
	};

	return fi_sendmsg(rail->ep, &msg, flags | FI_COMPLETION);
}

ssize_t gx_sendv_msg(uintptr_t rail, size_t count, uint64_t dest, uint64_t data,
		     uint64_t flags, uintptr_t tx)
{
	return sendv((struct gx_rail *) rail, count, dest, data, flags, (struct gx_tx *) tx);
}

ssize_t gx_send_msg(uintptr_t to, uintptr_t base, size_t len, uint64_t dest,
		    uint64_t data, uint64_t flags, uintptr_t slot)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_tx *tx = (struct gx_tx *) slot;
	void *buf = (void *) base;

	if (!flags)
		return fi_send(rail->ep, buf, len, NULL, dest, &tx->hdr);
	rail->core->iov[0].iov_base = buf;
	rail->core->iov[0].iov_len = len;
	return sendv(rail, 1, dest, data, flags, tx);
}

ssize_t gx_probe(uintptr_t rail, uint64_t dest)
{
	static const char none;

	return fi_inject(((struct gx_rail *) rail)->ep, &none, 0, dest);
}
