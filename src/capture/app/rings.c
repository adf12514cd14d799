// SPDX-License-Identifier: Apache-2.0
#include "capture/app/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "base/host_clock.h"
#include "capture/app/internal.h"

#define FILES_WANTED 65536

/* How many rings fit. Each takes two descriptors; the usual soft limit is for select() only. */
static size_t rings_room(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 256;
	if (files.rlim_cur < FILES_WANTED && files.rlim_cur < files.rlim_max) {
		struct rlimit more = files;

		more.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
		if (!setrlimit(RLIMIT_NOFILE, &more))
			files = more;
	}
	return files.rlim_cur / 4;
}

struct app_rings *app_rings_new(void)
{
	struct app_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return NULL;
	while (rings->session == 0 || rings->session == APP_RING_GRACE) {
		if (getrandom(&rings->session, sizeof(rings->session), 0) < 0)
			rings->session = (u32)host_clock_now_ns();
	}
	rings->max = rings_room();
	return rings;
}

void app_source_close(struct app_source *s)
{
	app_ring_count(s->r->ring, 0);
	app_ring_listen(s->r->ring, 0, 0);
	app_ring_drop(s->r);
	vec_free(&s->goals);
	vec_free(&s->taken);
}

void app_rings_services(struct app_rings *rings, app_service_fn *seen, void *arg)
{
	rings->service = seen;
	rings->service_arg = arg;
}

void app_rings_free(struct app_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->sources.count; i++)
		app_source_close(&rings->sources.data[i]);
	vec_free(&rings->sources);
	vec_free(&rings->sought);
	held_free(&rings->held);
	vec_free(&rings->missed);
	free(rings);
}

u64 app_source_lease(const struct app_source *s, u64 now)
{
	return now + (u64)s->r->process.clock_ns + APP_LEASE_NS;
}

/*
 * Begins to listen, from now on or since the ring was made. The ring's own word for the latter does
 * not count: a hostile process would claim a time at which another process had its pid.
 */
static void source_begin(const struct app_rings *rings, struct app_source *s)
{
	u64 now = host_clock_now_ns();
	bool first;

	s->since_ns = s->told_ns = s->heard_ns = now;
	s->lease_ns = now + APP_LEASE_NS;
	app_source_look(s, APP_RING_LANES);
	s->lost_told = app_source_lost(s);
	first = app_ring_take_over(s->r->ring, rings->session, app_source_lease(s, now));
	if (!s->r->made_ns || s->r->made_ns > now)
		return;
	if (first) {
		s->since_ns = s->told_ns = s->r->made_ns;
		s->lost_told = 0;
	} else if (app_ring_lanes(s->r->ring)) {
		/*
		 * We came too late: a thread found the grace over, or another recorder listened.
		 * If no thread ever got a lane, nothing was lost.
		 */
		s->unheard = 1;
		s->unheard_ns = s->r->made_ns;
		s->unheard_until_ns = now;
	}
}

static bool source_is(const struct app_source *s, const struct app_ring_reached *reached)
{
	return s->r->inode == reached->inode && s->r->device == reached->device;
}

/*
 * Ends the oldest ring of a process that has too many. At most APP_RINGS_OF_PROCESS rings are
 * opened at once, so the oldest belongs to a program that the process does not run any more.
 */
static void oldest_end(struct app_rings *rings, pid_t pid)
{
	struct app_source *oldest = NULL;
	size_t count = 0;

	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_source *s = &rings->sources.data[i];

		if (s->r->process.pid != pid || s->ended)
			continue;
		oldest = oldest ? oldest : s;
		count++;
	}
	if (count > APP_RINGS_OF_PROCESS)
		oldest->ended = true;
}

/* Whether a look has found the ring before we heard that it was made. */
static bool is_there(const struct app_rings *rings, pid_t pid, u64 made_ns)
{
	for (size_t i = 0; i < rings->sources.count; i++) {
		const struct app_ring_reached *r = rings->sources.data[i].r;

		if (r->process.pid == pid && r->reached_ns > made_ns)
			return true;
	}
	return false;
}

