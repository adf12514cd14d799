/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of waits, and what their addresses lay in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"

int stack_fact_add(struct facts *f, const struct record_stack *r)
{
	u32 count = r->frames_len / 8;
	struct fact_stack s = {.time_ns = r->head.time_ns,
			       .since_ns = r->since_ns,
			       .tid = r->head.tid,
			       .pid = r->head.pid,
			       .flags = r->flags,
			       .words = r->words < count ? r->words : count};
	int err;

	s.frames = count - s.words;
	s.addresses = malloc(count * 8 + 1);
	if (!s.addresses)
		return -ENOMEM;
	memcpy(s.addresses, r->frames, count * 8);
	err = vec_push(&f->stacks, s);
	if (err)
		free(s.addresses);
	return err;
}

/* Path, identity and function always follow each other, each with its NUL. */
int mapping_fact_add(struct facts *f, const struct record_mapping *r)
{
	struct fact_mapping m = {.since_ns = r->since_ns,
				 .begin = r->begin,
				 .end = r->end,
				 .offset = r->offset,
				 .pid = r->head.pid,
				 .bytes = r->path_len + 3u};
	int err;

	m.path = calloc(1, m.bytes);
	if (!m.path)
		return -ENOMEM;
	memcpy(m.path, r->path, r->path_len);
	err = vec_push(&f->mappings, m);
	if (err)
		free(m.path);
	return err;
}

static int stack_compare(const void *a, const void *b)
{
	const struct fact_stack *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->flags, y->flags);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->since_ns, y->since_ns);
	COMPARE(x->pid, y->pid);
	COMPARE(x->frames, y->frames);
	COMPARE(x->words, y->words);
	return memcmp(x->addresses, y->addresses, (x->frames + x->words) * 8);
}

static int mapping_compare(const void *a, const void *b)
{
	const struct fact_mapping *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->since_ns, y->since_ns);
	COMPARE(x->begin, y->begin);
	COMPARE(x->end, y->end);
	COMPARE(x->offset, y->offset);
	COMPARE(x->bytes, y->bytes);
	return memcmp(x->path, y->path, x->bytes);
}

void stack_facts_sort(struct facts *f)
{
	if (f->stacks.count)
		qsort(f->stacks.data, f->stacks.count, sizeof(*f->stacks.data), stack_compare);
	if (f->mappings.count)
		qsort(f->mappings.data, f->mappings.count, sizeof(*f->mappings.data),
		      mapping_compare);
}

void stack_facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->stacks.count; i++)
		free(f->stacks.data[i].addresses);
	for (size_t i = 0; i < f->mappings.count; i++)
		free(f->mappings.data[i].path);
	vec_free(&f->stacks);
	vec_free(&f->mappings);
}

u64 stack_facts_image(const struct facts *f, u32 pid, u64 time_ns)
{
	const struct fact_process *list = f->processes.data;
	const struct fact_fork *forks = f->forks.data;
	size_t n = COUNT_BEFORE(&f->processes, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
	size_t fork = COUNT_BEFORE(&f->forks, e,
				   e->tid < pid || (e->tid == pid && e->time_ns <= time_ns));
	u64 since = unseen_forks_last(f, pid, time_ns);

	if (fork > 0 && forks[fork - 1].tid == pid && forks[fork - 1].time_ns > since)
		since = forks[fork - 1].time_ns;

	for (; n > 0 && list[n - 1].pid == pid; n--) {
		if (list[n - 1].snapshot)
			continue;
		return list[n - 1].time_ns > since ? list[n - 1].time_ns : since;
	}
	return since;
}

/* A wait that goes on has been told last: each thread's last stacks. */
static void stacks_prune(struct facts *f, const struct map *tids)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->stacks.count; i++) {
		const struct fact_stack *s = &f->stacks.data[i];
		bool last = i + 1 == f->stacks.count || s->tid != s[1].tid ||
			    s->flags != s[1].flags;

		if (last && map_get(tids, s->tid))
			f->stacks.data[kept++] = *s;
		else
			free(s->addresses);
	}
	f->stacks.count = kept;
}

