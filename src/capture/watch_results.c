// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/host_clock.h"
#include "capture/app/rings.h"
#include "capture/context/locations.h"
#include "capture/context/service.h"
#include "capture/watch_internal.h"

#define SERVICES_MAX 4096 /* waiting; more are dropped and counted */
#define TOLD_AT_ONCE 256

/* Something is to be collected or told. With the mutex. */
static void ready_set(struct capture_watch *w)
{
	__atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
	eventfd_write(w->wake_fd, 1);
}

/* ---- results of the tracker; on the thread that looks ---- */

/* The programs can read the context of the process: from now on they see its spans. */
static void followed_pass_on(void *arg, pid_t pid)
{
	struct capture_watch *w = arg;

	if (!w->is_told)
		return;
	pthread_mutex_lock(&w->mutex);
	/* without memory its time counts as unknown */
	(void)vec_push(&w->followed, ((struct watch_followed){pid, w->step_ns}));
	ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

static void location_set(void *arg, pid_t pid, const struct context_location *location)
{
	struct capture_watch *w = arg;

	if (context_location_tells(location))
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

/* A process context of another library. libfathom writes a service record by itself. */
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

/* ---- results of the search for rings; likewise ---- */

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

void watch_ring_missed(struct capture_watch *w, pid_t pid)
{
	pthread_mutex_lock(&w->mutex);
	(void)vec_push(&w->missed, pid);
	ready_set(w);
	pthread_mutex_unlock(&w->mutex);
}

static void ring_missed(void *arg, pid_t pid)
{
	watch_ring_missed(arg, pid);
}

void watch_location_forget(struct capture_watch *w, pid_t pid)
{
	static const struct context_location unknown;

	location_set(w, pid, &unknown);
}

struct context_tracker_sink watch_tracker_sink(struct capture_watch *w)
{
	return (struct context_tracker_sink){.arg = w,
					     .set = location_set,
					     .followed = followed_pass_on,
					     .executed = executed_get,
					     .learn = program_learn,
					     .describe = description_set,
					     .looks = w->looks};
}

struct app_ring_seek_sink watch_seek_sink(struct capture_watch *w)
{
	return (struct app_ring_seek_sink){
		.arg = w, .reached = rings_pass_on, .missed = ring_missed, .looks = w->looks};
}

/* ---- told; on the thread that drains ---- */

void watch_rings_collect(struct capture_watch *w, struct app_rings *rings)
{
	if (!__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE))
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

/*
 * Whether the process executed another program since: the kernel programs record that exec, and
 * whether they can read the context of the new program.
 */
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
	struct watch_followed list[TOLD_AT_ONCE];
	size_t count;
	int err = 0;

	pthread_mutex_lock(&w->mutex);
	count = w->followed.count < TOLD_AT_ONCE ? w->followed.count : TOLD_AT_ONCE;
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
			err = sink->record(sink->arg, stream, &out.r.head);
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
		err = err ? err : sink->record(sink->arg, stream, &services.data[i]->head);
		free(services.data[i]);
	}
	vec_free(&services);
	return err;
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
