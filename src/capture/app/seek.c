// SPDX-License-Identifier: Apache-2.0
#include "capture/app/seek.h"

#include <errno.h>
#include <stdlib.h>

#include "base/host_clock.h"
#include "base/map.h"
#include "base/vec.h"

#define NEVER UINT64_MAX
#define MS 1000000ull
#define BUSY_NS (100 * MS) /* until a ring that another capture has locked is tried again */
#define TURN_NS (5 * MS)   /* after so long, events are taken before the next looks */
#define FREE_NS (50 * MS)  /* so long a process may be looked at before it rests */
#define REST 15		   /* length of a rest, as a multiple of the time of looks */

struct seek_process {
	pid_t pid;
	struct app_rings_known known;
	u64 due_ns;  /* NEVER: no look is due */
	u64 rest_ns; /* the end of its rest */
	u64 debt_ns; /* time of looks, less rests, as of looked_ns */
	u64 looked_ns;
	u64 made_ns; /* when the first ring that is looked for was made; 0: not seen */
	u64 last_ns; /* when the last of them was made */
	u64 exec_ns; /* time of its last exec, before which its rings cannot be; 0: not seen */
	unsigned int tries;
	unsigned int made, found; /* since the search began */
	unsigned int ahead; /* rings that the look at found_ns found before their event came */
	u64 found_ns;
	u64 round; /* of its last look; 0: there is news of it */
	bool told; /* that a ring was missed */
	bool ended;
};

struct app_ring_seek {
	struct app_ring_seek_sink sink;
	struct map processes; /* pid -> struct seek_process, owned: a look is due, or rings known */
	VEC(pid_t) pending;   /* processes with a look due, once each */
	u64 round; /* number of the pass over them, which takes one or more turns; from 1 */
};

/*
 * The pause after a number of tries. A memfd is mapped and has its header a few milliseconds after
 * it has its name, or later if the program is slow. The last try is after a second.
 */
static u64 try_pause_ns(unsigned int tries)
{
	return tries < 4    ? MS / 4
	       : tries < 8  ? MS
	       : tries < 16 ? 10 * MS
	       : tries < 24 ? 100 * MS
			    : NEVER;
}

struct app_ring_seek *app_ring_seek_new(const struct app_ring_seek_sink *sink)
{
	struct app_ring_seek *seek = calloc(1, sizeof(*seek));

	if (!seek)
		return NULL;
	seek->sink = *sink;
	seek->round = 1;
	return seek;
}

void app_ring_seek_free(struct app_ring_seek *seek)
{
	struct map_entry entry;
	size_t at = 0;

	if (!seek)
		return;
	while (map_next(&seek->processes, &at, &entry))
		free(entry.value);
	map_free(&seek->processes);
	vec_free(&seek->pending);
	free(seek);
}

/* ---- what happened ---- */