static int place_compare(const void *a, const void *b)
{
	const struct fact_mapping *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin, y->begin);
	COMPARE(x->end, y->end);
	return mapping_compare(a, b);
}

/* The stacks of each process, in time. */
static int moment_compare(const void *a, const void *b)
{
	const struct fact_stack *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	return stack_compare(a, b);
}

static bool stack_lies_in(const struct fact_stack *s, const struct fact_mapping *m)
{
	for (u32 i = 0; i < s->frames + s->words; i++)
		if (s->addresses[i] >= m->begin && s->addresses[i] < m->end)
			return true;
	return false;
}

/* Whether a stack that was told before the same range was told again lies in it. */
static bool mapping_is_asked_for(const struct facts *f, const struct fact_mapping *m, u64 until_ns)
{
	size_t n = COUNT_BEFORE(&f->stacks, e,
				e->pid < m->pid || (e->pid == m->pid && e->time_ns < m->since_ns));

	for (; n < f->stacks.count; n++) {
		const struct fact_stack *s = &f->stacks.data[n];

		if (s->pid != m->pid || s->time_ns >= until_ns)
			return false;
		if (!(s->flags & STACK_KERNEL) && stack_lies_in(s, m))
			return true;
	}
	return false;
}

static bool mapping_is_last(const struct facts *f, size_t i)
{
	const struct fact_mapping *m = &f->mappings.data[i];

	return i + 1 == f->mappings.count || m->pid != m[1].pid || m->begin != m[1].begin ||
	       m->end != m[1].end;
}

/* Since when those were told of the process that the first one is of which a checkpoint keeps. */
static int mappings_since(const struct facts *f, size_t first, u64 *since_ns)
{
	u32 pid = f->mappings.data[first].pid;
	VEC(u64) times = {0};
	int err = 0;

	for (size_t i = first; i < f->mappings.count && f->mappings.data[i].pid == pid; i++)
		if (pid && !err && mapping_is_last(f, i))
			err = vec_push(&times, f->mappings.data[i].since_ns);
	*since_ns = told_since(times.data, times.count);
	vec_free(&times);
	return err;
}

/*
 * Of each range what was told of it last, and what the stacks that are left need. Nothing tells
 * that one is gone: of those of a process the latest are kept.
 */
static int mappings_prune(struct facts *f, const struct living *l, u64 at_ns)
{
	size_t kept = 0;
	u64 since_ns = 0;
	int err = 0;

	if (f->mappings.count)
		qsort(f->mappings.data, f->mappings.count, sizeof(*f->mappings.data),
		      place_compare);
	if (f->stacks.count)
		qsort(f->stacks.data, f->stacks.count, sizeof(*f->stacks.data), moment_compare);
	for (size_t i = 0; i < f->mappings.count; i++) {
		const struct fact_mapping *m = &f->mappings.data[i];
		bool last = mapping_is_last(f, i);
		bool holds = !m->pid || (living_may_have(l, m->pid, m->since_ns) &&
					 m->since_ns >= stack_facts_image(f, m->pid, at_ns));

		if (!err && (i == 0 || m->pid != m[-1].pid))
			err = mappings_since(f, i, &since_ns);
		if (holds &&
		    ((last && m->since_ns >= since_ns) ||
		     (m->pid && mapping_is_asked_for(f, m, last ? UINT64_MAX : m[1].since_ns))))
			f->mappings.data[kept++] = *m;
		else
			free(m->path);
	}
	f->mappings.count = kept;
	return err;
}

int stack_facts_prune(struct facts *f, const struct living *l, u64 at_ns)
{
	stacks_prune(f, &l->tids);
	return mappings_prune(f, l, at_ns);
}
