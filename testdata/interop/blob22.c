/*
 * blob22: address blobs of C LNX of libfabric 2.2 and later, as a C compiler lays
 * them out, for the tests of package lnx (lnx/blob22_test.go builds and runs it).
 *
 *   blob22 write HOST NAME=ADDR …   the blob
 *   blob22 read BLOB NAME …         its host, its number of entries, those with one
 *                                   of the names (C LNX skips others), and its end
 *
 * ADDR and BLOB are in hexadecimal. C LNX writes neither alignment nor what is
 * behind the NUL of a name; here 0x5a stands there.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>

struct entry {
	char name[FI_NAME_MAX]; /* of the core fabric */
	size_t size;
	char addr[];
};

struct blob {
	char host[FI_NAME_MAX];
	int entries;
	struct entry first[];
};

static _Alignas(max_align_t) char mem[1 << 16];

/* unhex reads hexadecimal into memory and answers its number of bytes. */
static size_t unhex(char *to, const char *text)
{
	size_t n = strlen(text) / 2;
	unsigned byte;

	for (size_t i = 0; i < n; i++) {
		if (to + i >= mem + sizeof(mem) || sscanf(text + 2 * i, "%2x", &byte) != 1)
			exit(1);
		to[i] = (char)byte;
	}
	return n;
}

static void hex(const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", (unsigned char)from[i]);
	printf("\n");
}

/* Entries follow each other without padding, so most are not aligned; C LNX reads
 * and writes them in place all the same. memcpy does it here. */
static void write_blob(int argc, char **argv)
{
	struct blob *b = (struct blob *)mem;
	char *at = mem + sizeof(*b);

	memset(mem, 0x5a, sizeof(mem));
	strcpy(b->host, argv[0]);
	b->entries = argc - 1;
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		size_t size;

		*value = '\0';
		strcpy(at + offsetof(struct entry, name), argv[i]);
		size = unhex(at + offsetof(struct entry, addr), value + 1);
		memcpy(at + offsetof(struct entry, size), &size, sizeof(size));
		at += sizeof(struct entry) + size;
	}
	hex(mem, (size_t)(at - mem));
}

static void read_blob(int argc, char **argv)
{
	struct blob *b = (struct blob *)mem;
	char *at = mem + sizeof(*b);

	unhex(mem, argv[0]);
	printf("host %s\nentries %d\n", b->host, b->entries);
	for (int i = 0; i < b->entries; i++) {
		const char *name = at + offsetof(struct entry, name);
		size_t size;

		memcpy(&size, at + offsetof(struct entry, size), sizeof(size));
		for (int k = 1; k < argc; k++) {
			if (strcmp(name, argv[k]) == 0) {
				printf("%s ", name);
				hex(at + offsetof(struct entry, addr), size);
			}
		}
		at += sizeof(struct entry) + size;
	}
	printf("end %td\n", at - mem);
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "write") == 0)
		write_blob(argc - 2, argv + 2);
	else if (argc > 3 && strcmp(argv[1], "read") == 0)
		read_blob(argc - 2, argv + 2);
	else
		return 2;
	return 0;
}
