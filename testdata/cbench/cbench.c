/*
 * cbench: what `lnx perf` measures, in C with plain libfabric calls over one provider,
 * as the baseline for `make bench`. docs/perf.md says what is measured; protocol,
 * options and the lines of JSON are those of lnx perf, so that figures compare.
 *
 *   gcc -Wall -Wextra -O2 *.c -o cbench $(pkg-config --cflags --libs libfabric)
 *   ./cbench lat --provider shm --size 8,4096 --iters 100000 --cpus 0,1
 *   ./cbench rate --provider lnx --domain lo --window 64
 *   ./cbench bw --provider shm --op write --size 4194304
 *   ./cbench idle --provider 'tcp;ofi_rxm' --domain lo
 *   ./cbench match --provider 'tcp;ofi_rxm' --domain lo --kind tag --posted 0,1000
 *
 * Provider lnx gets FI_LNX_PROV_LINKS=shm+tcp unless the environment has another
 * value; C LNX of libfabric 2.1 knows no domains there, so --domain picks its link.
 *
 * A child that is forked before libfabric is touched is the other end; it dies with
 * its parent. What takes longer than --timeout seconds is ended.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cbench.h"

#define MAX_LIST 16
#define MAX_NUMBER 1000000000
#define MAX_LNX_DEPTH 65000

struct list {
	size_t n;
	uint64_t at[MAX_LIST];
};

static struct {
	const char *test, *provider, *domain;
	struct list sizes, windows, posted, unexpected, kinds, cpus;
	uint64_t iters, warmup, timeout; /* UINT64_MAX: by default */
	enum kind_of_op op;
	bool both;
} opt = {.sizes = {1, {8}}, .windows = {1, {0}}, .kinds = {1, {KIND_EXACT}}, .iters = UINT64_MAX, .warmup = UINT64_MAX, .timeout = 60};

const char *const op_names[OPS] = {"tsend", "send", "read", "write", "fadd"};
const char *const kind_names[KINDS] = {"exact", "tag", "source"};

/* ---- command line ---- */

__attribute__((noreturn)) static void usage(const char *why, const char *what)
{
	fprintf(stderr, "cbench: %s %s\n"
		"usage: cbench lat|rate|bw|match|idle|reg --provider NAME [--domain NAME] [--op tsend|send|read|write|fadd]\n"
		"       [--size BYTES,...] [--window N,...] [--iters N] [--warmup N] [--both] [--huge] [--cpus LEAD,FOLLOW] [--timeout SECONDS]\n"
		"       [--kind exact|tag|source,...] [--posted N,... | --unexpected N,...]\n",
		why, what);
	exit(2);
}

static uint64_t number_of(const char *text)
{
	char *rest;
	uint64_t n = strtoull(text, &rest, 10);

	if (*text < '0' || *text > '9' || *rest || n > MAX_NUMBER)
		usage("no number from 0 to 1000000000:", text);
	return n;
}

static uint64_t kind_of(const char *text)
{
	for (uint64_t k = 0; k < KINDS; k++)
		if (!strcmp(text, kind_names[k]))
			return k;
	usage("no kind of receive:", text);
}

static enum kind_of_op op_of(const char *text)
{
	for (int o = 0; o < OPS; o++)
		if (!strcmp(text, op_names[o]))
			return (enum kind_of_op)o;
	usage("no operation:", text);
}

