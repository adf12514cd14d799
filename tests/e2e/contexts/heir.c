/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes span HEIRLOOM in a page that fork does not give a child, and forks three children, each
 * of which calls getppid 10 times at first:
 *
 *	UNMAPS	takes the record out of its memory then, and calls 10 times
 *	READS	reads the record then, calls 10 times, ends it, and calls 10 times
 *	WIPED	has a record that fork emptied for it
 *
 * Then calls getppid 10 times each under a record without span id, under one without trace id, and
 * under a whole one. Prints the pids of its children.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"

#define PAGE_BYTES 4096

enum heir { UNMAPS, READS, WIPED };

__thread volatile struct record *otel_thread_ctx_v1 __attribute__((visibility("default")));

static const struct record whole = {"the first trace.", "HEIRLOOM", 1, 1, 0};

static void calls(void)
{
	for (int i = 0; i < 10; i++) {
		getppid();
		usleep(1000);
	}
}

static struct record *publish(int flags)
{
	struct record *record = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
				     flags | MAP_ANONYMOUS, -1, 0);

	if (record == MAP_FAILED)
		_exit(1);
	*record = whole;
	otel_thread_ctx_v1 = record;
	calls();
	return record;
}

static void child(struct record *record, enum heir heir)
{
	pid_t pid = fork();
	int status;

	if (pid) {
		waitpid(pid, &status, 0);
		printf("%d\n", (int)pid);
		return;
	}
	calls();
	if (heir == READS && otel_thread_ctx_v1->valid == 1) {
		calls();
		record->valid = 0;
		calls();
	} else if (heir == UNMAPS) {
		munmap(record, PAGE_BYTES);
		calls();
	}
	_exit(0);
}

static void half(struct record *record, size_t from, size_t bytes)
{
	*record = whole;
	memset((char *)record + from, 0, bytes);
	calls();
}

int main(void)
{
	struct record *record;

	usleep(500000); /* until it is followed */
	record = publish(MAP_SHARED);
	child(record, UNMAPS);
	child(record, READS); /* it writes into the others' memory, too */
	record = publish(MAP_PRIVATE);
	if (madvise(record, PAGE_BYTES, MADV_WIPEONFORK))
		return 1;
	child(record, WIPED);
	half(record, sizeof(record->trace), sizeof(record->span));
	half(record, 0, sizeof(record->trace));
	half(record, 0, 0);
	return 0;
}
