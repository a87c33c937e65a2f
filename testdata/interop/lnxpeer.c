/*
 * lnxpeer: one endpoint of libfabric's own provider `lnx`, for the tests of
 * package lnx to talk to (lnx/lnxpeer_test.go builds and starts it).
 *
 *   gcc -Wall -Wextra -O2 lnxpeer.c -o lnxpeer $(pkg-config --cflags --libs libfabric)
 *   FI_LNX_PROV_LINKS=shm+tcp ./lnxpeer DOMAIN SECONDS
 *
 * DOMAIN (lo, eth0) is the network interface of the link; no step may take longer
 * than SECONDS. C LNX of libfabric 2.1 links two providers or more, so there is no
 * link of tcp alone: messages go over tcp to a peer whose address has no shm or
 * another host name.
 *
 * One line at a time over standard output and input, the program first:
 *   out  addr HEX          what fi_getname answers
 *   in   HEX               the peer's address blob
 *   out  ready             the peer is in the AV
 *   in   ROLE COUNT SIZE WINDOW TAG
 *   out  a line of JSON    messages sent and received, bytes verified, windows
 *   …                      more phases, until standard input ends
 * Roles, for COUNT messages that are numbered from 0:
 *   ping  send a message, wait for it to come back, and so on
 *   pong  wait for a message and send it back
 *   send  send WINDOW messages at once, then wait for an acknowledgement
 *   recv  receive WINDOW messages, then acknowledge
 * SIZE is in bytes, 0 for sizes that change from message to message. Contents and
 * length follow from tag and number; the receiver verifies every byte.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define MAX_WINDOW 64
#define MAX_SIZE 65536
#define ACK_BIT (1ULL << 63)

/* op is a send or a receive. C LNX 2.1 leaves FI_SEND and FI_RECV out of its
 * completions, so the context has to tell what completed. */
struct op {
	struct fi_context2 ctx; /* first: the completion's context is the op */
	bool done;
	size_t len; /* received */
	unsigned char buf[MAX_SIZE];
};

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static fi_addr_t peer;

static struct op sends[MAX_WINDOW], recvs[MAX_WINDOW], ack;
static double step_seconds;

static struct {
	char role[8];
	uint64_t count, size, window, tag;        /* asked for */
	uint64_t sent, received, bytes, windows; /* done */
} phase;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "lnxpeer: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	/* shm's handler for this signal removes the region in /dev/shm; exit would
	 * leave it there. */
	raise(SIGTERM);
	exit(1);
}

static void check(long rc, const char *what)
{
	if (rc < 0)
		die("%s: %s (%ld)", what, fi_strerror((int)-rc), rc);
}

/* ---- contents ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static uint64_t tag_of(uint64_t i)
{
	return phase.tag << 32 | (i & 0xffff);
}

static size_t size_of(uint64_t i)
{
	static const size_t sizes[] = {0, 1, 7, 8, 63, 64, 65, 192, 1000, 4095, 4096, 4097, 16384, 65535};

	return phase.size ? phase.size : sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* byte_of answers byte b of message i; word holds what follows it in its word. */
static unsigned char byte_of(uint64_t i, size_t b, uint64_t *word)
{
	*word = b % 8 ? *word >> 8 : mix(tag_of(i) ^ i * 0x9e3779b97f4a7c15 ^ mix(b / 8 + 1));
	return *word;
}

static void verify(const struct op *op, uint64_t i)
{
	uint64_t word = 0;

	if (op->len != size_of(i))
		die("%s: message %" PRIu64 " has %zu bytes, want %zu", phase.role, i, op->len, size_of(i));
	for (size_t b = 0; b < op->len; b++) {
		unsigned char want = byte_of(i, b, &word);

		if (op->buf[b] != want)
			die("%s: message %" PRIu64 " of %zu bytes, tag %#" PRIx64 ": byte %zu is %#x, want %#x",
			    phase.role, i, op->len, tag_of(i), b, op->buf[b], want);
	}
	phase.received++;
	phase.bytes += op->len;
}

/* ---- progress ---- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* progress reads completions. When there are none for long it lets others run, and
 * in the end gives up: what names the thing waited for since then. */
