/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "capture/capture.h"
#include "chunk/chunk.h"
#include "recorder/default_dir.h"
#include "recorder/file_limit.h"
#include "recorder/flight.h"
#include "recorder/hook.h"
#include "recorder/internal.h"
#include "recorder/lacks.h"
#include "recorder/options.h"
#include "recorder/owner.h"
#include "recorder/recover.h"
#include "recorder/retention.h"
#include "recorder/until.h"

struct capture_sink recorder_sink(struct recorder *r)
{
	if (r->paused)
		return capture_nowhere();
	if (!r->flight)
		return chunking_sink(&r->chunks);
	return (struct capture_sink){
		.arg = r->flight, .record = flight_record, .lost = flight_lost};
}

/* The number of fields so far that capture could not read, or cut. */
u64 recorder_incomplete(const struct recorder *r)
{
	struct capture_counts c = {0};

	capture_counts(r->capture, &c);
	return c.incomplete;
}

/* ---- when the recording is kept ---- */

/* The recording has begun: its directory may now replace another one. */
static int directory_settle(struct recorder *r, struct error *e)
{
	int err = default_dir_settle(&r->options.dir, e);

	if (!err)
		chunking_moved(&r->chunks, r->options.dir);
	return err;
}

static int retention_begin(struct recorder *r, struct error *e)
{
	const struct retainer_options o = {
		.dir = r->options.dir,
		.hold = &r->hold,
		.keep = r->options.keep,
		.host = r->options.host_name,
		.helper = r->options.retention_helper ? *r->options.retention_helper : 0,
		.capabilities = recorder_directory_capabilities(&r->hold, r->owner)};

	return retainer_open(&r->retainer, &o, e);
}

/*
 * If an error means that the disk is full, deletes what --keep allows to delete. True if that made
 * room; then the error is cleared. What could not be written is counted as lost.
 */
bool recorder_make_room(struct recorder *r, int err, struct error *e)
{
	const struct limits *keep = &r->options.keep;
	struct error none = {0};

	if ((err != -ENOSPC && err != -EDQUOT) || (!keep->time_ns && !keep->bytes))
		return false;
	if (!r->retainer && retention_begin(r, &none))
		return false;
	if (!retainer_make_room(r->retainer))
		return false;
	error_clear(e);
	return true;
}

/* Done once, before the first chunk is sealed, so that the path of the chunk stays valid. */
int recorder_settle(struct recorder *r, struct error *e)
{
	int err = 0;

	if (r->begun)
		return 0;
	r->begun = true;
	if (r->options.settle)
		err = directory_settle(r, e);
	if (!err && !r->retainer && (r->options.keep.time_ns || r->options.keep.bytes))
		err = retention_begin(r, e);
	return err;
}

static int command_look(struct recorder *r, struct error *e)
{
	int begun = r->command_waits ? capture_command_begun(r->capture, e) : 0;

	if (!begun)
		return 0;
	r->command_waits = false;
	if (begun < 0) {
		r->command_failed = begun;
		return begun;
	}
	return recorder_settle(r, e);
}

/* ---- a step ---- */

static bool rotation_due(const struct recorder *r, u64 now)
{
	const struct limits *limits = &r->options.rotate;
	bool wanted = control_wants_rotation(r->control); /* always called: it clears the request */

	/* a chunk may have begun after `now` */
	return wanted ||
	       (limits->time_ns && now > r->chunk_begin_ns &&
		now - r->chunk_begin_ns >= limits->time_ns) ||
	       (limits->bytes && chunking_bytes(&r->chunks) >= limits->bytes);
}

/*
 * Wakes the retainer for each sealed chunk: within its interval of a second, a busy host can write
 * more beyond the limit than the disk has room for.
 */
static void retention_follow(struct recorder *r)
{
	struct chunking_counts counts;

	if (!r->retainer)
		return;
	if (r->options.keep.bytes) {
		chunking_counts(&r->chunks, &counts);
		retainer_follow(r->retainer, counts.chunks);
	}
	retainer_report(r->retainer);
}

