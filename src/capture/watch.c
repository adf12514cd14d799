// SPDX-License-Identifier: Apache-2.0
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
#include "base/thread.h"
#include "bpf/notice.h"
#include "capture/kernel/kernel.h"
#include "capture/watch_internal.h"
#include "proc/look.h"
#include "programs.skel.h"

#define EVENTS_MAX 262144 /* waiting; more are dropped and counted */
#define BATCH 256
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

/* ---- the thread ---- */

static void event_exit(struct capture_watch *w, pid_t pid)
{
	context_tracker_exit(w->tracker, pid);
	watch_location_forget(w, pid);
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

/* Adds up what the tracker has counted. */
static void counts_take(struct capture_watch *w)
{
	struct context_tracker_counts counts;

	context_tracker_counts(w->tracker, &counts);
	__atomic_fetch_add(&w->missed_count, counts.skipped - w->skipped, __ATOMIC_RELAXED);
	w->skipped = counts.skipped;
	__atomic_store_n(&w->unread_count, counts.unread, __ATOMIC_RELAXED);
}

/* Does one step. Returns when the next is due; at or before `now` if looks are left for it. */
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
	counts_take(w);
	return tracker_due < due ? tracker_due : due;
}

static void watch_wait(struct capture_watch *w, u64 due_ns)
{
	if (due_ns == NEVER)
		pthread_cond_wait(&w->wake, &w->mutex);
	else
		condition_wait(&w->wake, &w->mutex, host_clock_own_ns(due_ns));
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
	struct watch_event batch[BATCH];
	u64 due = 0, now;

	foreign_looks_join(w->looks);
	capabilities_drop(w);
	pthread_mutex_lock(&w->mutex);
	while (!w->stop) {
		size_t count = w->events.count < BATCH ? w->events.count : BATCH;

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
	struct context_tracker_sink sink;
	struct app_ring_seek_sink rings;
	int err;

	if (!w)
		return error_set(e, ENOMEM, "cannot watch processes");
	w->capture = c;
	pthread_mutex_init(&w->mutex, NULL);
	pthread_mutex_init(&w->gate, NULL);
	condition_init(&w->wake);
	condition_init(&w->settled);
	w->looks = foreign_looks_new();
	sink = watch_tracker_sink(w);
	rings = watch_seek_sink(w);
	w->tracker = w->looks ? context_tracker_new(&sink) : NULL;
	w->seek = app_ring_seek_new(&rings);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = w->wake_fd < 0 ? errno : w->tracker && w->seek ? 0 : ENOMEM;
	err = err ? err : thread_start(&w->thread, watch_run, w);
	if (err) {
		watch_free(w);
		return error_set(e, err, "cannot watch processes");
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

/* Leaves the thread behind; watch_supervise() starts another one. */
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
 * Whether processes can be looked up. If we are in a pid namespace, the numbers in records are not
 * those of our /proc, where they name other processes.
 */
static bool watch_can_look(const struct capture_watch *w)
{
	return !w->capture || !w->capture->programs || !w->capture->programs->bss->own_level;
}

u64 capture_watch_missed(const struct capture_watch *w)
{
	return w ? __atomic_load_n(&w->missed_count, __ATOMIC_RELAXED) : 0;
}

u64 capture_watch_unread(const struct capture_watch *w)
{
	return w ? __atomic_load_n(&w->unread_count, __ATOMIC_RELAXED) : 0;
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
		watch_ring_missed(w, (pid_t)r->pid);
	if (!w || !watch_can_look(w) || !r->slots || r->slots >= sizeof(what))
		return true;
	event.what = what[r->slots];
	event_push(w, &event);
	return true;
}

void capture_watch_settle(struct capture_watch *w)
{
	u64 until_ns = clock_now_ns() + SETTLE_NS, wanted;

	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	wanted = w->pushed;
	while (w->done < wanted && condition_wait(&w->settled, &w->mutex, until_ns))
		;
	pthread_mutex_unlock(&w->mutex);
}

void capture_watch_collect(struct capture_watch *w, struct app_rings *rings)
{
	if (!w)
		return;
	watch_supervise(w);
	watch_rings_collect(w, rings);
}

int capture_watch_fd(const struct capture_watch *w)
{
	return w->wake_fd;
}
