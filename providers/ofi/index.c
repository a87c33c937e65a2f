// The posted receives behind the lane, found by what they compare: a message costs the
// same whether ten of them are posted or a million. Nothing of it calls back into Go.
//
// Receives that compare the same bits are a class. Those of a class with an equal key,
// of tag bits and source, are a queue in age order, of which the table holds the oldest.
// A message looks for one key in each class, and takes the oldest of what it finds.
// Receives of a mask for which there is no class any more are a list, searched from the
// oldest.
//
// Links are slots + 1; 0 is none. A key's queue is a ring one way, so that its oldest
// leads to its newest: see gx_keyed.
#include "internal.h"

#define GX_REST 0xff      // class of those in the list
#define GX_BUCKETS_MIN 64
#define GX_SPARSE 4       // buckets for each key: a message should meet no other's

// The table grows by linear hashing: each new key splits some buckets, so that no post
// waits for all others to be hashed anew. Its memory is reserved for all slots there
// can be, and touched from the start on, as it grows.
int gx_index_open(struct gx_core *core)
{
	struct gx_index *x = &core->index;
	uint64_t most = (uint64_t) core->max_rx_chunks * GX_CHUNK * GX_SPARSE;

	x->mask = GX_BUCKETS_MIN - 1;
	x->room = GX_BUCKETS_MIN;
	while (x->room < most && x->room < 1u << 31)
		x->room *= 2;
	x->buckets = mmap(NULL, x->room * sizeof(*x->buckets), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->buckets == MAP_FAILED)
		x->buckets = NULL;
	x->entries = calloc(core->max_rx_chunks, sizeof(*x->entries));
	return x->buckets && x->entries ? 0 : -FI_ENOMEM;
}

// Makes the entry of a slot.
int gx_index_grow(struct gx_core *core, uint32_t slot)
{
	struct gx_keyed *chunk = aligned_alloc(64, GX_CHUNK * sizeof(*chunk));

	if (!chunk)
		return -FI_ENOMEM;
	memset(chunk, 0, GX_CHUNK * sizeof(*chunk));
	core->index.entries[slot / GX_CHUNK] = chunk;
	return 0;
}

void gx_index_close(struct gx_core *core)
{
	struct gx_index *x = &core->index;
	uint32_t i;

	if (x->buckets)
		munmap(x->buckets, x->room * sizeof(*x->buckets));
	for (i = 0; x->entries && i < core->max_rx_chunks; i++)
		free(x->entries[i]);
	free(x->entries);
}

static struct gx_keyed *at(struct gx_core *core, uint32_t link)
{
	return &core->index.entries[(link - 1) / GX_CHUNK][(link - 1) % GX_CHUNK];
}

// The seed, which nobody else knows, keeps peers from choosing tags that collide.
static uint32_t hash_of(const struct gx_index *x, uint32_t class, uint64_t tag, uint64_t src)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide) (tag ^ x->seed[0]) * (src ^ x->seed[1]);
	uint64_t h = ((uint64_t) (product >> 64) ^ (uint64_t) product ^ x->seed[0]) + class;

	h *= 0x9fb21c651e98df25;
	return (uint32_t) (h >> 32 ^ h);
}

static uint32_t *bucket_of(struct gx_index *x, uint32_t hash)
{
	uint32_t i = hash & x->mask;

	if (i < x->split)
		i = hash & (2 * x->mask + 1);
	return &x->buckets[i];
}

// The oldest receive of a key, and the link that leads to it: where it would be, if
// there is none.
static uint32_t find(struct gx_core *core, uint32_t hash, uint8_t class, uint64_t tag,
		     uint64_t src, uint32_t **from)
{
	uint32_t *link = bucket_of(&core->index, hash);

	while (*link) {
		struct gx_keyed *k = at(core, *link);

		if (k->hash == hash && k->class == class && k->tag == tag && k->src == src)
			break;
		link = &k->chain;
	}
	*from = link;
	return *link;
}

static uint64_t buckets(const struct gx_index *x)
{
	return (uint64_t) x->mask + 1 + x->split;
}

static void split(struct gx_core *core)
{
	struct gx_index *x = &core->index;
	uint32_t *low = &x->buckets[x->split], *high = low + x->mask + 1;

	*high = 0;
	while (*low) {
		struct gx_keyed *k = at(core, *low);

		if (k->hash & (x->mask + 1)) {
			uint32_t link = *low;

			*low = k->chain;
			k->chain = *high;
			*high = link;
		} else {
			low = &k->chain;
		}
	}
	if (x->split++ == x->mask) {
		x->mask = 2 * x->mask + 1;
		x->split = 0;
	}
}

static uint8_t class_of(struct gx_index *x, uint64_t keep, bool directed)
{
	uint32_t i, unused = GX_REST;

	for (i = 0; i < x->nclasses; i++) {
		struct gx_class *c = &x->classes[i];

		if (!c->count)
			unused = i;
		else if (c->keep == keep && c->directed == directed)
			return (uint8_t) i;
	}
	if (unused == GX_REST) {
		if (x->nclasses == GX_CLASSES)
			return GX_REST;
		unused = x->nclasses++;
	}
	x->classes[unused].keep = keep;
	x->classes[unused].directed = directed;
	x->classes[unused].born = x->seq;
	return (uint8_t) unused;
}