int recorder_step(struct recorder *r, struct error *e)
{
	struct capture_sink sink = recorder_sink(r);
	u64 now = host_clock_now_ns();
	int err = capture_poll(r->capture, &sink);

	if (err < 0)
		return error_set(e, err, "cannot read the ring buffers");
	err = command_look(r, e);
	if (!err && now >= costs_due_ns(&r->costs))
		err = recorder_tell_costs(r, e);
	if (!err)
		err = budget_follow(&r->budget, &r->costs, &r->detail, &r->chunks, &sink);
	if (!err)
		err = control_serve(r->control, e);
	if (!err)
		detail_follow(&r->detail, now);
	if (!err)
		err = recorder_follow_pauses(r, e);
	if (!err)
		err = chunking_check(&r->chunks, e);
	if (!err && r->flight) {
		if (control_wants_rotation(r->control))
			recorder_snapshot(r);
	} else if (!err && !r->paused && rotation_due(r, now)) {
		err = recorder_rotate(r, e);
	}
	if (!err && chunking_is_open(&r->chunks) && now >= r->flushed_ns + RECORDER_FLUSH_NS &&
	    now > RECORDER_LATENESS_NS)
		err = recorder_flush(r, now, e);
	retention_follow(r);
	return err;
}

/* ---- begin and end ---- */

static int directory_open(struct recorder *r, struct error *e)
{
	const struct recorder_options *o = &r->options;
	int err = o->dir_fd ? recording_lock_opened(o->dir, *o->dir_fd, &r->hold, e)
			    : recording_lock(o->dir, r->owner, &r->hold, e);

	if (err == -EBUSY)
		error_hint(e, "stop that recorder, or choose another directory with -o");
	else if (err)
		error_hint(e, "choose a writable directory with -o");
	if (!err && o->recover)
		err = o->recover(o->recover_arg, o->dir, &r->hold, e);
	else if (!err)
		err = recover_report(o->dir, &r->hold, NULL, e);
	if (err < 0)
		return err;
	return control_open(&r->control, r->options.dir, &r->hold,
			    r->flight ? "snapshot" : "rotate", e);
}

/* Without -o the directory is a new one, in which nothing can be deleted. */
static int first_chunk_begin(struct recorder *r, struct error *e)
{
	int err = chunking_begin(&r->chunks, r->begin_ns, e);

	if (!err || r->options.settle || !recorder_make_room(r, err, e))
		return err;
	return chunking_begin(&r->chunks, r->begin_ns, e);
}

static int capture_begin(struct recorder *r, struct error *e)
{
	const struct recorder_options *o = &r->options;
	struct capture_options scope = recorder_capture_options(o);
	struct capture_sink sink = recorder_sink(r);
	const struct budget_options budget = {.ppm = o->budget_ppm,
					      .hard = o->budget_hard,
					      .pause_ns = o->budget_pause_ns,
					      .turns_least = o->budget_turns};
	int err = budget_check(o->budget_ppm, e);

	scope.keep_capabilities = recorder_directory_capabilities(&r->hold, r->owner) |
				  recorder_settle_capabilities(o, r->owner);
	if (!err)
		err = capture_open(&scope, &r->capture, e);
	if (!err && o->command)
		err = capture_spawn(r->capture, o->command, e);
	if (!err)
		err = capture_attach(r->capture, e);
	if (!err)
		missing_of(r->capture, r->missing, sizeof(r->missing));
	if (!err)
		r->filters = capture_filters(r->capture);
	r->detail = detail_of(r->capture, recorder_own_detail(o), !o->no_bytes);
	detail_windows(&r->detail, o->calls_ns, o->calls_every_ns);
	budget_begin(&r->budget, &budget, &r->detail, host_clock_now_ns());
	r->begin_ns = r->chunk_begin_ns = r->flushed_ns = host_clock_now_ns();
	if (!err) /* before the chunk is made, which takes a while on a busy disk */
		capture_turn_on(r->capture, r->begin_ns);
	if (!err) {
		costs_begin(&r->costs, r->capture, r->begin_ns);
		costs_helper(&r->costs, o->retention_pid ? *o->retention_pid : 0);
	}
	if (!err && !r->flight)
		err = first_chunk_begin(r, e);
	if (!err)
		err = capture_start(r->capture, r->begin_ns, &sink, e);
	if (!err && o->command && o->interrupted())
		err = -EINTR;
	if (!err && o->command)
		err = capture_release(r->capture, e);
	r->command_waits = !err && o->command;
	return err;
}

