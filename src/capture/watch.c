// SPDX-License-Identifier: Apache-2.0
#include "capture/watch.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host_clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "bpf/notice.h"
#include "capture/app/seek.h"
#include "capture/context/service.h"
#include "capture/context/tracker.h"
#include "capture/internal.h"
#include "proc/look.h"
#include "programs.skel.h"

#define EVENTS_MAX 262144 /* waiting; more are dropped, and found by later looks or not at all */
#define SERVICES_MAX 4096 /* waiting; more are dropped and counted */
#define NEVER UINT64_MAX
#define MS 1000000ull
#define STUCK_NS (1000 * MS)
#define SETTLE_NS (100 * MS)

enum watch_what {
	WATCH_FOUND,
	WATCH_FORK,
	WATCH_EXEC,
	WATCH_EXIT,
	WATCH_RING,
	WATCH_MAPPED,
	WATCH_NAMED,
};

struct watch_event {
	u32 what;
	pid_t pid, parent;
	u64 time_ns; /* of a notice */
};

/* All that a process does under its spans is recorded now, if it is what it was then. */
struct watch_followed {
	pid_t pid;
	u64 time_ns; /* before the look that found where its context is */
};

struct capture_watch {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wake;
	pthread_cond_t settled;	 /* with each change of done */
	u64 pushed, taken, done; /* events; done: each process of theirs was looked at once */
	bool stop, again;	 /* again: what was skipped is worth a look */
	VEC(struct watch_event) events;
	VEC(struct app_ring_reached *) reached; /* of a process each */
	VEC(pid_t) missed;
	VEC(struct watch_followed) followed;   /* with --spans-only */
	VEC(struct record_service *) services; /* owned */
	int ready;   /* one of these has something: read without the mutex */
	int wake_fd; /* of the capture that collects: written when one gets something */

	u64 missed_count; /* events dropped, locations not told: by any thread, atomic */

	pthread_mutex_t gate;	 /* guards the next */
	struct capture *capture; /* NULL: it is being closed */

	/* of the thread that drains */
	bool is_vacant; /* there is no thread */
	u64 returned;	/* of looks, as seen last */

	/* of the thread alone, until its work is taken away */
	struct foreign_looks *looks;
	u64 skipped; /* of the tracker's counts, as counted */
	u64 step_ns; /* the looks of this step began after it */
	struct context_tracker *tracker;
	struct map located; /* processes whose location the programs know */
	bool is_told;	    /* the last location was, and programs record under spans only */
	struct app_ring_seek *seek;
};

/* Something is to be collected, or told; with the mutex. */
static void ready_set(struct capture_watch *w)
{
	__atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
	eventfd_write(w->wake_fd, 1);
}

/* ---- what the tracker says ---- */

