/* One end of the test: an endpoint, its peer, and completions. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "cbench.h"

/* After how many empty reads the processor is offered to others, as lnx perf does. */
#define YIELD_EVERY 512

#define MAX_BLOB 4096

struct end end;
bool huge_pages;

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_mr *mr; /* of what is offered */
static struct remote {
	uint64_t len, base, key;
} far;
static int mr_mode;
static int channel; /* to the other end, for what is not measured */
static unsigned idle;

void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "cbench: %s: ", end.leads ? "leading end" : "following end");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	/* shm's handler for this signal removes the region in /dev/shm; exit would
	 * leave it there. */
	raise(SIGTERM);
	exit(1);
}

void check(long rc, const char *what)
{
	if (rc < 0)
		die("%s: %s (%ld)", what, fi_strerror((int)-rc), rc);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- operations ---- */

/* new_memory is malloc, or with --huge that of huge pages. */
void *new_memory(size_t size)
{
	const size_t huge = 2 << 20;
	void *memory;

	if (!huge_pages)
		return malloc(size);
	size = (size + huge - 1) / huge * huge;
	memory = aligned_alloc(huge, size);
	if (memory && madvise(memory, size, MADV_HUGEPAGE))
		die("madvise(MADV_HUGEPAGE): %s", strerror(errno));
	return memory;
}

/* new_ops makes operations with a buffer each. The buffers are written once, so that
 * no page of them is met for the first time while the clock runs. */
struct op *new_ops(uint64_t n, size_t size, enum role role)
{
	struct op *ops = calloc(n ? n : 1, sizeof(*ops));
	unsigned char *bufs = new_memory(n * size + 1);

	if (!ops || !bufs)
		die("no memory for %llu buffers of %zu bytes", (unsigned long long)n, size);
	memset(bufs, 0x5a, n * size + 1);
	ops[0].buf = bufs;
	for (uint64_t i = 0; i < n; i++) {
		ops[i].role = role;
		ops[i].buf = bufs + i * size;
	}
	return ops;
}

void free_ops(struct op *ops)
{
	free(ops[0].buf);
	free(ops);
}

/* rest is called when there was nothing to do. A test that hangs is ended by
 * SIGALRM. */
static void rest(void)
{
	if (++idle % YIELD_EVERY == 0)
		sched_yield();
}

/* drive makes progress and takes no completion. */
static void drive(void)
{
	ssize_t n = fi_cq_read(cq, NULL, 0);

	if (n < 0 && n != -FI_EAGAIN && n != -FI_EAVAIL)
		check(n, "fi_cq_read");
	rest();
}

static bool has_tag(const struct op *op)
{
	return !end.untagged || (op->role != ROLE_SEND && op->role != ROLE_RECV);
}

void post(struct op *op, size_t size, fi_addr_t from, uint64_t tag, uint64_t ignore)
{
	bool tagged = has_tag(op);
	ssize_t rc;

	op->busy = true;
	while ((rc = tagged ? fi_trecv(ep, op->buf, size, NULL, from, tag, ignore, op) :
			      fi_recv(ep, op->buf, size, NULL, from, op)) == -FI_EAGAIN)
		drive();
	check(rc, tagged ? "fi_trecv" : "fi_recv");
}

void send_to_peer(struct op *op, size_t size, uint64_t tag)
{
	bool tagged = has_tag(op);
	ssize_t rc;

	op->busy = true;
	while ((rc = tagged ? fi_tsend(ep, op->buf, size, NULL, end.peer, tag, op) :
			      fi_send(ep, op->buf, size, NULL, end.peer, op)) == -FI_EAGAIN)
		drive();
	check(rc, tagged ? "fi_tsend" : "fi_send");
	end.sent++;
}

static ssize_t remote(struct op *op, enum kind_of_op kind, size_t size, uint64_t addr)
{
	static const uint64_t one = 1;

	switch (kind) {
	case OP_WRITE:
		return fi_write(ep, op->buf, size, NULL, end.peer, addr, far.key, op);
	case OP_FADD:
		return fi_fetch_atomic(ep, &one, 1, NULL, op->buf, NULL, end.peer, addr, far.key, FI_UINT64, FI_SUM, op);
	default:
		return fi_read(ep, op->buf, size, NULL, end.peer, addr, far.key, op);
	}
}

void start_remote(struct op *op, enum kind_of_op kind, size_t size, uint64_t offset)
{
	ssize_t rc;

	op->busy = true;
	while ((rc = remote(op, kind, size, far.base + offset)) == -FI_EAGAIN)
		drive();
	check(rc, op_names[kind]);
	end.started++;
}

static void failed(void)
{
	struct fi_cq_err_entry err = {0};

	check(fi_cq_readerr(cq, &err, 0), "fi_cq_readerr");
	die("operation failed: %s (%d), provider's number %d, length %zu, too long by %zu", fi_strerror(err.err), err.err,
	    err.prov_errno, err.len, err.olen);
}

static size_t take(ssize_t n, const struct fi_cq_tagged_entry *entries)
{
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		failed();
	check(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		struct op *op = entries[i].op_context;

		op->busy = false;
		op->len = entries[i].len;
		end.received += op->role == ROLE_RECV || op->role == ROLE_ACK_RECV;
		end.done[i] = op;
	}
	idle = 0;
	return (size_t)n;
}

size_t read_done(void)
{
	struct fi_cq_tagged_entry entries[MAX_DONE];
	ssize_t n = fi_cq_read(cq, entries, MAX_DONE);

	if (n == -FI_EAGAIN)
		rest();
	return take(n, entries);
}

size_t wait_done(int ms)
{
	struct fi_cq_tagged_entry entries[MAX_DONE];

	return take(fi_cq_sread(cq, entries, MAX_DONE, NULL, ms), entries);
}

size_t poll_done(void)
{
	size_t n;

	while (!(n = read_done()))
		;
	return n;
}

void settle(struct op *op)
{
	while (op->busy)
		poll_done();
}

/* ---- the other end ---- */

/* tell and hear move bytes over the channel; hear drives the rails meanwhile,
 * because the other end may still need that. */
static void tell(const void *bytes, size_t n)
{
	if (send(channel, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		die("the other end is gone: %s", strerror(errno));
}

static void hear(void *bytes, size_t n)
{
	ssize_t got;

	while ((got = recv(channel, bytes, n, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		drive();
	if (got != (ssize_t)n)
		die("the other end is gone: %s", got < 0 ? strerror(errno) : "it ended");
}

void ready(void)
{
	char byte = 'r';

	if (end.leads)
		hear(&byte, 1);
	else
		tell(&byte, 1);
}

void part(void)
{
	char byte = 'p';

	if (end.leads)
		tell(&byte, 1);
	else
		hear(&byte, 1);
}

void offer(void *memory, size_t len)
{
	struct remote mine = {.len = len};

	check(fi_mr_reg(domain, memory, len, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL), "fi_mr_reg");
	mine.base = mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)memory : 0;
	mine.key = fi_mr_key(mr);
	tell(&mine, sizeof(mine));
	hear(&far, sizeof(far));
	if (far.len != len)
		die("the other end offers %llu bytes of memory, want %zu", (unsigned long long)far.len, len);
}

void reregister(void *memory, size_t len)
{
	check(fi_mr_reg(domain, memory, len, FI_READ | FI_WRITE, 0, 1, 0, &mr, NULL), "fi_mr_reg");
	check(fi_close(&mr->fid), "fi_close MR");
}

void withdraw(void)
{
	check(fi_close(&mr->fid), "fi_close MR");
}

static void meet(void)
{
	unsigned char blob[MAX_BLOB] = {0};
	size_t len = 0;

	/* On success C LNX leaves the length as it was, so ask for it first. */
	if (fi_getname(&ep->fid, NULL, &len) != -FI_ETOOSMALL || len > sizeof(blob))
		die("fi_getname wants %zu bytes for the address, want at most %zu", len, sizeof(blob));
	check(fi_getname(&ep->fid, blob, &len), "fi_getname");
	tell(blob, sizeof(blob));
	hear(blob, sizeof(blob));
	if (fi_av_insert(av, blob, 1, &end.peer, 0, NULL) != 1)
		die("fi_av_insert refused the other end's address");
}

/* ---- set-up ---- */

/* on_domain tells whether an info is of the network interface. A link of C LNX is
 * called shm+lo:ofi_lnx_domain. */
static bool on_domain(const struct fi_info *info, const char *provider, const char *wanted)
{
	char part[64];

	if (!wanted)
		return true;
	if (strcmp(provider, "lnx"))
		return !strcmp(info->domain_attr->name, wanted);
	snprintf(part, sizeof(part), "+%s:", wanted);
	return strstr(info->domain_attr->name, part);
}

static void open_endpoint(const char *provider, const char *wanted, enum kind_of_op op, bool waits)
{
	struct fi_info *hints = fi_allocinfo(), *list, *info;
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = 1};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .size = 65536,
				      .wait_obj = waits ? FI_WAIT_UNSPEC : FI_WAIT_NONE};

	if (!hints)
		die("fi_allocinfo: out of memory");
	/* Without FI_SOURCE and FI_DIRECTED_RECV tcp;ofi_rxm does not tell C LNX
	 * whose message it is, and no receive from a given peer would match. */
	hints->caps = FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV;
	if (op == OP_SEND)
		hints->caps |= FI_MSG;
	if (on_memory(op))
		hints->caps |= FI_RMA;
	if (op == OP_FADD)
		hints->caps |= FI_ATOMIC;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_HMEM;
	hints->fabric_attr->prov_name = strdup(provider);
	check(fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL, NULL, 0, hints, &list), "fi_getinfo");
	for (info = list; info && !on_domain(info, provider, wanted); info = info->next)
		;
	if (!info)
		die("provider %s has no domain %s", provider, wanted);
	mr_mode = info->domain_attr->mr_mode;
	check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	check(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	check(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	check(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	check(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind AV");
	check(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind CQ");
	check(fi_enable(ep), "fi_enable");
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

void open_end(const char *provider, const char *wanted, int socket, bool leads, enum kind_of_op op, bool waits)
{
	end.leads = leads;
	end.untagged = op == OP_SEND;
	channel = socket;
	open_endpoint(provider, wanted, op, waits);
	meet();
}

void close_end(void)
{
	check(fi_close(&ep->fid), "fi_close endpoint");
	check(fi_close(&cq->fid), "fi_close CQ");
	check(fi_close(&av->fid), "fi_close AV");
	check(fi_close(&domain->fid), "fi_close domain");
	check(fi_close(&fabric->fid), "fi_close fabric");
}
