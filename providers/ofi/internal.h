// What the C files share, and Go does not see.
#ifndef GOLNX_INTERNAL_H
#define GOLNX_INTERNAL_H

#include "shim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define gx_container(ptr, type, member) ((type *) ((char *) (ptr) - offsetof(type, member)))

static inline struct gx_rx *gx_rx_of(struct fi_peer_rx_entry *entry)
{
	return gx_container(entry, struct gx_rx, entry);
}

static inline struct gx_rail *gx_rail_of(struct gx_rx *rx)
{
	return gx_container(rx->entry.srx, struct gx_rail, peer_srx);
}

static inline struct gx_rx *gx_rx_at(struct gx_core *core, uint32_t slot)
{
	return &core->rx[slot / GX_CHUNK][slot % GX_CHUNK];
}

// The owner's sides of fi_peer(3), for every rail.
extern struct fi_ops_cq_owner gx_cq_owner_ops;
extern struct fi_ops_srx_owner gx_srx_owner_ops;

// Completes an operation as failed, as a provider would.
ssize_t gx_cq_writeerr(struct fid_peer_cq *cq, const struct fi_cq_err_entry *err);

// Makes room for a message that is longer than the buffers of its receive.
int gx_fit(struct gx_rx *rx, struct gx_rail *rail, uint64_t size);
bool gx_new_spill(struct gx_rx *rx, uint64_t size);
void gx_drop_spill(struct gx_rx *rx);

#endif
