// SPDX-License-Identifier: Apache-2.0
#include "capture/app/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "proc/line.h"
#include "proc/maps.h"

#define THREADS_KNOWN_MAX 65536 /* when a process has more, all are forgotten */
#define ASK_BUDGET 1024		/* look-ups in /proc between two refills */
#define WALK_ENTRIES 128	/* threads of a walk between two refills; each is a file to read */
#define WALK_PAUSE 20		/* the pause after a walk, as a multiple of its duration */
#define THREAD_BITS 22		/* Linux gives no greater numbers: PID_MAX_LIMIT */
#define THREAD_MASK ((1u << THREAD_BITS) - 1)

/* Reads the id in the innermost pid namespace, and whether that namespace is another than ours. */
static int inner_id_read(const char *path, u32 *inner, bool *nested)
{
	char text[512], *at, *end; /* pid namespaces are nested 32 deep at most */
	int err = proc_line_read(path, "NSpid:", text, sizeof(text)), depth = 0;

	if (err)
		return err;
	for (at = text; *at == '\t' || *at == ' '; at = end, depth++) {
		unsigned long id = strtoul(at, &end, 10);

		if (end == at)
			break;
		*inner = (u32)id;
	}
	*nested = depth > 1;
	return depth ? 0 : -EPROTO;
}

/*
 * Reads the offset of the process's clock. In our own time namespace it has our clock, even if it
 * has made another namespace for its children.
 */
static int clock_read(pid_t pid, s64 *clock_ns)
{
	char process[16], own[64], theirs[64];

	snprintf(process, sizeof(process), "%d", context_maps_thread(pid));
	if (host_clock_namespace("self", "time", own, sizeof(own)) == 0 &&
	    host_clock_namespace(process, "time", theirs, sizeof(theirs)) == 0 &&
	    strcmp(own, theirs) == 0) {
		*clock_ns = (s64)host_clock_own_ns(0);
		return 0;
	}
	return host_clock_offset(process, CLOCK_MONOTONIC, clock_ns);
}

void app_process_close(struct app_process *process)
{
	map_free(&process->threads);
	if (process->walk)
		closedir(process->walk);
	process->walk = NULL;
}

void app_process_refill(struct app_process *process)
{
	process->budget = ASK_BUDGET;
}

/* Keeps a thread and since when it is known, in one word. The time is rounded down, to 4 ms. */
static void thread_know(struct app_process *process, u32 inner, u32 tid, u64 known_ns)
{
	u64 word = (known_ns & ~(u64)THREAD_MASK) | tid;

	if (!tid || tid > THREAD_MASK)
		return;
	if (process->threads.count >= THREADS_KNOWN_MAX)
		map_free(&process->threads);
	/* without memory it is looked up again */
	(void)map_put(&process->threads, inner, (void *)(uintptr_t)word);
}

static u32 thread_known(const struct app_process *process, u32 inner, u64 *known_ns)
{
	u64 word = (uintptr_t)map_get(&process->threads, inner);

	*known_ns = word & ~(u64)THREAD_MASK;
	return (u32)word & THREAD_MASK;
}

void app_process_learn(struct app_process *process, u32 inner, u32 tid, u64 made_ns)
{
	if (process->nested)
		thread_know(process, inner, tid, made_ns);
}

static void thread_learn(struct app_process *process, const char *entry)
{
	unsigned long tid = strtoul(entry, NULL, 10);
	u64 asked_ns = host_clock_now_ns();
	char path[300];
	bool nested;
	u32 inner;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/status", process->pid, entry);
	if (inner_id_read(path, &inner, &nested) == 0 && inner)
		thread_know(process, inner, (u32)tid, asked_ns);
}

/*
 * Learns inner ids of threads. A thread cannot be looked up by its inner id, so this goes on with a
 * walk over all threads of the process, or begins one. A process may have very many threads, and
 * may write ids that it does not have.
 */
static void threads_walk(struct app_process *process, int entries)
{
	u64 begin_ns = host_clock_now_ns(), now;
	struct dirent *entry = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	if (!process->walk)
		process->walk = opendir(path);
	while (process->walk && entries-- > 0 && (entry = readdir(process->walk)))
		thread_learn(process, entry->d_name);
	now = host_clock_now_ns();
	process->walk_ns += now - begin_ns;
	if (entry)
		return;
	if (process->walk)
		closedir(process->walk);
	process->walk = NULL;
	process->walk_due_ns = now + WALK_PAUSE * process->walk_ns;
	process->walk_ns = 0;
}

int app_process_open(pid_t pid, struct app_process *out, struct error *e)
{
	struct app_process process = {.pid = pid, .budget = ASK_BUDGET, .pidfd = -1};
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	err = inner_id_read(path, &process.inner_pid, &process.nested);
	if (!err)
		err = clock_read(pid, &process.clock_ns);
	if (err)
		return error_set(e, err, "cannot read the namespaces of process %d", pid);
	if (process.nested) /* a thread may be gone before its first record is checked */
		threads_walk(&process, THREADS_KNOWN_MAX);
	process.walk_due_ns = 0;
	*out = process;
	return 0;
}

/* Whether the pid may be given to another process. One that ended keeps it until it is reaped. */
static bool number_is_free(const struct app_process *process)
{
	return process->pidfd >= 0 &&
	       syscall(SYS_pidfd_send_signal, process->pidfd, 0, NULL, 0) != 0 && errno == ESRCH;
}

/* Whether any process has such a thread. */
static bool thread_exists(u32 tid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", tid);
	return access(path, F_OK) == 0;
}

static u32 thread_ask(struct app_process *process, u32 tid)
{
	u64 asked_ns = host_clock_now_ns();
	char path[64];

	process->budget--;
	snprintf(path, sizeof(path), "/proc/%d/task/%u", process->pid, tid);
	if (access(path, F_OK) != 0 || number_is_free(process))
		return thread_exists(tid) ? 0 : tid;
	thread_know(process, tid, tid, asked_ns);
	return tid;
}

/* Like thread_ask(), in another pid namespace. `was`: the thread that was known, 0 if none was. */
static u32 thread_look_for(struct app_process *process, u32 inner, u32 was)
{
	u64 begin_ns = host_clock_now_ns() & ~(u64)THREAD_MASK, known_ns;
	u32 tid;

	process->budget = 0;
	if (process->walk || begin_ns >= process->walk_due_ns)
		threads_walk(process, WALK_ENTRIES);
	tid = thread_known(process, inner, &known_ns);
	if (tid && known_ns >= begin_ns)
		return tid;
	return was && !thread_exists(was) ? was : 0;
}

u32 app_process_thread(struct app_process *process, const struct thread_owners *owners, u32 inner,
		       u64 time_ns)
{
	u64 known_ns;
	u32 known = thread_known(process, inner, &known_ns), tid = process->nested ? known : inner;
	enum thread_owned owned = thread_owners_judge(owners, tid, (u32)process->pid, time_ns);
	bool holds = known && thread_owners_holds(owners, tid, known_ns);

	if (!inner || inner > THREAD_MASK)
		return 0;
	if (owned == THREAD_OWNED || (owned == THREAD_OWNER_UNKNOWN && holds))
		return tid;
	if ((owned == THREAD_OWNED_BY_NONE && (holds || !process->nested)) || process->budget <= 0)
		return 0;
	return process->nested ? thread_look_for(process, inner, known) : thread_ask(process, tid);
}
