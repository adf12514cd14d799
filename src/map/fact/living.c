/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of something that has no life here, and whose end nothing tells: a checkpoint keeps the
 * latest. Threads out of scope that woke a recorded one are named, and files that only a slot of an
 * io_uring holds are told, at first use and once more in each chunk. Processes are told before
 * their threads (a zombie has none), and their mappings up to some seconds late.
 */
#include "map/fact/living.h"

#include <stdlib.h>

#include "base/order.h"

#define TOLD_KEPT 4096		  /* of each; as many as the kernel programs remember */
#define EXPECTED_NS 5000000000ull /* far more than lies between a process and its threads */

static int u64_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	COMPARE(*x, *y);
	return 0;
}

u64 told_since(u64 *times, size_t count)
{
	if (count <= TOLD_KEPT)
		return 0;
	qsort(times, count, sizeof(*times), u64_compare);
	return times[count - TOLD_KEPT - 1] + 1;
}

/* The process has no life, but one may come: the last life of this number ended before. */
static bool is_expected(const struct living *l, u32 pid, u64 time_ns)
{
	u64 ended = (uintptr_t)map_get(&l->ended, pid); /* + 1 */

	return !map_get(&l->pids, pid) && time_ns >= ended && time_ns >= l->expected_ns;
}

bool living_may_have(const struct living *l, u32 pid, u64 time_ns)
{
	return map_get(&l->pids, pid) || is_expected(l, pid, time_ns);
}

int living_expect(struct living *l, const struct facts *f, u64 at_ns)
{
	VEC(u64) times = {0};
	u64 since_ns;
	int err = 0;

	l->expected_ns = at_ns > EXPECTED_NS ? at_ns - EXPECTED_NS : 0;
	for (size_t i = 0; i < f->processes.count && !err; i++) {
		const struct fact_process *p = &f->processes.data[i];

		if (is_expected(l, p->pid, p->time_ns))
			err = vec_push(&times, p->time_ns);
	}
	for (size_t i = 0; i < f->mappings.count && !err; i++) {
		const struct fact_mapping *m = &f->mappings.data[i];

		if (m->pid && is_expected(l, m->pid, m->since_ns))
			err = vec_push(&times, m->since_ns);
	}
	since_ns = told_since(times.data, times.count);
	if (since_ns > l->expected_ns)
		l->expected_ns = since_ns;
	vec_free(&times);
	return err;
}

void living_free(struct living *l)
{
	map_free(&l->tids);
	map_free(&l->pids);
	map_free(&l->ended);
	map_free(&l->files);
	bytes_map_free(&l->spans);
}
