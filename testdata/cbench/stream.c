/*
 * rate and bw: messages in one direction, or in both at once. A receiver has as many
 * receives posted as the window has places, and says with an empty message when half
 * of it has arrived; a sender has at most the window's messages unacknowledged. So
 * every message meets a posted receive, and a sender waits only for a slow receiver.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbench.h"

static const struct params *p;
static uint64_t total;

/* source sends. */
static struct {
	bool on;
	uint64_t tag, ack_tag;
	struct op *out, *acks; /* window, 2 */
	struct op **free;      /* of out */
	uint64_t room, nfree;
	uint64_t posted;  /* receives of acknowledgements */
	uint64_t covered; /* messages that those cover */
	uint64_t sent, acked;
} source;

/* sink receives. */
static struct {
	bool on;
	uint64_t tag, ack_tag;
	struct op *in, *acks; /* window, 2 */
	uint64_t posted, got;
	uint64_t acked, nacks; /* messages, acknowledgements */
} sink;

/* next_ack answers how many messages are covered by the acknowledgement that follows
 * the one of the first n. The last of the warm-up and of the run have one. */
static uint64_t next_ack(uint64_t n)
{
	uint64_t every = p->window / 2 ? p->window / 2 : 1;
	uint64_t next = (n / every + 1) * every;

	if (n < p->warmup && next > p->warmup)
		next = p->warmup;
	return next < total ? next : total;
}

static void post_ack(struct op *op)
{
	if (source.covered == total)
		return;
	source.covered = next_ack(source.covered);
	post(op, 0, end.peer, source.ack_tag | source.posted++, 0);
}

/* send_ack answers false when two are under way still. */
static bool send_ack(void)
{
	struct op *op = &sink.acks[sink.nacks % 2];

	if (op->busy)
		return false;
	send_to_peer(op, 0, sink.ack_tag | sink.nacks++);
	sink.acked = next_ack(sink.acked);
	return true;
}

static void begin(void)
{
	source.on = end.leads || p->both;
	sink.on = !end.leads || p->both;
	source.room = p->window < total ? p->window : total;
	if (sink.on) {
		sink.in = new_ops(source.room, p->size, ROLE_RECV);
		sink.acks = new_ops(2, 0, ROLE_ACK_SEND);
		for (sink.posted = 0; sink.posted < source.room; sink.posted++)
			post(&sink.in[sink.posted], p->size, end.peer, sink.tag, TAG_NUMBER);
	}
	if (source.on) {
		source.out = new_ops(source.room, p->size, ROLE_SEND);
		source.acks = new_ops(2, 0, ROLE_ACK_RECV);
		source.free = calloc(source.room, sizeof(struct op *));
		if (!source.free)
			die("out of memory");
		for (uint64_t i = 0; i < source.room; i++)
			source.free[source.nfree++] = &source.out[i];
		post_ack(&source.acks[0]);
		post_ack(&source.acks[1]);
	}
}

static void finish(void)
{
	if (sink.on) {
		settle(&sink.acks[0]);
		settle(&sink.acks[1]);
		free_ops(sink.in);
		free_ops(sink.acks);
	}
	if (source.on) {
		free_ops(source.out);
		free_ops(source.acks);
		free(source.free);
	}
}

static void complete(struct op *op)
{
	switch (op->role) {
	case ROLE_SEND:
		source.free[source.nfree++] = op;
		break;
	case ROLE_ACK_RECV:
		source.acked = next_ack(source.acked);
		post_ack(op);
		break;
	case ROLE_RECV:
		if (op->len != p->size)
			die("a message has %zu bytes, %zu were sent", op->len, p->size);
		sink.got++;
		if (sink.posted < total) {
			sink.posted++;
			post(op, p->size, end.peer, sink.tag, TAG_NUMBER);
		}
		break;
	default:
		break;
	}
}

/* over tells whether the first n messages have gone and come. */
static bool over(uint64_t n)
{
	if (source.on && (source.acked < n || source.nfree < source.room))
		return false;
	return !sink.on || sink.acked >= n;
}

/* run goes on until the first n messages are over. */
static void run(uint64_t n)
{
	for (;;) {
		if (source.on)
			while (source.sent < n && source.sent - source.acked < p->window && source.nfree)
				send_to_peer(source.free[--source.nfree], p->size, source.tag | source.sent++);
		if (over(n))
			return;
		for (size_t i = 0, done = poll_done(); i < done; i++)
			complete(end.done[i]);
		while (sink.on && sink.acked < n && next_ack(sink.acked) <= sink.got && send_ack())
			;
	}
}

static void print_rate(uint64_t took)
{
	double messages = (double)p->iters * (p->both ? 2 : 1), seconds = (double)took / 1e9;

	if (!strcmp(p->test, "bw"))
		printf("\"bytes_per_s\":%.0f", messages * (double)p->size / seconds);
	else
		printf("\"msgs_per_s\":%.0f", messages / seconds);
}

void run_stream(const struct params *params)
{
	uint64_t sent, received, start, took;

	p = params;
	total = p->warmup + p->iters;
	memset(&source, 0, sizeof(source));
	memset(&sink, 0, sizeof(sink));
	source.tag = end.leads ? TAG_LEAD : TAG_FOLLOW;
	sink.tag = end.leads ? TAG_FOLLOW : TAG_LEAD;
	source.ack_tag = sink.tag | TAG_ACK;
	sink.ack_tag = source.tag | TAG_ACK;
	begin();
	ready();
	run(p->warmup);
	sent = end.sent, received = end.received;
	start = now_ns();
	run(total);
	took = now_ns() - start;
	if (end.leads) {
		report_begin(p);
		print_rate(took);
		report_end(end.sent - sent, end.received - received, 0);
	}
	finish();
}