int recorder_open(struct recorder **out, const struct recorder_options *options, struct error *e)
{
	static pthread_once_t limited = PTHREAD_ONCE_INIT;
	struct recorder *r = calloc(1, sizeof(*r));
	struct chunking_options chunks;
	int err;

	if (!r)
		return error_set(e, ENOMEM, "cannot start a recording");
	pthread_once(&limited, file_limit_ignore);
	r->options = *options;
	r->hold = (struct recording_hold){-1, -1};
	r->owner = owner_find();
	chunks = (struct chunking_options){.dir = options->dir,
					   .hold = &r->hold,
					   .owner = r->owner,
					   .compress = options->compress,
					   .on_chunk = options->on_chunk,
					   .missing = r->missing,
					   .host = options->host_name,
					   .filters = &r->filters};
	chunking_init(&r->chunks, &chunks);
	*out = r;
	r->flight = options->flight ? flight_new() : NULL;
	if (options->flight && !r->flight)
		return error_set(e, ENOMEM, "cannot start a recording");
	err = directory_open(r, e);
	if (!err && options->on_chunk)
		err = hooks_open(r->owner, e);
	if (!err)
		err = capture_begin(r, e);
	if (!err)
		control_also(r->control, detail_answer, &r->detail);
	if (!err) /* if this fails, requests only wait a little longer */
		(void)capture_wait_for(r->capture, control_listener(r->control));
	if (!err) /* after privileges are dropped: its thread inherits them */
		err = chunking_start(&r->chunks, r->control, e);
	if (r->capture)
		capture_descriptors_hint(r->capture, err, e);
	if (!err && !r->command_waits)
		err = recorder_settle(r, e);
	if (err) /* the chunk has no records */
		chunking_abandon(&r->chunks);
	return err;
}

pid_t recorder_child(const struct recorder *r)
{
	return r->command_waits ? 0 : capture_child(r->capture);
}

bool recorder_descendants_run(const struct recorder *r)
{
	return capture_descendants(r->capture) > 0;
}

int recorder_command_failed(const struct recorder *r)
{
	return r->command_failed;
}

bool recorder_is_asked_to_end(const struct recorder *r)
{
	return r->control && control_wants_end(r->control);
}

bool recorder_begun(const struct recorder *r)
{
	return r->begun;
}

/*
 * Ends all streams at one instant, and waits for producers that are writing a record then. The
 * kernel takes long to detach many events; that is done after the chunk is sealed.
 */
static int streams_end(struct recorder *r, u64 *end_ns)
{
	struct capture_sink sink = recorder_sink(r);
	int err = capture_settle(r->capture, &sink);

	if (!err)
		err = costs_tell(&r->costs, &sink);
	if (!err)
		err = capture_cut(r->capture, &sink, end_ns);
	if (err > 0 && chunking_is_open(&r->chunks)) {
		struct until until = {sink, *end_ns};
		struct capture_sink rest = until_sink(&until);
		u64 later_ns;

		capture_stop(r->capture);
		err = capture_cut(r->capture, &rest, &later_ns);
	}
	return err;
}

