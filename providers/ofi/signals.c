#include "signals.h"

#include <string.h>

static const int watched[GX_SIGNALS] = { SIGSEGV, SIGBUS, SIGTERM, SIGINT };

void gx_signals_save(struct gx_signals *saved)
{
	int i;

	for (i = 0; i < GX_SIGNALS; i++)
		saved->ok[i] = !sigaction(watched[i], NULL, &saved->action[i]);
}

int gx_signals_restore(const struct gx_signals *saved)
{
	struct sigaction now;
	int i, changed = 0;

	for (i = 0; i < GX_SIGNALS; i++) {
		if (!saved->ok[i] || sigaction(watched[i], NULL, &now))
			continue;
		if (now.sa_sigaction == saved->action[i].sa_sigaction)
			continue;
		(void) sigaction(watched[i], &saved->action[i], NULL);
		changed++;
	}
	return changed;
}