static struct seek_process *process_get(struct app_ring_seek *seek, pid_t pid)
{
	struct seek_process *process = map_get(&seek->processes, (u64)pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->due_ns = NEVER;
	if (map_put(&seek->processes, (u64)pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

/* Requests a look, at once or after the rest of the process. */
static void look_request(struct app_ring_seek *seek, struct seek_process *process, u64 now_ns)
{
	bool pending = process->due_ns != NEVER;

	if (!pending && vec_push(&seek->pending, process->pid))
		return;
	process->due_ns = now_ns < process->rest_ns ? process->rest_ns : now_ns;
}

void app_ring_seek_found(struct app_ring_seek *seek, pid_t pid, u64 now_ns)
{
	struct seek_process *process = process_get(seek, pid);

	if (!process)
		return;
	/* an existing ring is found by the first look, or by the second if it was being made */
	if (process->due_ns == NEVER)
		process->tries = 15;
	look_request(seek, process, now_ns);
}

/* Whether rings are looked for. Not if the process had ended and its pid is another's now. */
static bool is_sought(const struct seek_process *process)
{
	return process->due_ns != NEVER && process->made && !process->ended;
}

static void missed_tell(struct app_ring_seek *seek, struct seek_process *process)
{
	if (process->made > process->found && !process->told)
		seek->sink.missed(seek->sink.arg, process->pid);
	process->told = true;
}

void app_ring_seek_made(struct app_ring_seek *seek, pid_t pid, u64 made_ns, u64 now_ns)
{
	struct seek_process *process = process_get(seek, pid);

	if (!process)
		return;
	if (process->ahead && made_ns && made_ns < process->found_ns) {
		process->ahead--;
		return;
	}
	if (!is_sought(process)) {
		missed_tell(seek, process); /* if it ended and was not looked at since */
		process->made = process->found = 0;
		process->made_ns = made_ns;
		process->told = process->ended = false;
	}
	if (process->made < APP_RINGS_OF_PROCESS)
		process->made++;
	process->last_ns = made_ns;
	process->tries = 0;
	process->round = 0; /* news is looked at before the rest of the round */
	look_request(seek, process, now_ns);
}

void app_ring_seek_exec(struct app_ring_seek *seek, pid_t pid, u64 time_ns)
{
	struct seek_process *process = map_get(&seek->processes, (u64)pid);

	if (process)
		process->exec_ns = time_ns;
	if (process && process->found_ns < time_ns)
		process->ahead = 0;
	/* the next look finds the known rings unmapped, and forgets them */
	if (!process || !is_sought(process) || process->made_ns >= time_ns)
		return;
	if (process->made > process->found && process->last_ns < time_ns && !process->told)
		seek->sink.missed(seek->sink.arg, pid);
	process->made = process->last_ns >= time_ns;
	process->found = 0;
	process->made_ns = process->last_ns;
}

void app_ring_seek_exit(struct app_ring_seek *seek, pid_t pid)
{
	struct seek_process *process = map_get(&seek->processes, (u64)pid);

	if (!process)
		return;
	process->ended = true;
	process->rest_ns = 0;
	look_request(seek, process, 0); /* the look finds the process gone */
}

/* ---- looking ---- */

/* Accounts the time of a look. A process that causes many looks must rest in between. */
static void look_account(struct seek_process *process, u64 begin_ns)
{
	u64 now = host_clock_now_ns(), rested = (begin_ns - process->looked_ns) / REST;

	process->debt_ns -= rested < process->debt_ns ? rested : process->debt_ns;
	process->debt_ns += now - begin_ns;
	process->looked_ns = now;
	process->rest_ns = process->debt_ns > FREE_NS ? now + REST * (process->debt_ns - FREE_NS)
						      : 0;
}

/* Returns like app_ring_reach(); -EBUSY also if a look at the process hangs. */
static int rings_reach(struct app_ring_seek *seek, struct seek_process *process)
{
	struct foreign_looks *looks = seek->sink.looks;
	struct app_rings_known known = process->known; /* may be freed during the look */
	struct app_ring_reached *reached = NULL;
	u64 made_ns = process->made_ns ? process->made_ns : process->exec_ns;
	int result = foreign_look_begin(looks, FOREIGN_PROCESS(process->pid)), ended;

	if (result)
		return result;
	result = app_ring_reach(process->pid, made_ns, &known, &reached, NULL);
	ended = foreign_look_end(looks);
	if (ended) {
		app_ring_drop(reached);
		return ended;
	}
	process->known = known;
	if (result > 0)
		seek->sink.reached(seek->sink.arg, process->pid, reached);
	return result;
}

/* Schedules the next look. False: the search ends. */
static bool process_wait(struct app_ring_seek *seek, struct seek_process *process, u64 now_ns)
{
	u64 pause;

	process->tries++;
	pause = process->made || process->tries <= 16 ? try_pause_ns(process->tries) : NEVER;
	if (pause == NEVER) {
		missed_tell(seek, process); /* if the process ended and was not looked at since */
		return false;
	}
	process->due_ns = now_ns + pause;
	return true;
}

static void found_count(struct seek_process *process, unsigned int count)
{
	unsigned int wanted = process->made - process->found;

	process->found += count < wanted ? count : wanted;
	process->ahead = count < wanted ? 0 : count - wanted;
	process->found_ns = host_clock_now_ns();
}

static bool process_look(struct app_ring_seek *seek, struct seek_process *process, u64 now_ns)
{
	int result = rings_reach(seek, process);

	if (result == -ECANCELED)
		return true;
	look_account(process, now_ns);
	if (result == -ESRCH) {
		missed_tell(seek, process);
		process->known.count = 0;
		return false;
	}
	if (result == -EBUSY) {
		if (!process->told)
			seek->sink.missed(seek->sink.arg, process->pid);
		process->told = true;
		process->due_ns = now_ns + BUSY_NS;
		return true;
	}
	if (result == -ENXIO && !process->told) {
		seek->sink.missed(seek->sink.arg, process->pid);
		process->told = true;
	}
	if (result > 0)
		found_count(process, (unsigned int)result);
	if (process->made && process->found >= process->made)
		return false;
	return process_wait(seek, process, now_ns);
}

static void process_settle(struct app_ring_seek *seek, struct seek_process *process)
{
	process->due_ns = NEVER;
	process->made = process->found = 0;
	process->made_ns = process->last_ns = 0;
	process->told = false;
	if (process->known.count)
		return;
	map_remove(&seek->processes, (u64)process->pid);
	free(process);
}

static struct seek_process *pending_process(const struct app_ring_seek *seek, size_t i)
{
	return map_get(&seek->processes, (u64)seek->pending.data[i]);
}

static u64 pending_due_ns(const struct app_ring_seek *seek)
{
	u64 due = NEVER;

	for (size_t i = 0; i < seek->pending.count; i++) {
		const struct seek_process *process = pending_process(seek, i);

		if (process->due_ns < due)
			due = process->due_ns;
	}
	return due;
}

/*
 * Goes through the list from its end, newest first; a process that is done is replaced by the last
 * of the list. When a turn is over, the remaining processes of the round are looked at before any
 * other is looked at again.
 */
u64 app_ring_seek_run(struct app_ring_seek *seek, u64 now_ns)
{
	u64 begin_ns = host_clock_now_ns();

	for (size_t i = seek->pending.count; i-- > 0;) {
		struct seek_process *process = pending_process(seek, i);
		bool goes_on;

		if (process->round == seek->round || process->due_ns > now_ns)
			continue;
		process->round = seek->round;
		goes_on = process_look(seek, process, host_clock_now_ns());
		if (foreign_work_is_taken())
			return NEVER;
		if (!goes_on) {
			seek->pending.data[i] = seek->pending.data[--seek->pending.count];
			process_settle(seek, process);
		} else if (process->due_ns < process->rest_ns) {
			process->due_ns = process->rest_ns;
		}
		if (i > 0 && host_clock_now_ns() > begin_ns + TURN_NS)
			return now_ns;
	}
	seek->round++;
	return pending_due_ns(seek);
}
