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

static bool taken(void *context, uint64_t flags, int err);

static void completed(struct gx_rail *rail, struct fi_cq_tagged_entry *e, fi_addr_t src)
{
	struct gx_core *core = rail->core;
	uint64_t before = core->tail;
	struct gx_rx *rx = e->op_context;

	if (taken(e->op_context, e->flags, 0))
		return;
	(void) gx_cq_owner_ops.write(&rail->peer_cq, e->op_context, e->flags, e->len,
				     e->buf, e->data, e->tag, src);
	if (core->tail == before || last(core)->kind != GX_RX)
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
	if (taken(err.op_context, err.flags, err.err))
		return true;
	(void) gx_cq_writeerr(&rail->peer_cq, &err);
	rx = err.op_context;
	if (core->tail == before || last(core)->kind != GX_RX)
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

// Completes what gx_take waits for, and answers false for all else.
static bool taken(void *context, uint64_t flags, int err)
{
	struct gx_taken *one = context;

	if (!one || !(flags & FI_RECV) || one->hdr.kind != GX_TAKEN)
		return false;
	one->done = true;
	one->err = err;
	return true;
}

// Waits for the answer to a peek. No step goes beyond it, so that nothing new is
// unexpected then.
static int answer(struct gx_rail *rail, struct gx_taken *one)
{
	struct fi_cq_tagged_entry e;
	fi_addr_t src;
	ssize_t n;
	int i;

	for (i = 0; i < 1 << 16 && !one->done; i++) {
		n = fi_cq_readfrom(rail->cq, &e, 1, &src);
		if (n == 1)
			completed(rail, &e, src);
		else if (n == -FI_EAVAIL)
			(void) failed(rail);
	}
	return one->done ? one->err : FI_EAGAIN;
}

static struct gx_taken *take(struct gx_rail *rail)
{
	struct gx_taken *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	one->hdr.kind = GX_TAKEN;
	one->next = rail->taken;
	rail->taken = one;
	return one;
}

// Receives one tagged message into the sink, and answers whether there was one. It is
// claimed first: a receive would wait for one to come.
static bool take_tagged(struct gx_rail *rail, uint64_t src)
{
	struct iovec sink = { .iov_base = rail->sink, .iov_len = rail->sink_len };
	struct gx_taken *one = take(rail);
	struct fi_msg_tagged msg = {
		.msg_iov = &sink,
		.addr = src,
		.ignore = ~0ULL,
		.context = one,
	};

	if (!one || fi_trecvmsg(rail->ep, &msg, FI_PEEK | FI_CLAIM | FI_COMPLETION) || answer(rail, one))
		return false;
	msg.iov_count = 1;
	return !fi_trecvmsg(rail->ep, &msg, FI_CLAIM | FI_COMPLETION);
}

// The same of an untagged one, which a peer that is not in direct mode has sent. There is
// no claim of those: the receive is canceled if no message has met it. It is from anybody,
// since util_srx 2.1 takes others for receives of another SRX then.
static bool take_msg(struct gx_rail *rail)
{
	struct gx_taken *one = take(rail);

	if (!one || fi_recv(rail->ep, rail->sink, rail->sink_len, NULL, FI_ADDR_UNSPEC, one))
		return false;
	(void) fi_cancel(&rail->ep->fid, one);
	return answer(rail, one) != FI_ECANCELED;
}

// Receives into the sink what nobody has asked for: the tagged messages of one peer or
// all, and all untagged ones. What cannot be received at once the provider has in hand
// then, with a context that stays until the rail is closed.
void gx_take(struct gx_rail *rail, uint64_t src)
{
	while (take_tagged(rail, src))
		;
	while (take_msg(rail))
		;
}

void gx_taken_free(struct gx_rail *rail)
{
	struct gx_taken *one;

	while ((one = rail->taken)) {
		rail->taken = one->next;
		free(one);
	}
}
