/*
 * lat, rate and bw with reads, writes or fetching additions. Each end gives the other one memory for a window
 * of operations. rate and bw keep a window under way, each from its call to its
 * completion; lat of all but writes has one at a time; lat of write goes there and back, each end
 * waiting for the last byte in its memory, as fi_rma_pingpong does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbench.h"

static struct {
	const struct params *p;
	bool write, acts;
	bool one_place; /* has all operations */
	uint64_t places, total;
	volatile unsigned char *memory;
	struct op *out, **free;        /* places */
	struct op *said, *heard;       /* one of each */
	uint64_t nfree, started, met;
} r;

/* meet returns when the other end has come as far. */
static void meet(void)
{
	uint64_t mine = end.leads ? TAG_LEAD : TAG_FOLLOW, theirs = end.leads ? TAG_FOLLOW : TAG_LEAD;

	post(r.heard, 0, end.peer, theirs | TAG_ACK | r.met, 0);
	send_to_peer(r.said, 0, mine | TAG_ACK | r.met);
	r.met++;
	settle(r.heard);
	settle(r.said);
}

static void begin(const struct params *p)
{
	size_t len;

	memset(&r, 0, sizeof(r));
	r.p = p;
	r.write = p->op == OP_WRITE;
	r.one_place = p->op == OP_FADD;
	r.acts = end.leads || p->both;
	r.total = p->warmup + p->iters;
	r.places = p->window ? p->window : 1;
	if (r.places > r.total)
		r.places = r.total;
	len = r.places * p->size;
	r.memory = new_memory(len);
	r.free = calloc(r.places, sizeof(struct op *));
	if (!r.memory || !r.free)
		die("out of memory");
	memset((void *)r.memory, 0x5a, len); /* so that it has pages */
	r.memory[len - 1] = 0;
	r.out = new_ops(r.places, p->size, ROLE_RMA);
	for (uint64_t i = 0; i < r.places; i++)
		r.free[r.nfree++] = &r.out[i];
	r.said = new_ops(1, 0, ROLE_ACK_SEND);
	r.heard = new_ops(1, 0, ROLE_ACK_RECV);
	ready();
	offer((void *)r.memory, len);
}

static void finish(void)
{
	meet();
	withdraw();
	free_ops(r.out);
	free_ops(r.said);
	free_ops(r.heard);
	free(r.free);
	free((void *)r.memory);
}

static void start(void)
{
	uint64_t place = r.one_place ? 0 : r.started % r.places;

	start_remote(r.free[--r.nfree], r.p->op, r.p->size, place * r.p->size);
	r.started++;
}

static void listen(void)
{
	for (size_t i = 0, n = read_done(); i < n; i++)
		r.free[r.nfree++] = end.done[i];
}

/* burst keeps a window of operations under way until the first n are over. */
static void burst(uint64_t n)
{
	while (r.started < n || r.nfree < r.places) {
		while (r.started < n && r.nfree)
			start();
		listen();
	}
}

static void run_window(void)
{
	uint64_t sent, received, started, began, took;
	double ops = (double)r.p->iters * (r.p->both ? 2 : 1), seconds;

	if (r.acts)
		burst(r.p->warmup);
	sent = end.sent, received = end.received, started = end.started;
	began = now_ns();
	if (r.acts)
		burst(r.total);
	sent = end.sent - sent, received = end.received - received, started = end.started - started;
	if (r.p->both)
		meet();
	took = now_ns() - began;
	if (!end.leads)
		return;
	seconds = (double)took / 1e9;
	report_begin(r.p);
	if (!strcmp(r.p->test, "bw"))
		printf("\"bytes_per_s\":%.0f", ops * (double)r.p->size / seconds);
	else
		printf("\"ops_per_s\":%.0f", ops / seconds);
	report_end(sent, received, started);
}

/* ---- lat ---- */

/* marker is the last byte of write n: not that of the one before, nor 0. */
static unsigned char marker(uint64_t n)
{
	return (unsigned char)(n % 255 + 1);
}

static void say(uint64_t n)
{
	if (r.write)
		r.free[r.nfree - 1]->buf[r.p->size - 1] = marker(n);
	start();
}

/* hear waits for the operation to end, and for the other end's write n. */
static void hear(uint64_t n)
{
	while (r.nfree < r.places || (r.write && r.memory[r.p->size - 1] != marker(n)))
		listen();
}

static uint64_t lead(uint64_t n, struct histogram *h)
{
	uint64_t first = r.started, began = now_ns(), last = began, now;

	for (uint64_t i = first; i < n; i++) {
		say(i);
		now = now_ns();
		if (i > first && h)
			record(h, now - last);
		last = now;
		hear(i);
	}
	now = now_ns();
	if (n > first && h)
		record(h, now - last);
	return now - began;
}

static void run_single(void)
{
	struct histogram *h;
	uint64_t sent, received, started, took;

	if (!end.leads) {
		for (uint64_t i = 0; i < r.total && r.write; i++) {
			hear(i);
			say(i);
		}
		while (r.nfree < r.places)
			listen();
		return;
	}
	lead(r.p->warmup, NULL);
	h = new_histogram();
	sent = end.sent, received = end.received, started = end.started;
	took = lead(r.total, h);
	report_begin(r.p);
	report_times(r.write ? "half_rtt_us" : "op_us", h, took, r.p->iters, r.write ? 2 : 1);
	report_end(end.sent - sent, end.received - received, end.started - started);
	free(h);
}

void run_remote(const struct params *p)
{
	begin(p);
	if (!strcmp(p->test, "lat"))
		run_single();
	else
		run_window();
	finish();
}