static void progress(double since, const char *what)
{
	static unsigned idle;
	struct fi_cq_tagged_entry entries[16];
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_read(cq, entries, 16);

	if (n == -FI_EAGAIN) {
		if (++idle < 500)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		if (now() - since > step_seconds)
			die("%s: no %s in %g s; %" PRIu64 " messages sent, %" PRIu64 " received, of %" PRIu64, phase.role,
			    what, step_seconds, phase.sent, phase.received, phase.count);
		return;
	}
	idle = 0;
	if (n == -FI_EAVAIL) {
		check(fi_cq_readerr(cq, &err, 0), "fi_cq_readerr");
		die("%s: operation failed: %s (%d), provider's number %d, length %zu, too long by %zu", phase.role,
		    fi_strerror(err.err), err.err, err.prov_errno, err.len, err.olen);
	}
	check(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		struct op *op = entries[i].op_context;

		op->len = entries[i].len;
		op->done = true;
	}
}

static void await(struct op *op, const char *what)
{
	double since = now();

	while (!op->done)
		progress(since, what);
}

static void post_send(struct op *op, size_t len, uint64_t tag)
{
	double since = now();
	ssize_t rc;

	op->done = false;
	while ((rc = fi_tsend(ep, op->buf, len, NULL, peer, tag, op)) == -FI_EAGAIN)
		progress(since, "room to send");
	check(rc, "fi_tsend");
}

static void post_recv(struct op *op, size_t len, fi_addr_t from, uint64_t tag, uint64_t ignore)
{
	double since = now();
	ssize_t rc;

	op->done = false;
	memset(op->buf, 0xa5, len);
	while ((rc = fi_trecv(ep, op->buf, len, NULL, from, tag, ignore, op)) == -FI_EAGAIN)
		progress(since, "room to receive");
	check(rc, "fi_trecv");
}

/* ---- roles ---- */

static void send_message(struct op *op, uint64_t i)
{
	uint64_t word = 0;

	for (size_t b = 0; b < size_of(i); b++)
		op->buf[b] = byte_of(i, b, &word);
	post_send(op, size_of(i), tag_of(i));
	phase.sent++;
}

/* recv_message asks for message i exactly, or for any sender, or for any of some
 * tags: messages arrive in order, so it gets the one that it is meant for. */
static void recv_message(struct op *op, uint64_t i, bool exact)
{
	fi_addr_t from = exact || i % 4 ? peer : FI_ADDR_UNSPEC;

	post_recv(op, size_of(i), from, tag_of(i), exact || i % 3 ? 0 : 0xff);
}

static void echo(bool first)
{
	for (uint64_t i = 0; i < phase.count; i++) {
		recv_message(&recvs[0], i, false);
		if (first)
			send_message(&sends[0], i);
		await(&recvs[0], "message");
		verify(&recvs[0], i);
		if (!first)
			send_message(&sends[0], i);
		await(&sends[0], "end of a send");
	}
}

static void send_windows(void)
{
	for (uint64_t i = 0; i < phase.count; i += phase.window, phase.windows++) {
		post_recv(&ack, 0, peer, ACK_BIT | phase.tag, 0);
		for (uint64_t j = 0; j < phase.window; j++)
			send_message(&sends[j], i + j);
		for (uint64_t j = 0; j < phase.window; j++)
			await(&sends[j], "end of a send");
		await(&ack, "acknowledgement");
	}
}

/* recv_windows takes every other window unexpected: the last message is received
 * first, so that the others are there before their receives are posted. */
static void recv_windows(void)
{
	uint64_t last = phase.window - 1;

	for (uint64_t i = 0; i < phase.count; i += phase.window, phase.windows++) {
		if (phase.windows % 2) {
			recv_message(&recvs[last], i + last, true);
			await(&recvs[last], "last message of a window");
		}
		for (uint64_t j = 0; j < last; j++)
			recv_message(&recvs[j], i + j, false);
		if (phase.windows % 2 == 0)
			recv_message(&recvs[last], i + last, true);
		for (uint64_t j = 0; j < phase.window; j++) {
			await(&recvs[j], "message");
			verify(&recvs[j], i + j);
		}
		post_send(&ack, 0, ACK_BIT | phase.tag);
		await(&ack, "end of an acknowledgement");
	}
}

