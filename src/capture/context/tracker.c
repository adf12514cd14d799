/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "capture/context/locate.h"
#include "capture/context/program.h"

#define MS 1000000ull
#define NEVER UINT64_MAX
#define LOOK_PAUSE_NS (10 * MS) /* between two looks at one process */
#define ASK_FIRST_NS (1 * MS)
#define ASK_LAST_NS (90 * MS)
#define SETTLE_NS (50 * MS) /* after which a location is confirmed once */
#define DESCRIBE_PAUSE_NS (10 * MS)
#define DESCRIBE_TRIES 8
#define AWAIT_TRIES 3 /* after which it may still come, but nobody waits for it */

/*
 * Looks that follow an exec or a new mapping on their own, in case that a
 * notification was lost: after these times.
 */
static const u64 follow_ns[] = {10 * MS, 30 * MS, 80 * MS};
#define FOLLOWS (sizeof(follow_ns) / sizeof(follow_ns[0]))
#define ASSUMED_NS (80 * MS) /* after an exec: by then libraries are there, and are looked at */

static const struct context_location location_unknown;

struct process {
	pid_t pid;
	struct process *next, **link; /* in the list of those with something due */
	u64 event_ns;		      /* the last exec or mapping: origin of follow_ns */
	u64 looked_ns, look_due_ns;
	u64 unresolved_ns, ask_due_ns;
	u64 describe_due_ns;
	unsigned int follow; /* how many of follow_ns are done */
	unsigned int describe_tries;
	bool confirm; /* the next ask only confirms */
	bool skipped; /* something of it did not answer */
	bool foreign; /* its process context names a schema that is not read */
	bool is_fathom;
	bool begins; /* a program that is not known yet: its process context may still come */
	u64 published_ns;
	struct context_executed executed; /* time_ns = 0: not seen */
	u64 assumed_until_ns;		  /* if its location is assumed */
	struct context_location location; /* as last told by set() */
	struct context_places *places;	  /* NULL: none */
};

struct context_tracker {
	struct context_tracker_sink sink;
	struct context_tracker_counts counts;
	struct context_files *files;
	struct map processes; /* pid -> struct process */
	struct process *pending;
};

struct context_tracker *context_tracker_new(const struct context_tracker_sink *sink)
{
	struct context_tracker *tracker = calloc(1, sizeof(*tracker));

	if (!tracker)
		return NULL;
	tracker->sink = *sink;
	tracker->files = context_files_new();
	if (!tracker->files) {
		free(tracker);
		return NULL;
	}
	context_files_supervise(tracker->files, sink->looks);
	return tracker;
}

/* ---- the list of processes with something due ---- */

static u64 process_due(const struct process *process)
{
	u64 due = process->look_due_ns;

	if (process->ask_due_ns < due)
		due = process->ask_due_ns;
	return process->describe_due_ns < due ? process->describe_due_ns : due;
}

static void process_unlink(struct process *process)
{
	if (!process->link)
		return;
	*process->link = process->next;
	if (process->next)
		process->next->link = process->link;
	process->link = NULL;
}

/* Puts it into the list if something is due, takes it out otherwise. */
static void process_schedule(struct context_tracker *tracker, struct process *process)
{
	if (process_due(process) == NEVER) {
		process_unlink(process);
		return;
	}
	if (process->link)
		return;
	process->next = tracker->pending;
	process->link = &tracker->pending;
	if (process->next)
		process->next->link = &process->next;
	tracker->pending = process;
}

static void process_free(struct process *process)
{
	process_unlink(process);
	free(process->places);
	free(process);
}

void context_tracker_free(struct context_tracker *tracker)
{
	struct map_entry entry;
	size_t at = 0;

	if (!tracker)
		return;
	while (map_next(&tracker->processes, &at, &entry))
		process_free(entry.value);
	map_free(&tracker->processes);
	context_files_free(tracker->files);
	free(tracker);
}

