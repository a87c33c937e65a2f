/*
 * idle: what an end costs that waits in fi_cq_sread, and how soon a message wakes it. How
 * it waits is the provider's choice (FI_WAIT_UNSPEC): shm looks again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cbench.h"

/* As lnx perf has them. */
#define POLLED 1000 /* round trips that wake nobody */
#define IDLE_MS 1000
#define IDLE_MS_EACH 10
#define PAUSE_MS 5 /* and up to 10 more */

static uint64_t cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u))
		die("getrusage failed");
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* pause_ms is idle for some time: nothing is under way. */
static void pause_ms(uint64_t ms)
{
	uint64_t now = now_ns(), over = now + ms * 1000000;

	for (; now < over; now = now_ns())
		if (wait_done((int)((over - now + 999999) / 1000000)))
			die("something completed when nothing was under way");
}

static double cpu_percent(uint64_t ms)
{
	uint64_t cpu = cpu_ns(), began = now_ns();

	pause_ms(ms);
	return 100 * (double)(cpu_ns() - cpu) / (double)(now_ns() - began);
}

static void measure(const struct params *p)
{
	struct histogram *polled = new_histogram(), *woken = new_histogram();
	uint64_t polls = p->warmup + POLLED, each = p->iters * IDLE_MS_EACH, took = 0, one, sent, received;
	double cpu;

	ping_lead(0, p->warmup, NULL);
	ping_lead(p->warmup, POLLED, polled);
	cpu = cpu_percent(each < IDLE_MS ? each : IDLE_MS);
	sent = end.sent, received = end.received;
	for (uint64_t i = 0; i < p->iters; i++) {
		pause_ms(PAUSE_MS + i * 7 % 11);
		one = ping_lead(polls + i, 1, woken);
		took += one;
	}
	report_begin(p);
	printf("\"idle\":{\"cpu_percent\":%.4f,", cpu);
	report_times("wakeup_us", woken, took, p->iters, 1);
	printf(",\"half_rtt_us\":%.4f}", (double)percentile(polled, 50) / 2000);
	report_end(end.sent - sent, end.received - received, 0);
	free(polled);
	free(woken);
}

void run_idle(const struct params *p)
{
	uint64_t polls = p->warmup + POLLED, total = polls + p->iters;

	ping_open(p, total);
	ready();
	if (end.leads)
		measure(p);
	for (uint64_t i = 0; i < total && !end.leads; i++)
		ping_answer(i, i >= polls);
	ping_close();
}