static struct list list_of(char *text, uint64_t (*read)(const char *))
{
	struct list list = {0};

	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		if (list.n == MAX_LIST)
			usage("too many values:", word);
		list.at[list.n++] = read(word);
	}
	if (!list.n)
		usage("a value is missing in", "a list");
	return list;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"provider", required_argument, NULL, 'p'}, {"domain", required_argument, NULL, 'd'},
		{"size", required_argument, NULL, 's'},     {"iters", required_argument, NULL, 'i'},
		{"warmup", required_argument, NULL, 'w'},   {"window", required_argument, NULL, 'n'},
		{"both", no_argument, NULL, 'b'},           {"kind", required_argument, NULL, 'k'},
		{"posted", required_argument, NULL, 'o'},   {"unexpected", required_argument, NULL, 'u'},
		{"cpus", required_argument, NULL, 'c'},     {"timeout", required_argument, NULL, 't'},
		{"op", required_argument, NULL, 'x'},       {"huge", no_argument, NULL, 'h'},
		{0},
	};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'x': opt.op = op_of(optarg); break;
		case 'p': opt.provider = optarg; break;
		case 'd': opt.domain = optarg; break;
		case 's': opt.sizes = list_of(optarg, number_of); break;
		case 'i': opt.iters = number_of(optarg); break;
		case 'w': opt.warmup = number_of(optarg); break;
		case 'n': opt.windows = list_of(optarg, number_of); break;
		case 'b': opt.both = true; break;
		case 'h': huge_pages = true; break;
		case 'k': opt.kinds = list_of(optarg, kind_of); break;
		case 'o': opt.posted = list_of(optarg, number_of); break;
		case 'u': opt.unexpected = list_of(optarg, number_of); break;
		case 'c': opt.cpus = list_of(optarg, number_of); break;
		case 't': opt.timeout = number_of(optarg); break;
		default: usage("bad option", "");
		}
	}
	if (optind + 1 != argc)
		usage("one test is wanted", "");
	opt.test = argv[optind];
	if (!opt.provider)
		usage("--provider is missing", "");
	if (opt.cpus.n && opt.cpus.n != 2)
		usage("--cpus wants two numbers", "");
	if (opt.op != OP_TSEND && !strcmp(opt.provider, "lnx"))
		usage("C LNX 2.1 has tagged messages only, no", op_names[opt.op]);
	if (opt.op != OP_TSEND && (!strcmp(opt.test, "match") || !strcmp(opt.test, "idle")))
		usage("match and idle are done with tsend, not with", op_names[opt.op]);
	if (opt.op == OP_FADD && !strcmp(opt.test, "bw"))
		usage("bw is not done with", op_names[opt.op]);
	if (opt.op != OP_WRITE && !strcmp(opt.test, "reg"))
		usage("reg is done with write, not with", op_names[opt.op]);
	for (size_t i = 0; i < opt.sizes.n && on_memory(opt.op); i++) {
		if (!opt.sizes.at[i])
			usage("--size is at least 1 for", op_names[opt.op]);
		if (opt.op == OP_FADD && opt.sizes.at[i] != 8)
			usage("--size is 8 for", op_names[opt.op]);
	}
	if (!opt.timeout)
		usage("--timeout is at least 1", "");
	for (size_t i = 0; i < MAX_LIST && !strcmp(opt.provider, "lnx"); i++)
		if (opt.posted.at[i] > MAX_LNX_DEPTH || opt.unexpected.at[i] > MAX_LNX_DEPTH)
			usage("C LNX 2.1 crashes with more than 65,535 receives or messages;", "at most 65000 for it");
}

static uint64_t clamp(uint64_t low, uint64_t n, uint64_t high)
{
	return n < low ? low : n > high ? high : n;
}

/* defaults are those of lnx perf, but that few messages will do where each has to
 * pass many receives. */
static struct params defaults(size_t size, uint64_t wanted, uint64_t depth)
{
	uint64_t bytes = size ? size : 1, window = 0;
	struct params p = {.test = opt.test, .op = opt.op, .size = size, .both = opt.both};

	if (!strcmp(opt.test, "lat")) {
		p.iters = clamp(100, (1ULL << 30) / bytes, 100000);
	} else if (!strcmp(opt.test, "match")) {
		p.iters = clamp(100, (1ULL << 30) / bytes, 100000);
		p.iters = clamp(100, 20000000 / (depth + 1), p.iters);
	} else if (!strcmp(opt.test, "rate")) {
		p.iters = clamp(100, (1ULL << 31) / bytes, 1000000);
		window = 64;
	} else if (!strcmp(opt.test, "bw")) {
		p.iters = clamp(100, (1ULL << 32) / bytes, 100000);
		window = 16;
	} else if (!strcmp(opt.test, "idle")) {
		p.iters = 200;
	} else if (!strcmp(opt.test, "reg")) {
		p.iters = 1000000;
	} else {
		usage("there is no test", opt.test);
	}
	if (opt.iters != UINT64_MAX)
		p.iters = opt.iters;
	p.warmup = opt.warmup != UINT64_MAX ? opt.warmup : p.iters / 10;
	p.window = window && wanted ? wanted : window;
	if (p.both && !window)
		usage("--both is for rate and bw, not for", opt.test);
	if (!p.iters)
		usage("--iters is at least 1", "");
	return p;
}

/* ---- report ---- */

static void print_links(void)
{
	printf("%s%s%s", opt.provider, opt.domain ? ":" : "", opt.domain ? opt.domain : "");
}

