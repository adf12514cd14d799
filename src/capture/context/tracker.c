/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/context/files.h"
#include "capture/context/tracker_internal.h"

#define ASSUMED_NS (80 * TRACKER_MS) /* after an exec; by then libraries were looked at */

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

static u64 process_due(const struct tracked *process)
{
	u64 due = process->look_due_ns;

	if (process->ask_due_ns < due)
		due = process->ask_due_ns;
	return process->describe_due_ns < due ? process->describe_due_ns : due;
}

static void process_unlink(struct tracked *process)
{
	if (!process->link)
		return;
	*process->link = process->next;
	if (process->next)
		process->next->link = process->link;
	process->link = NULL;
}

/* Puts the process into the list if something is due, takes it out otherwise. */
static void process_schedule(struct context_tracker *tracker, struct tracked *process)
{
	if (process_due(process) == TRACKER_NEVER) {
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

static void process_free(struct tracked *process)
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

static struct tracked *process_get(struct context_tracker *tracker, pid_t pid)
{
	struct tracked *process = map_get(&tracker->processes, (u64)pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->look_due_ns = process->ask_due_ns = process->describe_due_ns = TRACKER_NEVER;
	if (map_put(&tracker->processes, (u64)pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

void context_tracker_exit(struct context_tracker *tracker, pid_t pid)
{
	struct tracked *process = map_remove(&tracker->processes, (u64)pid);

	if (process)
		process_free(process);
}

static int process_run(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	int err = 0;

	if (process->describe_due_ns <= now_ns)
		err = tracked_describe(tracker, process, now_ns);
	if (!err && process->look_due_ns <= now_ns)
		err = tracked_look(tracker, process, now_ns);
	else if (!err && process->ask_due_ns <= now_ns)
		err = tracked_ask(tracker, process, now_ns);
	if (err == -ECANCELED)
		return err;
	if (err == -ESRCH) {
		context_tracker_exit(tracker, process->pid);
		return 0;
	}
	if (err) {
		tracker->counts.refused++;
		if (tracked_is_assumed(process))
			tracked_missing(tracker, process, now_ns);
	}
	process_schedule(tracker, process);
	return 0;
}

u64 context_tracker_run(struct context_tracker *tracker, u64 now_ns)
{
	struct tracked *process, *next;
	u64 due = TRACKER_NEVER;

	for (process = tracker->pending; process; process = next) {
		next = process->next;
		if (process_due(process) <= now_ns && process_run(tracker, process, now_ns))
			return TRACKER_NEVER;
	}
	for (process = tracker->pending; process; process = process->next)
		if (process_due(process) < due)
			due = process_due(process);
	return due;
}

/* ---- events ---- */

/* Requests a look, at once or as soon as the last one is long enough ago. */
static void look_request(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	u64 due = process->looked_ns ? process->looked_ns + TRACKER_PAUSE_NS : now_ns;

	if (due < now_ns)
		due = now_ns;
	process->event_ns = now_ns;
	process->follow = 0;
	if (due < process->look_due_ns)
		process->look_due_ns = due;
	process_schedule(tracker, process);
}

static void describe_request(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	process->describe_due_ns = now_ns;
	process->describe_tries = 0;
	process_schedule(tracker, process);
}

int context_tracker_found(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct tracked *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	look_request(tracker, process, now_ns);
	describe_request(tracker, process, now_ns);
	return 0;
}

/* Takes the location that the kernel programs assumed at the exec, if they knew the program. */
static void program_take(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	memset(&process->executed, 0, sizeof(process->executed));
	(void)tracker_executed(tracker, process->pid, &process->executed);
	process->begins = !process->executed.assumed.known;
	process->lights = (struct context_lights){.location = process->executed.assumed.light};
	if (process->begins) {
		tracked_tell(tracker, process, &context_location_unknown);
		return;
	}
	process->location = process->executed.assumed;
	process->is_fathom = process->location.flags & CONTEXT_FATHOM;
	process->assumed_until_ns = now_ns + ASSUMED_NS;
	tracker->sink.set(tracker->sink.arg, process->pid, &process->location);
}

int context_tracker_exec(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct tracked *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	process->looked_ns = 0;
	process->ask_due_ns = process->describe_due_ns = TRACKER_NEVER;
	process->published_ns = 0;
	process->describe_tries = 0;
	process->foreign = process->is_fathom = process->skipped = false;
	free(process->places);
	process->places = NULL;
	program_take(tracker, process, now_ns);
	look_request(tracker, process, now_ns);
	return 0;
}

static int places_copy(struct tracked *to, const struct tracked *from)
{
	struct context_places none = {0};

	return tracked_keep_places(to, from->places ? from->places : &none);
}

int context_tracker_fork(struct context_tracker *tracker, pid_t parent, pid_t child, u64 now_ns)
{
	const struct tracked *from = map_get(&tracker->processes, (u64)parent);
	struct context_executed executed;
	struct tracked *to;

	if (!from)
		return context_tracker_found(tracker, child, now_ns);
	context_tracker_exit(tracker, child); /* the pid may be used again */
	to = process_get(tracker, child);
	if (!to || places_copy(to, from))
		return -ENOMEM;
	tracked_set_skipped(tracker, to, from->skipped);
	to->lights = from->lights;
	to->foreign = from->foreign;
	to->is_fathom = from->is_fathom;
	to->begins = tracked_is_awaited(from);
	to->assumed_until_ns = from->assumed_until_ns;
	/* if the child has executed another program by now, its exec is told soon */
	if (context_location_tells(&from->location) && !tracker_executed(tracker, child, &executed))
		tracked_tell(tracker, to, &from->location);
	/* the looks that are due at the parent are due at the child, too */
	if (process_due(from) != TRACKER_NEVER)
		look_request(tracker, to, now_ns);
	if (to->begins)
		describe_request(tracker, to, now_ns);
	return 0;
}

int context_tracker_mapped(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct tracked *process = process_get(tracker, pid);

	if (!process)
		return -ENOMEM;
	look_request(tracker, process, now_ns);
	return 0;
}

int context_tracker_named(struct context_tracker *tracker, pid_t pid, u64 now_ns)
{
	struct tracked *process = process_get(tracker, pid);

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
		struct tracked *process = entry.value;

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
