// shm installs handlers for four signals at its first endpoint. They unlink the
// process's regions, so that a nil dereference that Go recovers from, or a
// handled SIGINT, makes the process unreachable for new local peers. Go's own
// actions are put back after the endpoint is open.
#ifndef GOLNX_SIGNALS_H
#define GOLNX_SIGNALS_H

#include <signal.h>

#define GX_SIGNALS 4

struct gx_signals {
	struct sigaction action[GX_SIGNALS];
	int ok[GX_SIGNALS];
};

void gx_signals_save(struct gx_signals *saved);
int gx_signals_restore(const struct gx_signals *saved);

#endif