static void join_rest(struct gx_core *core, uint32_t link, struct gx_keyed *k)
{
	struct gx_index *x = &core->index;

	k->next = 0;
	k->prev = x->rest_newest;
	*(k->prev ? &at(core, k->prev)->next : &x->rest_oldest) = link;
	x->rest_newest = link;
}

static void leave_rest(struct gx_core *core, struct gx_keyed *k)
{
	struct gx_index *x = &core->index;

	*(k->prev ? &at(core, k->prev)->next : &x->rest_oldest) = k->next;
	*(k->next ? &at(core, k->next)->prev : &x->rest_newest) = k->prev;
}

static void join_key(struct gx_core *core, uint32_t link, struct gx_keyed *k)
{
	struct gx_index *x = &core->index;
	struct gx_keyed *oldest;
	uint32_t *from, first;

	k->hash = hash_of(x, k->class, k->tag, k->src);
	k->next = 0;
	first = find(core, k->hash, k->class, k->tag, k->src, &from);
	if (first) {
		oldest = at(core, first);
		at(core, oldest->prev)->next = link;
		k->prev = oldest->prev;
		oldest->prev = link;
		return;
	}
	*from = link;
	k->chain = 0;
	k->prev = link;
	x->keys++;
	while (buckets(x) < x->room && buckets(x) < (uint64_t) x->keys * GX_SPARSE)
		split(core);
}

static void leave_key(struct gx_core *core, uint32_t link, struct gx_keyed *k)
{
	struct gx_index *x = &core->index;
	uint32_t *from;

	if (at(core, k->prev)->next) { // it is not its key's oldest
		at(core, k->prev)->next = k->next;
		if (k->next)
			at(core, k->next)->prev = k->prev;
		else
			at(core, find(core, k->hash, k->class, k->tag, k->src, &from))->prev = k->prev;
		return;
	}
	for (from = bucket_of(x, k->hash); *from != link; from = &at(core, *from)->chain)
		;
	if (k->next) {
		struct gx_keyed *next = at(core, k->next);

		next->prev = k->prev;
		next->chain = k->chain;
		*from = k->next;
	} else {
		*from = k->chain;
		x->keys--;
	}
}

void gx_index_post(struct gx_core *core, uint32_t slot, uint64_t src, uint64_t tag, uint64_t ignore)
{
	struct gx_index *x = &core->index;
	uint32_t link = slot + 1;
	struct gx_keyed *k = at(core, link);

	k->tag = tag & ~ignore;
	k->ignore = ignore;
	k->src = src;
	k->seq = ++x->seq;
	k->class = class_of(x, ~ignore, src != FI_ADDR_UNSPEC);
	k->older = x->newest;
	k->newer = 0;
	*(x->newest ? &at(core, x->newest)->newer : &x->oldest) = link;
	x->newest = link;
	x->count++;
	k->queued = true;
	if (k->class == GX_REST) {
		join_rest(core, link, k);
		return;
	}
	x->classes[k->class].count++;
	join_key(core, link, k);
}

static void take(struct gx_core *core, uint32_t link)
{
	struct gx_index *x = &core->index;
	struct gx_keyed *k = at(core, link);

	if (k->class == GX_REST) {
		leave_rest(core, k);
	} else {
		leave_key(core, link, k);
		x->classes[k->class].count--;
		while (x->nclasses && !x->classes[x->nclasses - 1].count)
			x->nclasses--;
	}
	*(k->older ? &at(core, k->older)->newer : &x->oldest) = k->newer;
	*(k->newer ? &at(core, k->newer)->older : &x->newest) = k->older;
	x->count--;
	k->queued = false;
}

bool gx_index_cancel(struct gx_core *core, uint32_t slot)
{
	if (slot >= core->max_rx_chunks * GX_CHUNK || !core->index.entries[slot / GX_CHUNK] || !at(core, slot + 1)->queued)
		return false;
	take(core, slot + 1);
	return true;
}

// Takes the oldest receive that a message matches out of the index. Answers its slot
// + 1, or 0.
uint32_t gx_index_match(struct gx_core *core, uint64_t src, uint64_t tag)
{
	struct gx_index *x = &core->index;
	uint64_t age = UINT64_MAX;
	uint32_t best = 0, link, i, *from;

	for (i = 0; i < x->nclasses; i++) {
		struct gx_class *c = &x->classes[i];
		uint64_t bits = tag & c->keep, who = c->directed ? src : FI_ADDR_UNSPEC;

		if (!c->count || c->born > age || (c->directed && src == FI_ADDR_UNSPEC))
			continue;
		link = find(core, hash_of(x, i, bits, who), (uint8_t) i, bits, who, &from);
		if (link && at(core, link)->seq < age) {
			best = link;
			age = at(core, link)->seq;
		}
	}
	for (link = x->rest_oldest; link; link = at(core, link)->next) {
		struct gx_keyed *k = at(core, link);

		if (k->seq > age)
			break;
		if (k->tag == (tag & ~k->ignore) && (k->src == FI_ADDR_UNSPEC || k->src == src)) {
			best = link;
			break;
		}
	}
	if (best)
		take(core, best);
	return best;
}
