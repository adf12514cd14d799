/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/context/files.h"
#include "capture/context/program.h"
#include "capture/context/tracker_internal.h"

#define ASK_FIRST_NS (1 * TRACKER_MS)
#define ASK_LAST_NS (90 * TRACKER_MS)
#define SETTLE_NS (50 * TRACKER_MS) /* after which a location is confirmed once */
#define DESCRIBE_PAUSE_NS (10 * TRACKER_MS)
#define DESCRIBE_TRIES 8
#define AWAIT_TRIES 3 /* after these a process context may still come, but nobody waits for it */

/*
 * When a process is looked at again after an exec or a new mapping, in case a notification was
 * lost.
 */
static const u64 follow_ns[] = {10 * TRACKER_MS, 30 * TRACKER_MS, 80 * TRACKER_MS};
#define FOLLOWS (sizeof(follow_ns) / sizeof(follow_ns[0]))

const struct context_location context_location_unknown;

bool tracked_is_awaited(const struct tracked *process)
{
	return process->begins && !process->published_ns && process->describe_tries < AWAIT_TRIES;
}

void tracked_tell(struct context_tracker *tracker, struct tracked *process,
		  const struct context_location *found)
{
	struct context_location location = *found;
	bool moved;

	if (process->foreign)
		memset(&location, 0, sizeof(location));
	else if (location.known && (process->is_fathom || tracked_is_awaited(process)))
		location.flags |= CONTEXT_FATHOM;
	location.light = process->lights.location;
	if (!memcmp(&location, &process->location, sizeof(location)))
		return;
	moved = location.known && !context_location_is_same(&location, &process->location);
	process->location = location;
	tracker->counts.located += location.known;
	tracker->sink.set(tracker->sink.arg, process->pid, &location);
	if (moved && tracker->sink.followed)
		tracker->sink.followed(tracker->sink.arg, process->pid);
}

bool tracked_is_assumed(const struct tracked *process)
{
	return process->location.flags & CONTEXT_ASSUMED;
}

void tracked_missing(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	if (!tracked_is_assumed(process) || now_ns >= process->assumed_until_ns)
		tracked_tell(tracker, process, &context_location_unknown);
}

bool tracker_executed(const struct context_tracker *tracker, pid_t pid,
		      struct context_executed *executed)
{
	return tracker->sink.executed && tracker->sink.executed(tracker->sink.arg, pid, executed);
}

/* ---- looks, which may hang ---- */

void tracked_set_skipped(struct context_tracker *tracker, struct tracked *process, bool skipped)
{
	tracker->counts.skipped += skipped && !process->skipped;
	process->skipped = skipped;
}

/* 0; -EBUSY, and the process counts as skipped; or -ECANCELED. */
static int look_begin(struct context_tracker *tracker, struct tracked *process)
{
	int err = foreign_look_begin(tracker->sink.looks, FOREIGN_PROCESS(process->pid));

	if (err == -EBUSY)
		tracked_set_skipped(tracker, process, true);
	return err;
}

/* Returns `result`, or -ECANCELED: then the tracker belongs to another thread. */
static int look_end(struct foreign_looks *looks, int result)
{
	int err = foreign_look_end(looks);

	return err ? err : result;
}

static int places_find(struct context_tracker *tracker, struct tracked *process,
		       struct context_places *found)
{
	struct foreign_looks *looks = tracker->sink.looks;
	int err = look_begin(tracker, process);

	if (err)
		return err;
	err = look_end(looks, context_places_find(tracker->files, process->pid, found, NULL));
	if (!err)
		tracked_set_skipped(tracker, process, found->skipped);
	return err;
}

static int places_resolve(struct context_tracker *tracker, struct tracked *process,
			  struct context_location *found)
{
	struct foreign_looks *looks = tracker->sink.looks;
	struct context_places places =
		*process->places; /* the original may be freed during the look */
	int err = look_begin(tracker, process);

	return err ? err : look_end(looks, context_places_resolve(process->pid, &places, found));
}

static int context_read(struct context_tracker *tracker, struct tracked *process,
			struct process_context *context)
{
	struct foreign_looks *looks = tracker->sink.looks;
	int err = look_begin(tracker, process);

	return err ? err : look_end(looks, process_context_read(process->pid, context, NULL));
}

/* ---- locations of a program, for all its processes ---- */

static bool location_is_news(const struct context_location *before,
			     const struct context_location *now)
{
	return (before->flags | CONTEXT_ASSUMED) != (now->flags | CONTEXT_ASSUMED) ||
	       !context_location_is_same(before, now) ||
	       memcmp(&before->light, &now->light, sizeof(now->light)) != 0;
}

/* Whether more of the location may come soon. That of goroutines is complete at once. */
static bool location_is_awaited(const struct tracked *process)
{
	return tracked_is_awaited(process) &&
	       (process->location.known || !process->location.light.id);
}

/*
 * Tells the new location of the process to processes that will execute the same file, if it differs
 * from `before`. Tells nothing if the process executed another file while it was looked at. 0 or
 * -ECANCELED.
 */
