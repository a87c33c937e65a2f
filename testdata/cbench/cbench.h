/* What the files of cbench share; cbench.c says what it is. */
#ifndef CBENCH_H
#define CBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

/* How a receive says which messages it takes: sender and tag, one sender and a
 * range of tags, or one tag of any sender. */
enum kind { KIND_EXACT, KIND_TAG, KIND_SOURCE, KINDS };

extern const char *const kind_names[KINDS];

/* What the tests are done with: messages with tags or without, or operations on the
 * other end's memory, of which the last adds one to a number and fetches what it was. */
enum kind_of_op { OP_TSEND, OP_SEND, OP_READ, OP_WRITE, OP_FADD, OPS };

extern const char *const op_names[OPS];

static inline bool on_memory(enum kind_of_op op)
{
	return op >= OP_READ;
}

/* params say what is run, in the terms of lnx perf. */
struct params {
	const char *test;
	enum kind_of_op op;
	size_t size;
	uint64_t iters, warmup;
	uint64_t window;
	bool both;
	enum kind kind;
	uint64_t posted, unexpected; /* that the measured messages do not match */
};

/* Tags name a message: what it is, and its number in the run. */
#define TAG_LEAD (1ULL << 56)   /* from the leading end */
#define TAG_FOLLOW (2ULL << 56) /* from the following end */
#define TAG_ACK (4ULL << 56)
#define TAG_DECOY (8ULL << 56)
#define TAG_NUMBER ((1ULL << 40) - 1)

/* ---- end.c: one end of the test ---- */

/* role tells what completed. (C LNX 2.1 leaves FI_SEND and FI_RECV out of its
 * completions.) */
enum role { ROLE_SEND, ROLE_RECV, ROLE_ACK_SEND, ROLE_ACK_RECV, ROLE_DECOY, ROLE_RMA };

/* op is a send, a receive, or an operation on memory. */
struct op {
	struct fi_context2 ctx; /* first: the completion's context is the op */
	enum role role;
	bool busy;
	size_t len; /* received */
	unsigned char *buf;
};

#define MAX_DONE 16

struct end {
	bool leads;
	bool untagged; /* are the messages that are measured; all others have tags */
	fi_addr_t peer;
	uint64_t sent, received; /* messages, as struct fi_info has no statistics */
	uint64_t started;        /* operations on memory */
	struct op *done[MAX_DONE]; /* of the last poll */
};

extern struct end end;

/* open_end opens an endpoint for an operation, to wait_done with if asked for, and
 * introduces it to the other end's, over the socket. */
void open_end(const char *provider, const char *domain, int socket, bool leads, enum kind_of_op op, bool waits);
void close_end(void);

/* ready lets the leading end go on when the following one has come as far. */
void ready(void);

/* part lets the following end know that the leading one is done with it. */
void part(void);

void post(struct op *op, size_t size, fi_addr_t from, uint64_t tag, uint64_t ignore);
void send_to_peer(struct op *op, size_t size, uint64_t tag);

/* offer lets the other end read and write memory, and learns of the other's, which
 * must be as long; withdraw ends that. */
void offer(void *memory, size_t len);
void withdraw(void);

/* reregister registers memory as the buffer of an operation, and ends that. */
void reregister(void *memory, size_t len);

/* start_remote starts an operation on size bytes at an offset of the other end's memory. */
void start_remote(struct op *op, enum kind_of_op kind, size_t size, uint64_t offset);

/* read_done answers how many completions are in end.done, poll_done polls for some,
 * wait_done waits for some as the provider lets programs wait, for so many ms at most. */
size_t read_done(void);
size_t poll_done(void);
size_t wait_done(int ms);

void settle(struct op *op);

extern bool huge_pages; /* --huge */

void *new_memory(size_t size);
struct op *new_ops(uint64_t n, size_t size, enum role role);
void free_ops(struct op *ops);

uint64_t now_ns(void);

__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...);
void check(long rc, const char *what);

/* ---- histogram.c: times of single messages ---- */

struct histogram;

struct histogram *new_histogram(void);
void record(struct histogram *h, uint64_t ns);
uint64_t percentile(const struct histogram *h, double percent);

/* ---- lat.c: messages there and back, which idle has, too ---- */

/* ping_open posts the first receives of a run of so many round trips. */
void ping_open(const struct params *p, uint64_t total);
void ping_close(void);

/* ping_lead makes n round trips, records them unless h is NULL, and answers how long
 * they took; ping_answer answers message n, polling for it, or waiting. */
uint64_t ping_lead(uint64_t first, uint64_t n, struct histogram *h);
void ping_answer(uint64_t n, bool waits);

/* ---- the tests; the leading end's answer is the JSON report's own part ---- */

void run_lat(const struct params *p);
void run_idle(const struct params *p);
void run_stream(const struct params *p);
void run_remote(const struct params *p);
void run_reg(const struct params *p);

/* report prints the begin of a line of JSON, the test adds its figure, report_end
 * the rest: which rails carried the messages and operations. */
void report_begin(const struct params *p);
void report_times(const char *name, const struct histogram *h, uint64_t took, uint64_t iters, double per);
void report_end(uint64_t sent, uint64_t received, uint64_t started);

#endif
