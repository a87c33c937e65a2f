// Slabs of operations, and the rails that share them.
#include "internal.h"
#include "option.h"

struct gx_core *gx_core_new(uint32_t id, uint32_t max_rx_chunks, uint32_t max_tx_chunks)
{
	struct gx_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->id = id;
	core->max_rx_chunks = max_rx_chunks;
	core->max_tx_chunks = max_tx_chunks;
	core->rx = calloc(max_rx_chunks, sizeof(*core->rx));
	core->tx = calloc(max_tx_chunks, sizeof(*core->tx));
	if (!core->rx || !core->tx || gx_grow_ring(core)) {
		gx_core_free(core);
		return NULL;
	}
	return core;
}

void gx_core_free(struct gx_core *core)
{
	uint32_t i, j;

	for (i = 0; core->rx && i < core->rx_chunks; i++) {
		for (j = 0; j < GX_CHUNK; j++)
			gx_drop_spill(&core->rx[i][j]);
		free(core->rx[i]);
	}
	for (i = 0; core->tx && i < core->tx_chunks; i++)
		free(core->tx[i]);
	free(core->rx);
	free(core->tx);
	free(core->ring);
	free(core);
}

// Adds a chunk of GX_CHUNK entries of a size, each of which begins with its header.
static int grow(void **chunks, uint32_t *n, uint32_t max, size_t size, enum gx_kind kind)
{
	char *chunk;
	uint32_t i;

	if (*n == max)
		return -FI_EAGAIN;
	chunk = aligned_alloc(64, GX_CHUNK * size);
	if (!chunk)
		return -FI_ENOMEM;
	memset(chunk, 0, GX_CHUNK * size);
	for (i = 0; i < GX_CHUNK; i++) {
		struct gx_hdr *hdr = (struct gx_hdr *) (chunk + i * size);

		hdr->kind = (uint8_t) kind;
		hdr->slot = *n * GX_CHUNK + i;
	}
	chunks[(*n)++] = chunk;
	return 0;
}

int gx_grow_rx(struct gx_core *core)
{
	return grow((void **) core->rx, &core->rx_chunks, core->max_rx_chunks, sizeof(struct gx_rx), GX_RX);
}

int gx_grow_tx(struct gx_core *core)
{
	return grow((void **) core->tx, &core->tx_chunks, core->max_tx_chunks, sizeof(struct gx_tx), GX_TX);
}

// Providers forward fi_cancel and close to the SRX's own operations.
static int no_close(struct fid *fid)
{
	(void) fid;
	return 0;
}

static ssize_t no_cancel(fid_t fid, void *context)
{
	(void) fid;
	(void) context;
	return -FI_ENOENT;
}

static struct fi_ops fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = no_close,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = no_cancel,
	.getopt = gx_srx_getopt,
	.setopt = gx_srx_setopt,
};

struct gx_rail *gx_rail_new(struct gx_core *core, uint32_t iov_limit)
{
	struct gx_rail *rail;

	if (core->nrails == GX_MAX_RAILS)
		return NULL;
	rail = calloc(1, sizeof(*rail));
	if (!rail)
		return NULL;
	rail->core = core;
	rail->index = core->nrails;
	rail->iov_limit = iov_limit;
	rail->peer_cq.fid.fclass = FI_CLASS_PEER_CQ;
	rail->peer_cq.fid.ops = &fid_ops;
	rail->peer_cq.owner_ops = &gx_cq_owner_ops;
	rail->peer_srx.ep_fid.fid.fclass = FI_CLASS_PEER_SRX;
	rail->peer_srx.ep_fid.fid.ops = &fid_ops;
	rail->peer_srx.ep_fid.ops = &ep_ops;
	rail->peer_srx.owner_ops = &gx_srx_owner_ops;
	core->rails[core->nrails++] = rail;
	return rail;
}

int gx_map_peer(struct gx_rail *rail, uint64_t addr, uint64_t peer)
{
	uint64_t n = rail->npeers, *peers;

	if (addr >= n) {
		if (addr >= UINT32_MAX)
			return -FI_EINVAL; // not an index of an FI_AV_TABLE
		n = addr + 64;
		peers = realloc(rail->peers, n * sizeof(*peers));
		if (!peers)
			return -FI_ENOMEM;
		memset(peers + rail->npeers, 0xff, (n - rail->npeers) * sizeof(*peers));
		rail->peers = peers;
		rail->npeers = n;
	}
	rail->peers[addr] = peer;
	return 0;
}

void gx_rail_free(struct gx_rail *rail)
{
	free(rail->peers);
	rail->core->rails[rail->index] = NULL;
	if (rail->index + 1 == rail->core->nrails)
		rail->core->nrails--;
	free(rail);
}
