/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/stack.h"
#include "map/fact/tenures.h"
#include "map/partial.h"

/* Path, identity and function always follow each other, each with its NUL. */
static int mapping_add(struct facts *f, const struct record_head *head)
{
	const struct record_mapping *r = (const void *)head;
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

static void mapping_release(void *fact)
{
	free(((struct fact_mapping *)fact)->path);
}

/* The identity and the function always stand behind the path. */
static void mapping_archive(struct archive *a, void *fact)
{
	struct fact_mapping *f = fact;
	archive_u64(a, &f->since_ns);
	archive_u64(a, &f->begin);
	archive_u64(a, &f->end);
	archive_u64(a, &f->offset);
	archive_u32(a, &f->pid);
	archive_text(a, &f->path, &f->bytes);
	if (!f->path || f->bytes < 3 || memcmp(f->path + f->bytes - 3, "\0\0", 3) != 0)
		archive_fail(a, -EBADMSG);
}

u64 mappings_image(const struct facts *f, u32 pid, u64 time_ns)
{
	const struct fact_process *list = f->processes.data;
	size_t n = COUNT_BEFORE(&f->processes, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
	u64 since = tenure_at(f, pid, time_ns).from_ns;

	for (; n > 0 && list[n - 1].pid == pid; n--) {
		if (list[n - 1].snapshot)
			continue;
		return list[n - 1].time_ns > since ? list[n - 1].time_ns : since;
	}
	return since;
}

/* ---- keep ---- */

static int place_compare(const void *a, const void *b)
{
	const struct fact_mapping *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin, y->begin);
	COMPARE(x->end, y->end);
	return mapping_compare(a, b);
}

static bool stack_lies_in(const struct fact_stack *s, const struct fact_mapping *m)
{
	for (u32 i = 0; i < s->frames + s->words; i++)
		if (s->addresses[i] >= m->begin && s->addresses[i] < m->end)
			return true;
	return false;
}

/* Whether a stack that was told before until_ns lies in the mapping. */
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

/*
 * Since when the mappings were told that a checkpoint keeps, of the process that the mapping with
 * the number `first` is of.
 */
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
 * Leaves of each range the mapping that was told last, and mappings that the stacks that are left
 * lie in. Nothing tells that a mapping is gone: the latest of a process are kept.
 */
static int mappings_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;
	size_t kept = 0;
	u64 since_ns = 0;
	int err = 0;

	if (f->mappings.count)
		qsort(f->mappings.data, f->mappings.count, sizeof(*f->mappings.data),
		      place_compare);
	if (f->stacks.count)
		qsort(f->stacks.data, f->stacks.count, sizeof(*f->stacks.data),
		      stack_moment_compare);
	for (size_t i = 0; i < f->mappings.count; i++) {
		const struct fact_mapping *m = &f->mappings.data[i];
		bool last = mapping_is_last(f, i);
		bool holds = !m->pid || (living_may_have(l, m->pid, m->since_ns) &&
					 m->since_ns >= mappings_image(f, m->pid, p->to_ns));

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

const struct fact_kind fact_kind_mapping = {.add = mapping_add,
					    .compare = mapping_compare,
					    .release = mapping_release,
					    .archive = mapping_archive,
					    .keep = mappings_keep};