static struct process *process_get(struct context_tracker *tracker, pid_t pid)
{
	struct process *process = map_get(&tracker->processes, (u64)pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->look_due_ns = process->ask_due_ns = process->describe_due_ns = NEVER;
	if (map_put(&tracker->processes, (u64)pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

void context_tracker_exit(struct context_tracker *tracker, pid_t pid)
{
	struct process *process = map_remove(&tracker->processes, (u64)pid);

	if (process)
		process_free(process);
}

/* ---- telling ---- */

/*
 * Whose spans it publishes is about to be known. Until then those count that everybody's rules let
 * count: that are sampled.
 */
static bool is_awaited(const struct process *process)
{
	return process->begins && !process->published_ns && process->describe_tries < AWAIT_TRIES;
}

static void location_tell(struct context_tracker *tracker, struct process *process,
			  const struct context_location *found)
{
	struct context_location location = *found;
	bool moved;

	if (process->foreign)
		memset(&location, 0, sizeof(location));
	else if (location.known && (process->is_fathom || is_awaited(process)))
		location.flags |= CONTEXT_FATHOM;
	if (!memcmp(&location, &process->location, sizeof(location)))
		return;
	moved = location.known && !context_location_is_same(&location, &process->location);
	process->location = location;
	tracker->counts.located += location.known;
	tracker->sink.set(tracker->sink.arg, process->pid, &location);
	if (moved && tracker->sink.followed)
		tracker->sink.followed(tracker->sink.arg, process->pid);
}

static bool is_assumed(const struct process *process)
{
	return process->location.flags & CONTEXT_ASSUMED;
}

/* It is not there; what is assumed of it stays while it may still come. */
static void location_missing(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	if (!is_assumed(process) || now_ns >= process->assumed_until_ns)
		location_tell(tracker, process, &location_unknown);
}

static bool executed_get(const struct context_tracker *tracker, pid_t pid,
			 struct context_executed *executed)
{
	return tracker->sink.executed && tracker->sink.executed(tracker->sink.arg, pid, executed);
}

/* ---- looks that may not end ---- */

static void skipped_set(struct context_tracker *tracker, struct process *process, bool skipped)
{
	tracker->counts.skipped += skipped && !process->skipped;
	process->skipped = skipped;
}

/* 0, or -EBUSY and it is noted, or -ECANCELED. */
static int look_begin(struct context_tracker *tracker, struct process *process)
{
	int err = foreign_look_begin(tracker->sink.looks, FOREIGN_PROCESS(process->pid));

	if (err == -EBUSY)
		skipped_set(tracker, process, true);
	return err;
}

/* What the look gave, or -ECANCELED: then the tracker is another thread's. */
static int look_end(struct foreign_looks *looks, int result)
{
	int err = foreign_look_end(looks);

	return err ? err : result;
}

static int places_find(struct context_tracker *tracker, struct process *process,
		       struct context_places *found)
{
	struct foreign_looks *looks = tracker->sink.looks;
	int err = look_begin(tracker, process);

	if (err)
		return err;
	err = look_end(looks, context_places_find(tracker->files, process->pid, found, NULL));
	if (!err)
		skipped_set(tracker, process, found->skipped);
	return err;
}

static int places_resolve(struct context_tracker *tracker, struct process *process,
			  struct context_location *found)
{
	struct foreign_looks *looks = tracker->sink.looks;
	struct context_places places = *process->places; /* is not ours to the end, perhaps */
	int err = look_begin(tracker, process);

	return err ? err : look_end(looks, context_places_resolve(process->pid, &places, found));
}

static int context_read(struct context_tracker *tracker, struct process *process,
			struct process_context *context)
{
	struct foreign_looks *looks = tracker->sink.looks;
	int err = look_begin(tracker, process);

	return err ? err : look_end(looks, process_context_read(process->pid, context, NULL));
}

/* ---- what holds for all processes of a program ---- */

static bool location_is_news(const struct context_location *before,
			     const struct context_location *now)
{
	return (before->flags | CONTEXT_ASSUMED) != (now->flags | CONTEXT_ASSUMED) ||
	       !context_location_is_same(before, now);
}

/*
 * What was told before became what it is: for those that execute the same file. A process may
 * have executed another one while it was looked at: then nothing is known of either.
 */
static int program_learn(struct context_tracker *tracker, struct process *process,
			 const struct context_location *before)
{
	struct foreign_looks *looks = tracker->sink.looks;
	struct context_executed executed;
	int result;

	if (!process->executed.time_ns || !tracker->sink.learn || is_awaited(process) ||
	    !location_is_news(before, &process->location))
		return 0;
	if (look_begin(tracker, process))
		return 0;
	executed = process->executed; /* is not ours to the end, perhaps */
	result = look_end(looks, context_program_is(process->pid, &executed.program));
	if (result == -ECANCELED)
		return result;
	if (result && executed_get(tracker, process->pid, &executed) &&
	    executed.time_ns == process->executed.time_ns)
		tracker->sink.learn(tracker->sink.arg, &executed.program, &process->location);
	return 0;
}

/* ---- describing, asking, looking ---- */

/* The location as it was told, now that it is known whose it is, or that this is not to be had. */
static int location_tell_again(struct context_tracker *tracker, struct process *process,
			       bool awaited)
{
	struct context_location before = awaited ? location_unknown : process->location;
	struct context_location location = process->location;

	location.flags &= (u8)~CONTEXT_FATHOM;
	location_tell(tracker, process, &location);
	return program_learn(tracker, process, &before);
}

static int description_take(struct context_tracker *tracker, struct process *process,
			    const struct process_context *context)
{
	bool awaited = is_awaited(process);

	if (context->published_ns == process->published_ns)
		return 0;
	process->published_ns = context->published_ns;
	process->is_fathom = context->is_fathom;
	process->foreign = context->schema > SCHEMA_TLS;
	if (tracker->sink.describe)
		tracker->sink.describe(tracker->sink.arg, process->pid, context);
	return location_tell_again(tracker, process, awaited);
}

static int description_missing(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	bool awaited = is_awaited(process);

	if (++process->describe_tries < DESCRIBE_TRIES)
		process->describe_due_ns = now_ns + DESCRIBE_PAUSE_NS;
	return awaited && !is_awaited(process) ? location_tell_again(tracker, process, true) : 0;
}

/* Its name can be given to the mapping before the kernel shows it, or again later. */
static int process_describe(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	struct process_context *context = calloc(1, sizeof(*context));
	int result = context ? context_read(tracker, process, context) : -ENOMEM;

	if (result == -ECANCELED) {
		free(context);
		return result;
	}
	process->describe_due_ns = NEVER;
	if (result > 0)
		result = description_take(tracker, process, context);
	else if (result != -ESRCH)
		result = description_missing(tracker, process, now_ns);
	free(context);
	return result == -ESRCH || result == -ECANCELED ? result : 0;
}

/*
 * Asks for the words of the places that are known. Resolved: once more a bit
 * later, since the loader writes them one after the other. Whose they are is
 * read before, or spans count that a fathom writer was told not to sample.
 */
static int process_ask(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	struct context_location found = {0}, before = process->location;
	u64 pause;
	int result = places_resolve(tracker, process, &found);

	if (result == -ECANCELED)
		return result;
	tracker->counts.asks++;
	process->ask_due_ns = NEVER;
	if (result < 0)
		return result;
	if (result) {
		if (!before.known && !process->published_ns)
			result = process_describe(tracker, process, now_ns);
		if (result < 0)
			return result;
		location_tell(tracker, process, &found);
		if (!process->confirm)
			process->ask_due_ns = now_ns + SETTLE_NS;
		process->confirm = !process->confirm;
		return program_learn(tracker, process, &before);
	}
	location_missing(tracker, process, now_ns);
	process->confirm = false;
	if (!process->unresolved_ns)
		process->unresolved_ns = now_ns;
	pause = (now_ns - process->unresolved_ns) / 4;
	if (pause < ASK_FIRST_NS)
		pause = ASK_FIRST_NS;
	process->ask_due_ns = now_ns + (pause > ASK_LAST_NS ? ASK_LAST_NS : pause);
	return 0;
}

static int places_keep(struct process *process, const struct context_places *found)
{
	if (!found->count) {
		free(process->places);
		process->places = NULL;
		return 0;
	}
	if (!process->places)
		process->places = malloc(sizeof(*process->places));
	if (!process->places)
		return -ENOMEM;
	*process->places = *found;
	return 0;
}

static void look_schedule_next(struct process *process, u64 now_ns)
{
	process->look_due_ns = NEVER;
	while (process->follow < FOLLOWS) {
		u64 due = process->event_ns + follow_ns[process->follow++];

		if (due > now_ns) {
			u64 soonest = now_ns + LOOK_PAUSE_NS;

			process->look_due_ns = due > soonest ? due : soonest;
			return;
		}
	}
}

static int process_look(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	struct context_location before = process->location;
	struct context_places found = {0};
	int err = places_find(tracker, process, &found);

	if (err == -ECANCELED)
		return err;
	tracker->counts.looks++;
	process->looked_ns = now_ns;
	look_schedule_next(process, now_ns);
	/* What does not answer now may be what had it. */
	if (!err && !(found.skipped && process->places))
		err = places_keep(process, &found);
	if (err)
		return err;
	if (!process->places) {
		process->ask_due_ns = NEVER;
		location_missing(tracker, process, now_ns);
		return process->location.known ? 0 : program_learn(tracker, process, &before);
	}
	process->confirm = false;
	process->unresolved_ns = 0;
	return process_ask(tracker, process, now_ns);
}

static int process_run(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	int err = 0;

	if (process->describe_due_ns <= now_ns)
		err = process_describe(tracker, process, now_ns);
	if (!err && process->look_due_ns <= now_ns)
		err = process_look(tracker, process, now_ns);
	else if (!err && process->ask_due_ns <= now_ns)
		err = process_ask(tracker, process, now_ns);
	if (err == -ECANCELED)
		return err;
	if (err == -ESRCH) {
		context_tracker_exit(tracker, process->pid);
		return 0;
	}
	if (err) {
		tracker->counts.refused++;
		if (is_assumed(process))
			location_missing(tracker, process, now_ns);
	}
	process_schedule(tracker, process);
	return 0;
}

u64 context_tracker_run(struct context_tracker *tracker, u64 now_ns)
{
	struct process *process, *next;
	u64 due = NEVER;

	for (process = tracker->pending; process; process = next) {
		next = process->next;
		if (process_due(process) <= now_ns && process_run(tracker, process, now_ns))
			return NEVER;
	}
	for (process = tracker->pending; process; process = process->next)
		if (process_due(process) < due)
			due = process_due(process);
	return due;
}

/* ---- what happened ---- */

/* A look as soon as the last one is long enough ago. */
static void look_request(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	u64 due = process->looked_ns ? process->looked_ns + LOOK_PAUSE_NS : now_ns;

	if (due < now_ns)
		due = now_ns;
	process->event_ns = now_ns;
	process->follow = 0;
	if (due < process->look_due_ns)
		process->look_due_ns = due;
	process_schedule(tracker, process);
}

static void describe_request(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	process->describe_due_ns = now_ns;
	process->describe_tries = 0;
	process_schedule(tracker, process);
}

int context_tracker_found(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct process *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	look_request(tracker, process, now_ns);
	describe_request(tracker, process, now_ns);
	return 0;
}

/* The kernel programs took at the exec what they know of the program; or nothing is known. */
static void program_take(struct context_tracker *tracker, struct process *process, u64 now_ns)
{
	memset(&process->executed, 0, sizeof(process->executed));
	(void)executed_get(tracker, process->pid, &process->executed);
	process->begins = !process->executed.assumed.known;
	if (process->begins) {
		location_tell(tracker, process, &location_unknown);
		return;
	}
	process->location = process->executed.assumed;
	process->is_fathom = process->location.flags & CONTEXT_FATHOM;
	process->assumed_until_ns = now_ns + ASSUMED_NS;
	tracker->sink.set(tracker->sink.arg, process->pid, &process->location);
}

int context_tracker_exec(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct process *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	process->looked_ns = 0;
	process->ask_due_ns = process->describe_due_ns = NEVER;
	process->published_ns = 0;
	process->describe_tries = 0;
	process->foreign = process->is_fathom = process->skipped = false;
	free(process->places);
	process->places = NULL;
	program_take(tracker, process, now_ns);
	look_request(tracker, process, now_ns);
	return 0;
}

static int places_copy(struct process *to, const struct process *from)
{
	struct context_places none = {0};

	return places_keep(to, from->places ? from->places : &none);
}

int context_tracker_fork(struct context_tracker *tracker, pid_t parent, pid_t child, u64 now_ns)
{
	const struct process *from = map_get(&tracker->processes, (u64)parent);
	struct context_executed executed;
	struct process *to;

	if (!from)
		return context_tracker_found(tracker, child, now_ns);
	context_tracker_exit(tracker, child); /* a pid that is used again */
	to = process_get(tracker, child);
	if (!to || places_copy(to, from))
		return -ENOMEM;
	skipped_set(tracker, to, from->skipped);
	to->foreign = from->foreign;
	to->is_fathom = from->is_fathom;
	to->begins = is_awaited(from);
	to->assumed_until_ns = from->assumed_until_ns;
	/* one that has executed another program by now is told of soon */
	if (from->location.known && !executed_get(tracker, child, &executed))
		location_tell(tracker, to, &from->location);
	/* The parent was still being looked at: the child is on its own from here. */
	if (process_due(from) != NEVER)
		look_request(tracker, to, now_ns);
	if (to->begins)
		describe_request(tracker, to, now_ns);
	return 0;
}

int context_tracker_mapped(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct process *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	look_request(tracker, process, now_ns);
	return 0;
}

int context_tracker_named(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct process *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	describe_request(tracker, process, now_ns);
	look_request(tracker, process, now_ns);
	return 0;
}

void context_tracker_again(struct context_tracker *tracker, u64 now_ns)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&tracker->processes, &at, &entry)) {
		struct process *process = entry.value;

		if (!process->skipped)
			continue;
		process->skipped = false;
		look_request(tracker, process, now_ns);
		describe_request(tracker, process, now_ns);
	}
}

void context_tracker_counts(const struct context_tracker *tracker,
			    struct context_tracker_counts *counts)
{
	*counts = tracker->counts;
}
