/*
 * reg: how long it takes to register memory that was registered before, and to let go of
 * it: what a program without a cache pays for each operation whose provider wants that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbench.h"

#define RANGES 1024

static void some(unsigned char *memory, size_t size, uint64_t n, uint32_t *next)
{
	while (n--) {
		*next = *next * 1664525 + 1013904223;
		reregister(memory + (size_t)(*next >> 22) * size, size);
	}
}

void run_reg(const struct params *p)
{
	unsigned char *memory = new_memory(RANGES * p->size);
	uint32_t next = 1;
	uint64_t began, took;

	if (!memory)
		die("out of memory");
	memset(memory, 0x5a, RANGES * p->size); /* so that it has pages */
	ready();
	if (!end.leads) {
		free(memory);
		return;
	}
	some(memory, p->size, p->warmup, &next);
	began = now_ns();
	some(memory, p->size, p->iters, &next);
	took = now_ns() - began;
	report_begin(p);
	printf("\"reg_ns\":%.2f", (double)took / (double)p->iters);
	report_end(0, 0, 0);
	free(memory);
}
