/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROWS_MAX (1 << 18)

struct row {
	int64_t begin_ns, end_ns;
	int local, remote, pid, tid;
	char side;
	char ident[IDENT_MAX];
};

/* shared with processes that are forked later */
static struct ledger {
	_Atomic unsigned int used;
	struct row rows[ROWS_MAX];
} * ledger;
static const char *service_name, *file_path;

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void ledger_add(char side, const struct line *on, int64_t begin_ns, int64_t end_ns,
		const char *ident)
{
	unsigned int at = atomic_fetch_add(&ledger->used, 1);
	struct row *row = &ledger->rows[at];

	if (at >= ROWS_MAX)
		return;
	row->begin_ns = begin_ns;
	row->end_ns = end_ns;
	row->local = on->local;
	row->remote = on->remote;
	row->pid = getpid();
	row->tid = (int)syscall(SYS_gettid);
	row->side = side;
	strncpy(row->ident, ident, IDENT_MAX - 1);
}

static void ledger_write(void)
{
	unsigned int used = ledger->used < ROWS_MAX ? ledger->used : ROWS_MAX;
	FILE *file = fopen(file_path, "w");

	if (!file)
		_exit(2);
	for (unsigned int i = 0; i < used; i++) {
		const struct row *row = &ledger->rows[i];

		if (!row->end_ns)
			continue; /* one that somebody was about to fill */
		fprintf(file, "%s %c %d %d %lld %lld %s %d %d\n", service_name, row->side,
			row->local, row->remote, (long long)row->begin_ns, (long long)row->end_ns,
			row->ident, row->pid, row->tid);
	}
	_exit(fclose(file) ? 2 : 0);
}

static void *end_awaited(void *signals)
{
	int which;

	sigwait(signals, &which);
	ledger_write();
	return NULL;
}

void ledger_begin(const char *service, const char *path)
{
	static sigset_t signals;
	pthread_t thread;

	service_name = service;
	file_path = path;
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (ledger == MAP_FAILED)
		exit(2);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (pthread_create(&thread, NULL, end_awaited, &signals))
		exit(2);
}
