/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/answer/recordings.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map/chunk_map.h"
#include "tests/unit/chunk/make.h"

/* A failure here ends the program, in whatever thread it happens. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition);           \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
#define MUST_BE(value, expected) MUST((value) == (expected))

const char *chunk_boot = BOOT, *chunk_host = "here";
u64 chunk_clock_ns = 1;

/* A chunk of [begin, end): what is known of a thread, and that it went to sleep and was not woken.
 */
void chunk_write(const char *dir, u64 begin_ns, u64 end_ns, const char *comm, u32 tid)
{
	const struct chunk_clock clock = {.monotonic_ns = begin_ns,
					  .unix_ns = begin_ns + chunk_clock_ns};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = begin_ns,
						     .host = chunk_host,
						     .boot_id = chunk_boot,
						     .clock = &clock,
						     .no_sync = true};
	struct record_head head = {.tid = tid, .pid = tid, .time_ns = begin_ns + 1};
	struct record_name name = {.head = head, .comm_len = (u16)strlen(comm)};
	struct record_syscall call = {.head = head, .nr = 39, .duration_ns = 10};
	struct record_switch leaves = {.head = head,
				       .state = LEAVE_sleep,
				       .mode = MODE_syscall,
				       .nr = 230,
				       .since_ns = 1000};
	struct chunk_writer *w;

	name.head.kind = RECORD_name;
	call.head.kind = RECORD_syscall;
	call.head.time_ns = begin_ns + 1 * MS;
	leaves.head.kind = RECORD_switch;
	leaves.head.time_ns = begin_ns + 2 * MS;
	memcpy(name.comm, comm, strlen(comm));
	MUST_BE(chunk_writer_open(&w, &options, NULL), 0);
	if (*comm)
		MUST_BE(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_LIFE, 0), &name.head),
			0);
	MUST_BE(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &call.head), 0);
	MUST_BE(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &leaves.head), 0);
	MUST_BE(chunk_writer_cut(w, end_ns, NULL, NULL), 0);
	MUST_BE(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

/* A chunk with which a recorder begins: a thread that has been asleep for long. */
void snapshot_write(const char *dir, u64 begin_ns, u64 end_ns, u32 tid)
{
	const struct chunk_clock clock = {.monotonic_ns = begin_ns,
					  .unix_ns = begin_ns + chunk_clock_ns};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = begin_ns,
						     .host = chunk_host,
						     .boot_id = BOOT,
						     .clock = &clock,
						     .no_sync = true};
	const struct record_thread asleep = {.head = {.kind = RECORD_thread,
						      .tid = tid,
						      .pid = tid,
						      .time_ns = begin_ns + 1 * MS},
					     .start_ns = 5,
					     .since_ns = 500 * MS,
					     .nr = 230,
					     .mode = MODE_syscall,
					     .state = LEAVE_sleep,
					     .comm = "named",
					     .comm_len = 5};
	struct chunk_writer *w;

	MUST_BE(chunk_writer_open(&w, &options, NULL), 0);
	MUST_BE(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_LIFE, 0), &asleep.head), 0);
	MUST_BE(chunk_writer_cut(w, end_ns, NULL, NULL), 0);
	MUST_BE(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

/* Absorbs the first chunk of a recording into its checkpoint, and keeps it as after a crash. */
void first_is_absorbed(const char *dir, bool goes)
{
	struct recording_checkpoint checkpoint = {0};
	struct recording *recording;
	char path[4096];

	if (recording_checkpoint_read(dir, NULL, &checkpoint, NULL))
		checkpoint = (struct recording_checkpoint){0};
	MUST_BE(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	MUST_BE(chunk_absorb(&checkpoint, &recording_info(recording)->chunks[0], NULL, NULL), 0);
	MUST_BE(recording_checkpoint_write(dir, NULL, NULL, &checkpoint, NULL), 0);
	snprintf(path, sizeof(path), "%s", recording_info(recording)->chunks[0].path);
	recording_close(recording);
	recording_checkpoint_free(&checkpoint);
	if (goes)
		MUST_BE(chunk_remove(path, NULL), 0);
}

void first_goes(const char *dir)
{
	first_is_absorbed(dir, true);
}

/* A chunk with what came late from the one before. */
void late_write(const char *dir, u64 begin_ns)
{
	const struct chunk_clock clock = {.monotonic_ns = begin_ns,
					  .unix_ns = begin_ns + chunk_clock_ns};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = begin_ns,
						     .late_ns = begin_ns - 2 * MS,
						     .host = chunk_host,
						     .boot_id = BOOT,
						     .clock = &clock,
						     .no_sync = true};
	struct record_fork fork = {.head = {.kind = RECORD_fork, .tid = 8, .pid = 8},
				   .parent_tid = 7,
				   .parent_pid = 7};
	struct chunk_writer *w;

	MUST_BE(chunk_writer_open(&w, &options, NULL), 0);
	fork.head.time_ns = begin_ns - MS;
	MUST_BE(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_LATE, 0), &fork.head), 0);
	fork.head.tid = fork.head.pid = 9;
	fork.head.time_ns = begin_ns + MS;
	MUST_BE(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &fork.head), 0);
	MUST_BE(chunk_writer_cut(w, begin_ns + 10 * MS, NULL, NULL), 0);
	MUST_BE(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

/* ---- while chunks are read ---- */

static atomic_bool waits;    /* for a chunk to be read */
static char waits_for[4096]; /* its path */
static void (*happens)(void *arg);
static void *happens_to;

static bool is_awaited(int dir)
{
	struct stat opened, awaited;

	return fstat(dir, &opened) == 0 && stat(waits_for, &awaited) == 0 &&
	       opened.st_dev == awaited.st_dev && opened.st_ino == awaited.st_ino;
}

/* Stands before the C library's. */
int openat(int dir, const char *name, int flags, ...)
{
	va_list more;
	int mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	if (atomic_load(&waits) && strncmp(name, "cpu", 3) == 0 && is_awaited(dir) &&
	    atomic_exchange(&waits, false))
		happens(happens_to);
	return (int)syscall(SYS_openat, dir, name, flags, mode);
}

void when_read(const char *chunk, void (*happen)(void *arg), void *arg)
{
	snprintf(waits_for, sizeof(waits_for), "%s", chunk);
	happens = happen;
	happens_to = arg;
	atomic_store(&waits, true);
}

void chunk_path(const char *dir, size_t at, char path[4096])
{
	struct recording *recording;

	MUST_BE(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	MUST(at < recording_info(recording)->chunk_count);
	snprintf(path, 4096, "%s", recording_info(recording)->chunks[at].path);
	recording_close(recording);
}

static int times_left;

static void first_goes_again(void *dir)
{
	first_goes(dir);
	first_goes_when_read(dir, times_left - 1);
}

void first_goes_when_read(const char *dir, int times)
{
	char path[4096];

	times_left = times;
	if (!times)
		return;
	chunk_path(dir, 0, path);
	when_read(path, first_goes_again, (void *)dir);
}

int first_goes_left(void)
{
	return times_left;
}