void app_rings_sought(struct app_rings *rings, pid_t pid, u64 made_ns)
{
	const struct app_sought sought = {pid, made_ns};
	size_t old = 0;

	if (is_there(rings, pid, made_ns))
		return;

	while (old < rings->sought.count && rings->sought.data[old].made_ns + SOUGHT_NS < made_ns)
		old++;
	if (old) {
		rings->sought.count -= old;
		memmove(rings->sought.data, rings->sought.data + old,
			rings->sought.count * sizeof(sought));
	}
	if (rings->sought.count < SOUGHT_MAX)
		(void)vec_push(&rings->sought, sought); /* without memory: not waited for */
}

void app_sought_end(struct app_rings *rings, pid_t pid)
{
	struct app_sought *list = rings->sought.data;

	for (size_t i = 0; i < rings->sought.count; i++) {
		if (list[i].pid != pid)
			continue;
		memmove(&list[i], &list[i + 1], (rings->sought.count - i - 1) * sizeof(*list));
		rings->sought.count--;
		return;
	}
}

static int ring_add(struct app_rings *rings, struct app_ring_reached *reached)
{
	struct app_source source = {.r = reached};
	int err = rings->sources.count < rings->max ? 0 : -EMFILE;

	for (size_t i = 0; i < rings->sources.count; i++) {
		if (source_is(&rings->sources.data[i], reached)) {
			app_ring_drop(reached);
			return 0;
		}
	}
	if (!err)
		err = vec_push(&rings->sources, source);
	if (err) {
		app_rings_missed(rings, reached->process.pid);
		app_ring_drop(reached);
		return err;
	}
	app_sought_end(rings, reached->process.pid);
	if (reached->made_ns)
		app_threads_tell(&rings->threads, reached->made_ns, &reached->process);
	source_begin(rings, &rings->sources.data[rings->sources.count - 1]);
	oldest_end(rings, reached->process.pid);
	return 0;
}

int app_rings_add(struct app_rings *rings, struct app_ring_reached *reached)
{
	int err = 0;

	while (reached) {
		struct app_ring_reached *next = reached->next;
		int result;

		reached->next = NULL;
		result = ring_add(rings, reached);
		err = err ? err : result;
		reached = next;
	}
	return err;
}

void app_rings_thread(struct app_rings *rings, const struct app_thread *thread)
{
	app_threads_note(&rings->threads, thread);
	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_process *process = &rings->sources.data[i].r->process;

		if ((u32)process->pid == thread->pid)
			app_process_learn(process, thread->inner, thread->tid, thread->made_ns);
	}
}

/* The pid names another process or program from then on: rings that were opened before end. */
static void process_change(struct app_rings *rings, const struct record_head *r)
{
	for (size_t i = 0; i < rings->sources.count; i++) {
		struct app_source *s = &rings->sources.data[i];

		if ((u32)s->r->process.pid != r->pid || s->r->reached_ns >= r->time_ns)
			continue;
		if (r->kind == RECORD_exec)
			s->ended = true; /* an exec unmaps the ring */
		else
			s->until_ns = r->time_ns;
	}
}

void app_rings_life(struct app_rings *rings, const struct record_head *r)
{
	const struct record_fork *fork = (const void *)r;

	thread_owners_note(&rings->owners, r);
	if (r->kind == RECORD_exec || (r->kind == RECORD_fork && !(fork->flags & THREAD_IS_THREAD)))
		process_change(rings, r);
}

bool app_rings_any(const struct app_rings *rings)
{
	return rings->sources.count > 0;
}

void app_rings_counts(const struct app_rings *rings, struct app_rings_counts *out)
{
	*out = rings->counts;
	out->rings = rings->sources.count;
}
