// Rails whose provider matches messages itself: receives go to the provider, and
// what completes in its own CQ is copied into the ring.
#include "internal.h"

#define GX_REAP 16 // entries of one read of a CQ

int gx_sink_open(struct gx_rail *rail, uint64_t size)
{
	rail->sink_always = size > 0;
	rail->sink_len = size ? size : 4096;
	rail->sink = mmap(NULL, rail->sink_len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (rail->sink == MAP_FAILED) {
		rail->sink = NULL;
		return -FI_ENOMEM;
	}
	return 0;
}

void gx_sink_close(struct gx_rail *rail)
{
	if (rail->sink)
		munmap(rail->sink, rail->sink_len);
	rail->sink = NULL;
}

// Adds the sink behind the buffers of a receive where the provider needs that: all
// receives share it, since nobody reads it. A receive into nothing always gets it,
// for rxm 2.1 never completes one that meets a rendezvous.
static size_t add_sink(struct gx_rail *rail, struct gx_rx *rx)
{
	size_t count = rx->entry.count;

	rx->spill_len = 0;
	if (!rail->sink_always && rx->posted)
		return count;
	if (!rx->posted)
		count = 0;
	rx->spill_len = rail->sink_len;
	rx->iov[count].iov_base = rail->sink;
	rx->iov[count].iov_len = rail->sink_len;
	rx->desc[count] = NULL;
	return count + 1;
}

ssize_t gx_post(uintptr_t to, uintptr_t slot, uint64_t src, uint64_t tag,
		uint64_t ignore, uint64_t flags)
{
	struct gx_rail *rail = (struct gx_rail *) to;
	struct gx_rx *rx = (struct gx_rx *) slot;
	struct fi_msg_tagged msg = {
		.msg_iov = rx->iov,
		.desc = rx->desc,
		.addr = src,
		.tag = tag,
		.ignore = ignore,
		.context = &rx->hdr,
	};

	rx->rail = (uint8_t) rail->index;
	rx->hdr.state = 0;
	if (flags & FI_PEEK) {
		rx->posted = 0;
		rx->spill_len = 0;
		return fi_trecvmsg(rail->ep, &msg, flags | FI_COMPLETION);
	}
	msg.iov_count = add_sink(rail, rx);
	return fi_trecvmsg(rail->ep, &msg, flags | FI_COMPLETION);
}

ssize_t gx_cancel(uintptr_t rail, uintptr_t rx)
{
	return fi_cancel(&((struct gx_rail *) rail)->ep->fid, &((struct gx_rx *) rx)->hdr);
}

// Gives back what a message of some size left in the sink.
static void empty_sink(struct gx_rail *rail, uint64_t used)
{
	if (used)
		(void) madvise(rail->sink, used, MADV_DONTNEED);
}

// Makes a truncation of a completion that says so in another way than fi_cq(3): the
// buffers are full, and the rest of the message is what is over.
static void truncated(struct gx_rail *rail, struct gx_comp *comp, struct gx_rx *rx, uint64_t size)
{
	if (rail->sink_always)
		empty_sink(rail, size - rx->posted);
	comp->err = FI_ETRUNC;
	comp->len = rx->posted;
	comp->olen = size - rx->posted;
}

static struct gx_comp *last(struct gx_core *core)
{
	return &core->ring[(core->tail - 1) & core->mask];
}

static void completed(struct gx_rail *rail, struct fi_cq_tagged_entry *e, fi_addr_t src)
{
	struct gx_core *core = rail->core;
	uint64_t before = core->tail;
	struct gx_rx *rx = e->op_context;

	(void) gx_cq_owner_ops.write(&rail->peer_cq, e->op_context, e->flags, e->len,
				     e->buf, e->data, e->tag, src);
	if (core->tail == before || rx->hdr.kind != GX_RX)
		return;
	if (rx->spill_len && e->len > rx->posted)
		truncated(rail, last(core), rx, e->len);
}

static bool failed(struct gx_rail *rail)
{
	struct gx_core *core = rail->core;
	uint64_t before = core->tail;
	struct fi_cq_err_entry err = { 0 };
	struct gx_rx *rx;

	if (fi_cq_readerr(rail->cq, &err, 0) != 1)
		return false;
	if (!err.op_context)
		return true;
	(void) gx_cq_writeerr(&rail->peer_cq, &err);
	rx = err.op_context;
	if (core->tail == before || rx->hdr.kind != GX_RX)
		return true;
	if (err.err == FI_ETRUNC)
		truncated(rail, last(core), rx, rx->posted + rx->spill_len + err.olen);
	return true;
}

void gx_reap(struct gx_rail *rail)
{
	struct fi_cq_tagged_entry e[GX_REAP];
	fi_addr_t src[GX_REAP];
	ssize_t n, i;

	do {
		n = fi_cq_readfrom(rail->cq, e, GX_REAP, src);
		for (i = 0; i < n; i++)
			completed(rail, &e[i], src[i]);
		if (n == -FI_EAVAIL && failed(rail))
			n = GX_REAP;
	} while (n == GX_REAP);
}

// Waits for one operation while the rail is closed: others' completions are dropped.
static ssize_t end_of(struct gx_rail *rail, struct gx_hdr *hdr)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err;
	ssize_t n;
	int i;

	for (i = 0; i < 1 << 16; i++) {
		n = fi_cq_read(rail->cq, &e, 1);
		if (n == 1 && e.op_context == hdr)
			return 0;
		if (n == -FI_EAVAIL) {
			memset(&err, 0, sizeof(err));
			if (fi_cq_readerr(rail->cq, &err, 0) == 1 && err.op_context == hdr)
				return -err.err;
		}
	}
	return -FI_EAGAIN;
}

// Receives what nobody has asked for into the sink: shm 2.1 frees unexpected messages
// twice when its endpoint closes, and writes into the regions of their senders. What
// cannot be received at once the provider has in hand then, which it can close. It
// answers the contexts, for gx_taken once the endpoint is closed.
struct gx_taken *gx_take_unexpected(struct gx_rail *rail)
{
	struct iovec sink = { .iov_base = rail->sink, .iov_len = rail->sink_len };
	struct fi_msg_tagged msg = {
		.msg_iov = &sink,
		.addr = FI_ADDR_UNSPEC,
		.ignore = ~0ULL,
	};
	struct gx_taken *all = NULL, *one;

	for (;;) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return all;
		one->next = all;
		all = one;
		msg.context = &one->hdr;
		msg.iov_count = 0;
		if (fi_trecvmsg(rail->ep, &msg, FI_PEEK | FI_CLAIM | FI_COMPLETION) || end_of(rail, &one->hdr))
			return all;
		msg.iov_count = 1;
		if (fi_trecvmsg(rail->ep, &msg, FI_CLAIM | FI_COMPLETION))
			return all;
	}
}

void gx_taken(struct gx_taken *all)
{
	struct gx_taken *next;

	for (; all; all = next) {
		next = all->next;
		free(all);
	}
}