static void run_phase(const char *line)
{
	memset(&phase, 0, sizeof(phase));
	if (sscanf(line, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, phase.role, &phase.count, &phase.size,
		   &phase.window, &phase.tag) != 5 ||
	    phase.window < 1 || phase.window > MAX_WINDOW || phase.count % phase.window || phase.size > MAX_SIZE ||
	    phase.tag >> 31)
		die("no phase: %s", line);
	if (!strcmp(phase.role, "ping") || !strcmp(phase.role, "pong"))
		echo(phase.role[1] == 'i');
	else if (!strcmp(phase.role, "send"))
		send_windows();
	else if (!strcmp(phase.role, "recv"))
		recv_windows();
	else
		die("no role %s", phase.role);
	printf("{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"windows\":%" PRIu64 "}\n",
	       phase.sent, phase.received, phase.bytes, phase.windows);
}

/* ---- set-up ---- */

static void open_endpoint(const char *interface)
{
	struct fi_info *hints = fi_allocinfo(), *list, *info;
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = 1};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .size = 4 * MAX_WINDOW};
	char part[64];

	if (!hints)
		die("fi_allocinfo: out of memory");
	/* Without FI_SOURCE and FI_DIRECTED_RECV tcp;ofi_rxm does not tell C LNX
	 * whose message it is, and no receive from a given peer would match. */
	hints->caps = FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_HMEM;
	hints->fabric_attr->prov_name = strdup("lnx");
	check(fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL, NULL, 0, hints, &list),
	      "fi_getinfo of provider lnx (FI_LNX_PROV_LINKS has to name two providers, as shm+tcp)");
	/* A link's domain is called shm+lo:ofi_lnx_domain. */
	snprintf(part, sizeof(part), "+%s:", interface);
	for (info = list; info && !strstr(info->domain_attr->name, part); info = info->next)
		;
	if (!info)
		die("provider lnx has no link over %s", interface);
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

static void close_endpoint(void)
{
	check(fi_close(&ep->fid), "fi_close endpoint");
	check(fi_close(&cq->fid), "fi_close CQ");
	check(fi_close(&av->fid), "fi_close AV");
	check(fi_close(&domain->fid), "fi_close domain");
	check(fi_close(&fabric->fid), "fi_close fabric");
}

static void print_address(void)
{
	static unsigned char blob[4096];
	size_t len = 0;

	/* On success C LNX leaves the length as it was, so ask for it first. */
	if (fi_getname(&ep->fid, NULL, &len) != -FI_ETOOSMALL || len > sizeof(blob))
		die("fi_getname wants %zu bytes for the address, want at most %zu", len, sizeof(blob));
	check(fi_getname(&ep->fid, blob, &len), "fi_getname");
	printf("addr ");
	for (size_t i = 0; i < len; i++)
		printf("%02x", blob[i]);
	printf("\n");
}

static void insert_peer(const char *hex)
{
	static unsigned char blob[65536];
	size_t len = 0;

	while (len < sizeof(blob) && sscanf(hex + 2 * len, "%2hhx", &blob[len]) == 1)
		len++;
	if (!len || strcspn(hex, "\n") != 2 * len)
		die("the peer's address is not a line of hex digits, at most %zu bytes", sizeof(blob));
	check(fi_av_insert(av, blob, 1, &peer, 0, NULL), "fi_av_insert");
	printf("ready\n");
}

int main(int argc, char **argv)
{
	static char line[2 * 65536 + 2];

	if (argc != 3 || (step_seconds = strtod(argv[2], NULL)) <= 0)
		die("usage: FI_LNX_PROV_LINKS=shm+tcp lnxpeer DOMAIN SECONDS");
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* not SIGKILL: see die */
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_endpoint(argv[1]);
	print_address();
	if (!fgets(line, sizeof(line), stdin))
		die("standard input ended before the peer's address");
	insert_peer(line);
	while (fgets(line, sizeof(line), stdin))
		run_phase(line);
	close_endpoint();
}
