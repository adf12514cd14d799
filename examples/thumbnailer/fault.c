// SPDX-License-Identifier: Apache-2.0
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"

enum kind { FAULT_NONE, FAULT_LOCK, FAULT_FSYNC, FAULT_PEER };

static const char *const names[] = {
	[FAULT_NONE] = "none",
	[FAULT_LOCK] = "lock",
	[FAULT_FSYNC] = "fsync",
	[FAULT_PEER] = "peer",
};

struct fault {
	_Atomic int kind;
	uint16_t rights_port;
	pthread_mutex_t catalogue; /* the lock that is held */
	pthread_mutex_t opening;   /* guards the making of `journal_fd` */
	int journal_fd;		   /* -1: not made */
	char *journal;
};

int fault_open(struct fault **out, const char *journal, uint16_t rights_port)
{
	struct fault *fault = calloc(1, sizeof(*fault));

	if (!fault)
		return -ENOMEM;
	fault->journal = strdup(journal);
	if (!fault->journal) {
		free(fault);
		return -ENOMEM;
	}
	fault->journal_fd = -1;
	fault->rights_port = rights_port;
	pthread_mutex_init(&fault->catalogue, NULL);
	pthread_mutex_init(&fault->opening, NULL);
	*out = fault;
	return 0;
}

void fault_close(struct fault *fault)
{
	if (!fault)
		return;
	if (fault->journal_fd >= 0) {
		close(fault->journal_fd);
		unlink(fault->journal);
	}
	pthread_mutex_destroy(&fault->catalogue);
	pthread_mutex_destroy(&fault->opening);
	free(fault->journal);
	free(fault);
}

int fault_set(struct fault *fault, const char *name)
{
	int kind = FAULT_NONE, error = 0;

	while (kind <= FAULT_PEER && strcmp(names[kind], name) != 0)
		kind++;
	if (kind > FAULT_PEER)
		return -EINVAL;
	if (kind == FAULT_PEER && !fault->rights_port)
		return -ENOTCONN;
	if (fault->rights_port)
		error = ask_slow(fault->rights_port, kind == FAULT_PEER ? FAULT_PEER_MS : 0);
	if (!error)
		atomic_store(&fault->kind, kind);
	return error;
}

int fault_asks(const struct fault *fault)
{
	return fault && fault->rights_port;
}

int fault_ask(const struct fault *fault, const char *video)
{
	return ask_may(fault->rights_port, video);
}

static int is_on(struct fault *fault, int kind)
{
	return fault && atomic_load_explicit(&fault->kind, memory_order_relaxed) == kind;
}

void fault_hold(struct fault *fault)
{
	const struct timespec hold = {.tv_nsec = FAULT_HOLD_MS * 1000000L};

	if (!is_on(fault, FAULT_LOCK))
		return;
	pthread_mutex_lock(&fault->catalogue);
	nanosleep(&hold, NULL);
	pthread_mutex_unlock(&fault->catalogue);
}

/* Made at the first use: a server without the fault leaves no file behind. */
static int journal_open(struct fault *fault)
{
	int fd;

	pthread_mutex_lock(&fault->opening);
	if (fault->journal_fd < 0)
		fault->journal_fd = open(fault->journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
					 0600);
	fd = fault->journal_fd < 0 ? -errno : fault->journal_fd;
	pthread_mutex_unlock(&fault->opening);
	return fd;
}

int fault_keep(struct fault *fault, const void *data, size_t size)
{
	struct stat file;
	int fd;

	if (!is_on(fault, FAULT_FSYNC))
		return 0;
	fd = journal_open(fault);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &file) && file.st_size > FAULT_JOURNAL_MAX && ftruncate(fd, 0))
		return -errno;
	if (write(fd, data, size) != (ssize_t)size)
		return -EIO;
	return fsync(fd) ? -errno : 0;
}