void report_begin(const struct params *p)
{
	printf("{\"test\":\"%s\",\"op\":\"%s\",\"links\":\"", p->test, op_names[p->op]);
	print_links();
	printf("\",\"size\":%zu,\"iters\":%" PRIu64 ",", p->size, p->iters);
	if (p->window)
		printf("\"window\":%" PRIu64 ",", p->window);
	if (p->both)
		printf("\"both\":true,");
	if (huge_pages)
		printf("\"huge\":true,");
	if (!strcmp(p->test, "match"))
		printf("\"kind\":\"%s\",\"posted\":%" PRIu64 ",\"unexpected\":%" PRIu64 ",", kind_names[p->kind], p->posted,
		       p->unexpected);
}

/* report_times prints times that are each per times what is reported, and their mean. */
void report_times(const char *name, const struct histogram *h, uint64_t took, uint64_t iters, double per)
{
	double us = 1000 * per;

	printf("\"%s\":{\"p50\":%.4f,\"p99\":%.4f,\"mean\":%.4f}", name, (double)percentile(h, 50) / us,
	       (double)percentile(h, 99) / us, (double)took / (double)iters / us);
}

void report_end(uint64_t sent, uint64_t received, uint64_t started)
{
	printf(",\"rails\":[{\"name\":\"");
	print_links();
	printf("\",\"tx_msgs\":%" PRIu64 ",\"rx_msgs\":%" PRIu64, sent, received);
	if (started)
		printf(",\"ops\":%" PRIu64, started);
	printf("}]}\n");
	fflush(stdout);
}

/* ---- two ends ---- */

static void on_alarm(int sig)
{
	static const char text[] = "cbench: timed out\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	raise(SIGTERM); /* see die */
}

static void on_child(int sig)
{
	static const char text[] = "cbench: the other end has ended\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	raise(SIGTERM);
}

static void pin(uint64_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("processor %" PRIu64 " is not ours to use", cpu);
}

static void run_one(const struct params *p)
{
	alarm((unsigned)opt.timeout);
	if (!strcmp(p->test, "reg"))
		run_reg(p);
	else if (!strcmp(p->test, "idle"))
		run_idle(p);
	else if (on_memory(p->op))
		run_remote(p);
	else if (!strcmp(p->test, "rate") || !strcmp(p->test, "bw"))
		run_stream(p);
	else
		run_lat(p);
}

static void run_depths(size_t size, enum kind kind, const struct list *depths, bool unexpected)
{
	for (size_t i = 0; i < depths->n; i++) {
		struct params p = defaults(size, 0, depths->at[i]);

		p.kind = kind;
		*(unexpected ? &p.unexpected : &p.posted) = depths->at[i];
		run_one(&p);
	}
}

static void run_all(void)
{
	for (size_t s = 0; s < opt.sizes.n; s++) {
		if (strcmp(opt.test, "match")) {
			for (size_t w = 0; w < opt.windows.n; w++) {
				struct params p = defaults(opt.sizes.at[s], opt.windows.at[w], 0);

				run_one(&p);
			}
			continue;
		}
		for (size_t k = 0; k < opt.kinds.n; k++) {
			run_depths(opt.sizes.at[s], (enum kind)opt.kinds.at[k], &opt.posted, false);
			run_depths(opt.sizes.at[s], (enum kind)opt.kinds.at[k], &opt.unexpected, true);
		}
	}
}

/* both_ends is what the two processes do. Neither closes before the other is through. */
static void both_ends(int socket, bool leads)
{
	signal(SIGALRM, on_alarm);
	alarm((unsigned)opt.timeout);
	if (opt.cpus.n)
		pin(opt.cpus.at[leads ? 0 : 1]);
	open_end(opt.provider, opt.domain, socket, leads, opt.op, !strcmp(opt.test, "idle"));
	run_all();
	ready();
	if (leads)
		signal(SIGCHLD, SIG_DFL);
	part();
	close_end();
}

int main(int argc, char **argv)
{
	int sockets[2], status;
	pid_t parent = getpid(), child;

	parse(argc, argv);
	if (!opt.posted.n && !opt.unexpected.n)
		opt.posted.n = 1; /* 0 */
	defaults(8, 0, 0); /* knows the test */
	if (!strcmp(opt.provider, "lnx") && setenv("FI_LNX_PROV_LINKS", "shm+tcp", 0))
		die("out of memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		die("socketpair failed");
	signal(SIGCHLD, on_child);
	child = fork();
	if (child < 0)
		die("fork failed");
	if (!child) {
		signal(SIGCHLD, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* not SIGKILL: see die */
		if (getppid() != parent)
			return 1;
		close(sockets[0]);
		both_ends(sockets[1], false);
		return 0;
	}
	close(sockets[1]);
	both_ends(sockets[0], true);
	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "cbench: the other end failed\n");
		return 1;
	}
	return 0;
}