/* From now on the programs see when the process has a span. */
static void followed_pass_on(void *arg, pid_t pid)
{
	struct capture_watch *w = arg;

	if (!w->is_told)
		return;
	pthread_mutex_lock(&w->mutex);
	/* else it is in doubt what it does */
	(void)vec_push(&w->followed, ((struct watch_followed){pid, w->step_ns}));
	ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

static void location_set(void *arg, pid_t pid, const struct context_location *location)
{
	struct capture_watch *w = arg;

	if (location->known)
		(void)map_put(&w->located, (u64)pid, w);
	else if (!map_remove(&w->located, (u64)pid))
		return;
	pthread_mutex_lock(&w->gate);
	w->is_told = w->capture && !capture_context_set(w->capture, pid, location);
	if (w->capture && !w->is_told)
		__atomic_fetch_add(&w->missed_count, 1, __ATOMIC_RELAXED);
	w->is_told = w->is_told && (w->capture->filters & FILTER_SPANS);
	pthread_mutex_unlock(&w->gate);
}

static bool executed_get(void *arg, pid_t pid, struct context_executed *executed)
{
	struct capture_watch *w = arg;
	bool found;

	pthread_mutex_lock(&w->gate);
	found = w->capture && capture_context_executed(w->capture, pid, executed);
	pthread_mutex_unlock(&w->gate);
	return found;
}

static void program_learn(void *arg, const struct context_program *program,
			  const struct context_location *location)
{
	struct capture_watch *w = arg;

	pthread_mutex_lock(&w->gate);
	if (w->capture)
		capture_context_learn(w->capture, program, location);
	pthread_mutex_unlock(&w->gate);
}

/* What another library says about its process; ours tells of its own. */
static void description_set(void *arg, pid_t pid, const struct process_context *context)
{
	struct capture_watch *w = arg;
	struct record_service *r;

	if (context->is_fathom)
		return;
	r = foreign_service_record(pid, context);
	pthread_mutex_lock(&w->mutex);
	if (!r || w->services.count >= SERVICES_MAX || vec_push(&w->services, r)) {
		free(r);
		__atomic_fetch_add(&w->missed_count, 1, __ATOMIC_RELAXED);
	}
	ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

/* ---- rings ---- */

static void rings_pass_on(void *arg, pid_t pid, struct app_ring_reached *reached)
{
	struct capture_watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	if (vec_push(&w->reached, reached)) {
		app_ring_drop(reached);
		(void)vec_push(&w->missed, pid);
	}
	ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

static void ring_missed(void *arg, pid_t pid)
{
	struct capture_watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	(void)vec_push(&w->missed, pid);
	ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

/* ---- the thread ---- */

static void event_exit(struct capture_watch *w, pid_t pid)
{
	static const struct context_location unknown;

	context_tracker_exit(w->tracker, pid);
	location_set(w, pid, &unknown);
	app_ring_seek_exit(w->seek, pid);
}

static void event_take(struct capture_watch *w, const struct watch_event *event, u64 now)
{
	switch (event->what) {
	case WATCH_FOUND:
		(void)context_tracker_found(w->tracker, event->pid, now);
		app_ring_seek_found(w->seek, event->pid, now);
		break;
	case WATCH_FORK:
		(void)context_tracker_fork(w->tracker, event->parent, event->pid, now);
		break;
	case WATCH_EXEC:
		(void)context_tracker_exec(w->tracker, event->pid, now);
		app_ring_seek_exec(w->seek, event->pid, event->time_ns);
		break;
	case WATCH_EXIT:
		event_exit(w, event->pid);
		break;
	case WATCH_RING:
		app_ring_seek_made(w->seek, event->pid, event->time_ns, now);
		break;
	case WATCH_MAPPED:
		(void)context_tracker_mapped(w->tracker, event->pid, now);
		break;
	case WATCH_NAMED:
		(void)context_tracker_named(w->tracker, event->pid, now);
		break;
	}
}

static void skipped_count(struct capture_watch *w)
{
	struct context_tracker_counts counts;

	context_tracker_counts(w->tracker, &counts);
	__atomic_fetch_add(&w->missed_count, counts.skipped - w->skipped, __ATOMIC_RELAXED);
	w->skipped = counts.skipped;
}

/* When the next step is due: not after `now`, if this one did not come to look at all. */
static u64 watch_step(struct capture_watch *w, const struct watch_event *events, size_t count,
		      u64 now)
{
	u64 due, tracker_due;

	w->step_ns = now;
	for (size_t i = 0; i < count; i++)
		event_take(w, &events[i], now);
	due = app_ring_seek_run(w->seek, now);
	if (foreign_work_is_taken())
		return NEVER;
	w->step_ns = host_clock_now_ns();
	tracker_due = context_tracker_run(w->tracker, w->step_ns);
	if (foreign_work_is_taken())
		return NEVER;
	skipped_count(w);
	return tracker_due < due ? tracker_due : due;
}

static void watch_wait(struct capture_watch *w, u64 due_ns)
{
	u64 until_ns = host_clock_own_ns(due_ns);
	struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};

	if (due_ns == NEVER)
		pthread_cond_wait(&w->wake, &w->mutex);
	else
		pthread_cond_timedwait(&w->wake, &w->mutex, &until);
}

static void capabilities_drop(struct capture_watch *w)
{
	bool drop = false;
	u64 keep = 0;

	pthread_mutex_lock(&w->gate);
	if (w->capture) {
		drop = w->capture->drop_capabilities;
		keep = w->capture->keep_capabilities & 1ull << CAP_BPF;
	}
	pthread_mutex_unlock(&w->gate);
	if (drop)
		capture_capabilities_drop(keep);
}

static void *watch_run(void *arg)
{
	struct capture_watch *w = arg;
	struct watch_event batch[256];
	u64 due = 0, now;

	foreign_looks_join(w->looks);
	capabilities_drop(w);
	pthread_mutex_lock(&w->mutex);
	while (!w->stop) {
		size_t count = w->events.count < 256 ? w->events.count : 256;

		if (count == 0 && !w->again && host_clock_now_ns() < due) {
			watch_wait(w, due);
			continue;
		}
		if (w->again)
			context_tracker_again(w->tracker, host_clock_now_ns());
		w->again = false;
		if (count)
			memcpy(batch, w->events.data, count * sizeof(batch[0]));
		w->events.count -= count;
		if (w->events.count)
			memmove(w->events.data, w->events.data + count,
				w->events.count * sizeof(batch[0]));
		w->taken += count;
		pthread_mutex_unlock(&w->mutex);
		now = host_clock_now_ns();
		due = watch_step(w, batch, count, now);
		if (foreign_work_is_taken())
			return NULL;
		pthread_mutex_lock(&w->mutex);
		if (due <= now)
			continue;
		w->done = w->taken;
		pthread_cond_broadcast(&w->settled);
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

/* ---- begin and end ---- */

static void watch_free(struct capture_watch *w)
{
	context_tracker_free(w->tracker);
	app_ring_seek_free(w->seek);
	for (size_t i = 0; i < w->reached.count; i++)
		app_ring_drop(w->reached.data[i]);
	for (size_t i = 0; i < w->services.count; i++)
		free(w->services.data[i]);
	vec_free(&w->services);
	vec_free(&w->events);
	vec_free(&w->reached);
	vec_free(&w->missed);
	vec_free(&w->followed);
	map_free(&w->located);
	foreign_looks_free(w->looks);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	free(w);
}

int capture_watch_open(struct capture *c, struct capture_watch **out, struct error *e)
{
	struct capture_watch *w = calloc(1, sizeof(*w));
	struct context_tracker_sink sink = {.arg = w,
					    .set = location_set,
					    .followed = followed_pass_on,
					    .executed = executed_get,
					    .learn = program_learn,
					    .describe = description_set};
	struct app_ring_seek_sink rings = {
		.arg = w, .reached = rings_pass_on, .missed = ring_missed};
	pthread_condattr_t attr;
	int err;

	if (!w)
		return error_set(e, ENOMEM, "cannot look at processes");
	w->capture = c;
	pthread_mutex_init(&w->mutex, NULL);
	pthread_mutex_init(&w->gate, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_cond_init(&w->settled, &attr);
	w->looks = sink.looks = rings.looks = foreign_looks_new();
	w->tracker = w->looks ? context_tracker_new(&sink) : NULL;
	w->seek = app_ring_seek_new(&rings);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = w->wake_fd < 0 ? errno : w->tracker && w->seek ? 0 : ENOMEM;
	err = err ? err : thread_start(&w->thread, watch_run, w);
	if (err) {
		watch_free(w);
		return error_set(e, err, "cannot look at processes");
	}
	*out = w;
	return 0;
}

void capture_watch_close(struct capture_watch *w)
{
	u64 until_ns = clock_now_ns() + STUCK_NS;
	struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};

	if (!w)
		return;
	pthread_mutex_lock(&w->gate);
	w->capture = NULL;
	pthread_mutex_unlock(&w->gate);
	pthread_mutex_lock(&w->mutex);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
	if (w->is_vacant || !pthread_clockjoin_np(w->thread, NULL, CLOCK_MONOTONIC, &until)) {
		watch_free(w);
		return;
	}
	pthread_detach(w->thread);
	if (foreign_looks_take(w->looks))
		watch_free(w);
}

/* ---- a thread that hangs ---- */

/* Another one goes on with its work. */
static void thread_replace(struct capture_watch *w)
{
	pthread_mutex_lock(&w->mutex);
	w->done = w->taken;
	pthread_cond_broadcast(&w->settled);
	pthread_mutex_unlock(&w->mutex);
	pthread_detach(w->thread);
	w->is_vacant = true;
}

static void watch_supervise(struct capture_watch *w)
{
	u64 returned = foreign_looks_returned(w->looks);

	if (foreign_looks_take(w->looks))
		thread_replace(w);
	if (w->is_vacant && !thread_start(&w->thread, watch_run, w))
		w->is_vacant = false;
	if (returned == w->returned)
		return;
	w->returned = returned;
	pthread_mutex_lock(&w->mutex);
	w->again = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
}

/* ---- in and out ---- */

static void event_push(struct capture_watch *w, const struct watch_event *event)
{
	pthread_mutex_lock(&w->mutex);
	if (w->events.count >= EVENTS_MAX || vec_push(&w->events, *event))
		__atomic_fetch_add(&w->missed_count, 1, __ATOMIC_RELAXED);
	else
		w->pushed++;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
}

/*
 * In a pid namespace the numbers in records are not those of our /proc: what
 * is looked up there by number would be another process's.
 */
static bool watch_can_look(const struct capture_watch *w)
{
	return !w->capture || !w->capture->programs || !w->capture->programs->bss->own_level;
}

u64 capture_watch_missed(const struct capture_watch *w)
{
	return w ? __atomic_load_n(&w->missed_count, __ATOMIC_RELAXED) : 0;
}

void capture_watch_life(struct capture_watch *w, const struct record_head *r)
{
	const struct record_fork *fork = (const void *)r;
	const struct record_exit *exit = (const void *)r;
	struct watch_event event = {.pid = (pid_t)r->pid, .time_ns = r->time_ns};

	if (!w || !watch_can_look(w))
		return;
	switch (r->kind) {
	case RECORD_process:
		event.what = WATCH_FOUND;
		event.pid = (pid_t)r->tid;
		break;
	case RECORD_fork:
		if (fork->flags & (THREAD_IS_THREAD | THREAD_KERNEL))
			return;
		event.what = WATCH_FORK;
		event.parent = (pid_t)fork->parent_pid;
		break;
	case RECORD_exec:
		event.what = WATCH_EXEC;
		break;
	case RECORD_exit:
		if (!(exit->flags & 1))
			return;
		event.what = WATCH_EXIT;
		break;
	default:
		return;
	}
	event_push(w, &event);
}

bool capture_watch_notice(struct capture_watch *w, const struct record_head *r)
{
	static const u8 what[] = {[NOTICE_RING] = WATCH_RING,
				  [NOTICE_MAPPED] = WATCH_MAPPED,
				  [NOTICE_NAMED] = WATCH_NAMED};

	struct watch_event event = {.pid = (pid_t)r->pid, .time_ns = r->time_ns};

	if (r->kind != NOTICE_KIND)
		return false;
	if (w && !watch_can_look(w) && r->slots == NOTICE_RING)
		ring_missed(w, (pid_t)r->pid);
	if (!w || !watch_can_look(w) || !r->slots || r->slots >= sizeof(what))
		return true;
	event.what = what[r->slots];
	event_push(w, &event);
	return true;
}

void capture_watch_settle(struct capture_watch *w)
{
	u64 until_ns = clock_now_ns() + SETTLE_NS, wanted;
	struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};

	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	wanted = w->pushed;
	while (w->done < wanted && !pthread_cond_timedwait(&w->settled, &w->mutex, &until))
		;
	pthread_mutex_unlock(&w->mutex);
}

void capture_watch_collect(struct capture_watch *w, struct app_rings *rings)
{
	if (w)
		watch_supervise(w);
	if (!w || !__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&w->mutex);
	for (size_t i = 0; i < w->reached.count; i++)
		(void)app_rings_add(rings, w->reached.data[i]);
	for (size_t i = 0; i < w->missed.count; i++)
		app_rings_missed(rings, w->missed.data[i]);
	w->reached.count = w->missed.count = 0;
	__atomic_store_n(&w->ready, 0, __ATOMIC_RELEASE);
	if (w->followed.count || w->services.count)
		ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

/* Whether the process executed another program since: of that the kernel programs tell. */
static bool followed_is_over(struct capture *c, const struct watch_followed *f, u64 now_ns)
{
	struct context_executed executed;

	return capture_context_executed(c, f->pid, &executed) && executed.time_ns > f->time_ns &&
	       executed.time_ns <= now_ns;
}

static int followed_tell(struct capture *c, const struct capture_sink *sink,
			 const struct capture_stream *stream)
{
	struct capture_watch *w = c->watch;
	struct watch_followed list[256];
	size_t count;
	int err = 0;

	pthread_mutex_lock(&w->mutex);
	count = w->followed.count < 256 ? w->followed.count : 256;
	for (size_t i = 0; i < count; i++)
		list[i] = w->followed.data[w->followed.count - 1 - i];
	w->followed.count -= count;
	pthread_mutex_unlock(&w->mutex);
	for (size_t i = 0; i < count && !err; i++) {
		union {
			struct record_filter r;
			u8 slot[RECORD_SLOT_BYTES];
		} out = {.r = {.head = {.kind = RECORD_filter,
					.slots = 1,
					.time_ns = host_clock_now_ns(),
					.pid = (u32)list[i].pid},
			       .flags = FILTER_SPANS | FILTER_FOLLOWS}};

		if (!followed_is_over(c, &list[i], out.r.head.time_ns))
			err = capture_deliver(c, sink, stream, &out.r.head);
	}
	return err;
}

static int services_tell(struct capture *c, const struct capture_sink *sink,
			 const struct capture_stream *stream)
{
	struct capture_watch *w = c->watch;
	VEC(struct record_service *) services = {0};
	int err = 0;

	pthread_mutex_lock(&w->mutex);
	(void)vec_move(&services, &w->services);
	pthread_mutex_unlock(&w->mutex);
	for (size_t i = 0; i < services.count; i++) {
		services.data[i]->head.time_ns = host_clock_now_ns();
		err = err ? err : capture_deliver(c, sink, stream, &services.data[i]->head);
		free(services.data[i]);
	}
	vec_free(&services);
	return err;
}

int capture_watch_fd(const struct capture_watch *w)
{
	return w->wake_fd;
}

int capture_watch_tell(struct capture *c, const struct capture_sink *sink)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	int err;

	if (!c->watch || !__atomic_load_n(&c->watch->ready, __ATOMIC_ACQUIRE))
		return 0;
	err = followed_tell(c, sink, &stream);
	return err ? err : services_tell(c, sink, &stream);
}
