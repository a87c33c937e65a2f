/* A histogram of times with three significant digits, in the manner of HDR
 * histograms: exact below 2048 ns, then 1024 buckets for each doubling. */
#include <stdlib.h>

#include "cbench.h"

#define EXACT_BITS 11
#define HALF (1 << (EXACT_BITS - 1))
#define MAX_BITS 37 /* more than 100 s counts as that */
#define BUCKETS ((MAX_BITS - EXACT_BITS + 2) * HALF)

struct histogram {
	uint64_t total, max;
	uint64_t counts[BUCKETS];
};

struct histogram *new_histogram(void)
{
	struct histogram *h = calloc(1, sizeof(*h));

	if (!h)
		die("no memory for a histogram");
	return h;
}

static unsigned shift_of(uint64_t ns)
{
	unsigned bits = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;

	return bits > EXACT_BITS ? bits - EXACT_BITS : 0;
}

void record(struct histogram *h, uint64_t ns)
{
	unsigned shift;

	if (ns >> MAX_BITS)
		ns = (1ULL << MAX_BITS) - 1;
	shift = shift_of(ns);
	h->counts[shift * HALF + (ns >> shift)]++;
	h->total++;
	if (ns > h->max)
		h->max = ns;
}

/* percentile answers the largest time of the bucket that has it. */
uint64_t percentile(const struct histogram *h, double percent)
{
	uint64_t want = (uint64_t)(percent / 100 * (double)h->total + 0.5), seen = 0;

	for (uint64_t i = 0; i < BUCKETS; i++) {
		unsigned shift = i < 2 * HALF ? 0 : (unsigned)(i / HALF - 1);
		uint64_t largest = ((i - shift * HALF + 1) << shift) - 1;

		seen += h->counts[i];
		if (seen && seen >= want)
			return largest < h->max ? largest : h->max;
	}
	return h->max;
}
