/*
 * lat and match: one message at a time, there and back. Two receives are posted
 * ahead, so that none is posted between a message and its answer.
 *
 * For match there are, at both ends, receives posted ahead of those that no message
 * of the measured part matches, or unexpected messages that no measured receive
 * matches. They are of the same kind as the measured ones, and end after them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cbench.h"

/* Numbers stand above the tag bits that KIND_TAG ignores. */
#define IGNORED 0xffULL
#define NUMBER_SHIFT 8

static struct {
	const struct params *p;
	uint64_t total, mine, theirs;
	fi_addr_t from;
	uint64_t ignore;
	struct op *out, *in; /* 1, 2 */
	struct op *decoys;
	uint64_t posted; /* receives */
	bool arrived;
} t;

static uint64_t number(uint64_t n)
{
	return n << NUMBER_SHIFT;
}

static void post_next(void)
{
	if (t.posted == t.total)
		return;
	post(&t.in[t.posted % 2], t.p->size, t.from, t.theirs | number(t.posted), t.ignore);
	t.posted++;
}

/* listen waits for completions, and notes the next message. */
static void listen(bool waits)
{
	size_t n = waits ? wait_done(1000) : poll_done();

	for (size_t i = 0; i < n; i++) {
		if (end.done[i]->role != ROLE_RECV)
			continue;
		if (end.done[i]->len != t.p->size)
			die("a message has %zu bytes, %zu were sent", end.done[i]->len, t.p->size);
		t.arrived = true;
	}
}

/* hear waits for the next message and for the end of the send before it. */
static void hear(bool waits)
{
	while (!t.arrived || t.out->busy)
		listen(waits);
	t.arrived = false;
}

static void say(uint64_t n)
{
	send_to_peer(t.out, t.p->size, t.mine | number(n));
}

/* Everything but the send happens while the message is under way. */
uint64_t ping_lead(uint64_t first, uint64_t n, struct histogram *h)
{
	uint64_t start = now_ns(), last = start, now;

	for (uint64_t i = first; i < first + n; i++) {
		say(i);
		now = now_ns();
		if (i > first) {
			if (h)
				record(h, now - last);
			post_next();
		}
		last = now;
		hear(false);
	}
	now = now_ns();
	if (n && h)
		record(h, now - last);
	if (n)
		post_next();
	return now - start;
}

void ping_answer(uint64_t n, bool waits)
{
	hear(waits);
	say(n);
	post_next();
}

/* ---- what does not match ---- */

static void post_decoys(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		post(&t.decoys[i], 0, t.from, t.theirs | TAG_DECOY | number(i), t.ignore);
}

static void send_decoys(uint64_t n)
{
	struct op *op = new_ops(1, 0, ROLE_DECOY);

	for (uint64_t i = 0; i < n; i++) {
		send_to_peer(op, 0, t.mine | TAG_DECOY | number(i));
		while (op->busy)
			listen(false); /* the first measured message may come already */
	}
	free_ops(op);
}

static void await_decoys(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		settle(&t.decoys[i]);
}

/* ---- the run ---- */

void ping_open(const struct params *p, uint64_t total)
{
	t.p = p;
	t.total = total;
	t.mine = end.leads ? TAG_LEAD : TAG_FOLLOW;
	t.theirs = end.leads ? TAG_FOLLOW : TAG_LEAD;
	t.from = p->kind == KIND_SOURCE ? FI_ADDR_UNSPEC : end.peer;
	t.ignore = p->kind == KIND_TAG ? IGNORED : 0;
	t.out = new_ops(1, p->size, ROLE_SEND);
	t.in = new_ops(2, p->size, ROLE_RECV);
	t.decoys = new_ops(p->posted + p->unexpected, 0, ROLE_DECOY);
	t.posted = 0;
	post_decoys(p->posted);
	post_next();
	post_next();
}

void ping_close(void)
{
	settle(t.out);
	post_decoys(t.p->unexpected);
	send_decoys(t.p->posted);
	await_decoys(t.p->posted + t.p->unexpected);
	free_ops(t.out);
	free_ops(t.in);
	free_ops(t.decoys);
}

static void measure(void)
{
	struct histogram *h = new_histogram();
	uint64_t sent, received, took;

	ping_lead(0, t.total - t.p->iters, NULL);
	sent = end.sent, received = end.received;
	took = ping_lead(t.total - t.p->iters, t.p->iters, h);
	report_begin(t.p);
	report_times("half_rtt_us", h, took, t.p->iters, 2);
	report_end(end.sent - sent, end.received - received, 0);
	free(h);
}

void run_lat(const struct params *p)
{
	/* One more round trip tells that all unexpected messages have arrived. */
	ping_open(p, (p->unexpected ? 1 : 0) + p->warmup + p->iters);
	ready();
	send_decoys(p->unexpected);
	if (end.leads)
		measure();
	for (uint64_t i = 0; i < t.total && !end.leads; i++)
		ping_answer(i, false);
	ping_close();
}
