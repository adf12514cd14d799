/* SPDX-License-Identifier: Apache-2.0 */
#include "map/meters.h"

#include <stdlib.h>

#include "map/partial.h"
#include "map/tree/tree.h"

static u64 key_of(u32 pid, u32 tid)
{
	return (u64)pid << 32 | tid;
}

static struct meter_group *group_find(const struct meters *m, u32 pid, u32 tid)
{
	size_t n = (size_t)(uintptr_t)map_get(&m->numbers, key_of(pid, tid));

	return n ? &m->groups.data[n - 1] : NULL;
}

struct meter_group *meters_group(struct meters *m, u32 pid, u32 tid)
{
	struct meter_group *group = group_find(m, pid, tid);

	if (group)
		return group;
	if (vec_push(&m->groups, (struct meter_group){.pid = pid, .tid = tid}))
		return NULL;
	if (map_put(&m->numbers, key_of(pid, tid), (void *)(uintptr_t)m->groups.count)) {
		m->groups.count--;
		return NULL;
	}
	return &m->groups.data[m->groups.count - 1];
}

struct meter_group *meters_group_of(const struct meters *m, u32 pid, u32 tid)
{
	struct meter_group *own = group_find(m, pid, tid);

	return own ? own : group_find(m, pid, 0);
}

/* NULL: no memory. */
static struct thread_meter *thread_add(struct meters *m, struct meter_group *group,
				       const struct life *l)
{
	struct thread_meter *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->tid = l->tid;
	thread->pid = l->pid;
	thread->meter.stretches = group->stretches.data;
	thread->meter.count = group->stretches.count;
	if (map_put(&m->threads, key_of(l->pid, l->tid), thread)) {
		free(thread);
		return NULL;
	}
	if (vec_push(&group->threads, thread)) {
		map_remove(&m->threads, key_of(l->pid, l->tid));
		free(thread);
		return NULL;
	}
	return thread;
}

void meters_attach(struct meters *m, struct life *l)
{
	struct meter_group *group = l->meter || !l->pid ? NULL : meters_group_of(m, l->pid, l->tid);
	struct thread_meter *thread;

	if (!group)
		return;
	thread = map_get(&m->threads, key_of(l->pid, l->tid));
	thread = thread ? thread : thread_add(m, group, l);
	if (thread)
		l->meter = &thread->meter;
	else
		m->failed = true;
}

void meters_attach_all(struct partial *p)
{
	for (size_t i = 0; p->options.meters && i < p->lives.count; i++)
		meters_attach(p->options.meters, p->lives.data[i]);
}

static bool is_of_trace(const struct meters *m, const struct kspan *k)
{
	return m->trace && span_number(k->ctx.trace) == m->trace->high &&
	       span_number(k->ctx.trace + 8) == m->trace->low;
}

bool meters_want(const struct meters *m, const struct kspan *k)
{
	const struct meter_group *group = meters_group_of(m, k->pid, k->tid);
	size_t i;

	if (is_of_trace(m, k))
		return true;
	if (!group)
		return false;
	i = meter_stretch_behind(group->stretches.data, group->stretches.count, k->begin_ns);
	return i < group->stretches.count && group->stretches.data[i].from_ns <= k->begin_ns;
}

void meters_free(struct meters *m)
{
	for (size_t i = 0; i < m->groups.count; i++) {
		struct meter_group *group = &m->groups.data[i];

		for (size_t t = 0; t < group->threads.count; t++) {
			meter_free(&group->threads.data[t]->meter);
			free(group->threads.data[t]);
		}
		vec_free(&group->threads);
		vec_free(&group->stretches);
	}
	vec_free(&m->groups);
	map_free(&m->numbers);
	map_free(&m->threads);
	*m = (struct meters){0};
}