static int program_learn(struct context_tracker *tracker, struct tracked *process,
			 const struct context_location *before)
{
	struct foreign_looks *looks = tracker->sink.looks;
	struct context_executed executed;
	int result;

	if (!process->executed.time_ns || !tracker->sink.learn || location_is_awaited(process) ||
	    !location_is_news(before, &process->location))
		return 0;
	if (look_begin(tracker, process))
		return 0;
	executed = process->executed; /* the original may be freed during the look */
	result = look_end(looks, context_program_is(process->pid, &executed.program));
	if (result == -ECANCELED)
		return result;
	if (result && tracker_executed(tracker, process->pid, &executed) &&
	    executed.time_ns == process->executed.time_ns)
		tracker->sink.learn(tracker->sink.arg, &executed.program, &process->location);
	return 0;
}

/* ---- describing, asking, looking ---- */

/*
 * Tells the location again, once it is known which library writes there, or once nobody waits for
 * that any more. 0 or -ECANCELED.
 */
static int location_tell_again(struct context_tracker *tracker, struct tracked *process,
			       bool awaited)
{
	struct context_location before = awaited ? context_location_unknown : process->location;
	struct context_location location = process->location;

	location.flags &= (u8)~CONTEXT_FATHOM;
	tracked_tell(tracker, process, &location);
	return program_learn(tracker, process, &before);
}

static int description_take(struct context_tracker *tracker, struct tracked *process,
			    const struct process_context *context)
{
	bool awaited = tracked_is_awaited(process);

	if (context->published_ns == process->published_ns)
		return 0;
	process->published_ns = context->published_ns;
	process->is_fathom = context->is_fathom;
	process->foreign = context->schema > SCHEMA_TLS;
	if (tracker->sink.describe)
		tracker->sink.describe(tracker->sink.arg, process->pid, context);
	return location_tell_again(tracker, process, awaited);
}

static int description_missing(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	bool awaited = tracked_is_awaited(process);

	if (++process->describe_tries < DESCRIBE_TRIES)
		process->describe_due_ns = now_ns + DESCRIBE_PAUSE_NS;
	return awaited && !tracked_is_awaited(process) ? location_tell_again(tracker, process, true)
						       : 0;
}

int tracked_describe(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	struct process_context *context = calloc(1, sizeof(*context));
	int result = context ? context_read(tracker, process, context) : -ENOMEM;

	if (result == -ECANCELED) {
		free(context);
		return result;
	}
	process->describe_due_ns = TRACKER_NEVER;
	if (result > 0)
		result = description_take(tracker, process, context);
	else if (result != -ESRCH)
		result = description_missing(tracker, process, now_ns);
	free(context);
	return result == -ESRCH || result == -ECANCELED ? result : 0;
}

int tracked_ask(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	struct context_location found = {0}, before = process->location;
	u64 pause;
	int result = places_resolve(tracker, process, &found);

	if (result == -ECANCELED)
		return result;
	tracker->counts.asks++;
	process->ask_due_ns = TRACKER_NEVER;
	if (result < 0)
		return result;
	if (result) {
		if (!before.known && !process->published_ns)
			result = tracked_describe(tracker, process, now_ns);
		if (result < 0)
			return result;
		tracked_tell(tracker, process, &found);
		if (!process->confirm)
			process->ask_due_ns = now_ns + SETTLE_NS;
		process->confirm = !process->confirm;
		return program_learn(tracker, process, &before);
	}
	tracked_missing(tracker, process, now_ns);
	process->confirm = false;
	if (!process->unresolved_ns)
		process->unresolved_ns = now_ns;
	pause = (now_ns - process->unresolved_ns) / 4;
	if (pause < ASK_FIRST_NS)
		pause = ASK_FIRST_NS;
	process->ask_due_ns = now_ns + (pause > ASK_LAST_NS ? ASK_LAST_NS : pause);
	return 0;
}

int tracked_keep_places(struct tracked *process, const struct context_places *found)
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

static void look_schedule_next(struct tracked *process, u64 now_ns)
{
	process->look_due_ns = TRACKER_NEVER;
	while (process->follow < FOLLOWS) {
		u64 due = process->event_ns + follow_ns[process->follow++];

		if (due > now_ns) {
			u64 soonest = now_ns + TRACKER_PAUSE_NS;

			process->look_due_ns = due > soonest ? due : soonest;
			return;
		}
	}
}

/* Keeps what is known of goroutines if the look may have missed them. */
static void lights_keep(struct context_tracker *tracker, struct tracked *process,
			const struct context_places *found)
{
	if (found->skipped && process->lights.location.id)
		return;
	tracker->counts.unread += found->lights.unread && !process->lights.unread;
	process->lights = found->lights;
}

int tracked_look(struct context_tracker *tracker, struct tracked *process, u64 now_ns)
{
	struct context_location before = process->location;
	struct context_places found = {0};
	int err = places_find(tracker, process, &found);

	if (err == -ECANCELED)
		return err;
	tracker->counts.looks++;
	process->looked_ns = now_ns;
	look_schedule_next(process, now_ns);
	if (!err)
		lights_keep(tracker, process, &found);
	/* the place may be in a file that does not answer now: keep those that are known */
	if (!err && !(found.skipped && process->places))
		err = tracked_keep_places(process, &found);
	if (err)
		return err;
	if (!process->places) {
		process->ask_due_ns = TRACKER_NEVER;
		tracked_missing(tracker, process, now_ns);
		return process->location.known ? 0 : program_learn(tracker, process, &before);
	}
	process->confirm = false;
	process->unresolved_ns = 0;
	return tracked_ask(tracker, process, now_ns);
}
