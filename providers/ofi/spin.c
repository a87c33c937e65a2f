// Driving the rails, and waiting for what they bring.
#include "internal.h"

#include <time.h>

// What one round of gx_spin waits. A processor that looks again at once takes the line
// that the sender wants to write, and the means of its other half that shares a core
// with it: both make the message late.
#define GX_PAUSE_NS 80

static uint32_t pauses = 1;

static inline void pause_once(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}

// How many pauses make GX_PAUSE_NS: one takes 2 to 60 ns, by processor. The fastest of
// some tries is the one that nobody interrupted.
void gx_calibrate(void)
{
	enum { TRIES = 8, N = 256 };
	uint64_t best = UINT64_MAX, start, took;
	int try, i;

	for (try = 0; try < TRIES; try++) {
		start = now_ns();
		for (i = 0; i < N; i++)
			pause_once();
		took = now_ns() - start;
		if (took < best)
			best = took;
	}
	pauses = (uint32_t) ((GX_PAUSE_NS * N + best / 2) / (best ? best : 1));
	if (pauses < 1)
		pauses = 1;
	if (pauses > 64)
		pauses = 64;
}

static void rest(void)
{
	uint32_t i;

	for (i = 0; i < pauses; i++)
		pause_once();
}

static uint64_t progress(struct gx_core *core, uint64_t rails)
{
	while (rails) {
		(void) fi_cq_read(core->rails[__builtin_ctzll(rails)]->cq, NULL, 0);
		rails &= rails - 1;
	}
	return core->tail - core->head;
}

uint64_t gx_progress(uintptr_t core, uint64_t rails)
{
	return progress((struct gx_core *) core, rails);
}

// The hot rails, and now and then one of the others, in turn: so what idle rails cost
// does not grow with their number.
static uint64_t due(struct gx_core *core, uint64_t hot, uint64_t all)
{
	uint64_t cold = all & ~hot, later;
	int next;

	if (!cold || ++core->rounds % GX_COLD)
		return hot;
	later = cold & (UINT64_MAX << core->turn);
	next = __builtin_ctzll(later ? later : cold);
	core->turn = (uint32_t) (next + 1) % 64;
	return hot | 1ull << next;
}

uint64_t gx_spin(uintptr_t handle, uint64_t hot, uint64_t all, uint32_t spins)
{
	struct gx_core *core = (struct gx_core *) handle;
	uint64_t n;

	for (;;) {
		n = progress(core, due(core, hot, all));
		if (n || spins-- <= 1)
			return n;
		rest();
	}
}