int recorder_finish(struct recorder *r, struct error *e)
{
	struct error cut_error = {0}, begin_error = {0}, seal_error = {0};
	u64 cut_ns = host_clock_now_ns();
	int err, sealed;

	command_look(r, &begin_error); /* its exec may have failed just now */
	if (r->command_failed && !r->begun) {
		chunking_abandon(&r->chunks);
		return error_set(e, r->command_failed, "cannot run the command");
	}
	chunking_stopped(&r->chunks);
	err = streams_end(r, &cut_ns);
	r->end_ns = cut_ns;
	err = err < 0 ? error_set(e, err, "cannot read the ring buffers") : 0;
	recorder_settle(r, &begin_error);
	if (error_is_set(&begin_error) && !err) {
		*e = begin_error;
		err = -e->err;
	}
	/* a late record of an application leaves no time of a thread in doubt */
	if (chunking_is_open(&r->chunks) && capture_complete(r->capture, false) < cut_ns)
		chunking_complete(&r->chunks, capture_complete(r->capture, false));
	/* the end of a chunk is exclusive; capture's cut includes its instant */
	if (chunking_is_open(&r->chunks) &&
	    chunking_end(&r->chunks, cut_ns + 1, recorder_incomplete(r), &cut_error) && !err) {
		*e = cut_error;
		err = -e->err;
	}
	sealed = chunking_finish(&r->chunks, &seal_error);
	if (!err && sealed) {
		*e = seal_error;
		err = sealed;
	}
	return err;
}

const char *recorder_missing(const struct recorder *r)
{
	return r->missing;
}

const char *recorder_dir(const struct recorder *r)
{
	return r->options.dir;
}

static u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Whether the budget has lowered the level of detail. */
static bool is_lowered(const struct detail *d)
{
	return d->paused || d->most < d->own || (d->bytes && d->most_bytes != DETAIL_BYTES_ALL);
}

/*
 * The larger count of losses is used: capture counts a loss before it is in a chunk, and chunks
 * also have the losses of the writer.
 */
void recorder_counts(struct recorder *r, struct recorder_counts *out)
{
	struct capture_counts c = {0};

	capture_counts(r->capture, &c);
	*out = (struct recorder_counts){0};
	chunking_counts(&r->chunks, &out->sealed);
	out->written_bytes = chunking_written(&r->chunks);
	out->lost_buffer = most(c.lost_buffer, out->sealed.lost.buffer);
	out->lost_recursion = most(c.lost_recursion, out->sealed.lost.recursion);
	out->lost_application = most(c.lost_application, out->sealed.lost.application);
	out->rings_missed = c.rings_missed;
	out->no_kernel_stacks = c.no_kernel_stacks;
	out->hidden_pids = c.hidden_pids;
	out->hidden_pid = c.hidden_pid;
	out->not_followed = c.not_followed;
	out->lights_unread = c.lights_unread;
	out->lowered = is_lowered(&r->detail);
	out->in_turns = r->detail.bytes && r->detail.most_bytes == DETAIL_BYTES_TURNS;
	out->begin_ns = r->begin_ns;
	out->end_ns = r->end_ns;
}

int recorder_raise(struct recorder *r, pid_t pid, u64 for_ns, struct error *e)
{
	char scope[16];
	const struct detail_request request = {.calls = true, .scope = scope, .for_ns = for_ns};
	const struct detail *d = &r->detail;

	if (d->asked || is_lowered(d))
		return error_say(e, EBUSY, "the level of detail was lowered, or somebody chose it");
	snprintf(scope, sizeof(scope), "%d", (int)pid);
	return detail_ask(&r->detail, &request, host_clock_now_ns(), e);
}

void recorder_raise_end(struct recorder *r)
{
	if (r->detail.asked)
		r->detail.asked_until_ns = 0;
}

void recorder_costs(const struct recorder *r, struct costs_sum *out)
{
	costs_sum(&r->costs, out);
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	capture_close(r->capture);
	chunking_close(&r->chunks);
	retainer_close(r->retainer);
	control_close(r->control);
	flight_free(r->flight);
	recording_unlock(&r->hold);
	free(r);
}
