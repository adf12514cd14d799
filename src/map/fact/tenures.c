/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread is its number and its start time. A fork that lies in a gap is not seen. Then the next
 * snapshot tells a start time of the number that is later than facts that are known already: those
 * are facts of the thread that had the number before.
 */
#include "map/fact/tenures.h"

#include <stdlib.h>

#include "base/order.h"

/* Names are sorted by number and time, and stay so. */
static void names_begin(struct facts *f)
{
	for (size_t i = f->names.count;
	     i-- > 1;) { /* told before the snapshot came to the thread */
		const struct fact_name *name = &f->names.data[i];
		struct fact_name *before = &f->names.data[i - 1];

		if (before->tid == name->tid && !before->start_ns && name->start_ns &&
		    before->time_ns >= name->start_ns)
			before->start_ns = name->start_ns;
	}
	for (size_t i = 1; i < f->names.count; i++) {
		const struct fact_name *before = &f->names.data[i - 1];
		struct fact_name *name = &f->names.data[i];

		if (before->tid != name->tid)
			continue;
		if (!name->start_ns)
			name->start_ns = before->start_ns;
		if (name->weak && before->time_ns < name->start_ns &&
		    name->start_ns < name->time_ns)
			name->time_ns = name->start_ns;
	}
}

/* The fork is told after the start time was taken, and before another one gets the number. */
static bool fork_was_seen(const struct facts *f, u32 tid, u64 start_ns)
{
	size_t n = COUNT_BEFORE(&f->forks, e,
				e->tid < tid || (e->tid == tid && e->time_ns < start_ns));

	return n < f->forks.count && f->forks.data[n].tid == tid &&
	       f->forks.data[n].start_ns == start_ns;
}

static int tenure_compare(const void *a, const void *b)
{
	const struct fact_tenure *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->fork, y->fork);
	return 0;
}

int tenures_find(struct facts *f)
{
	int err = 0;

	names_begin(f);
	f->tenures.count = 0;
	for (size_t i = 0; i < f->forks.count && !err; i++) {
		const struct fact_fork *fork = &f->forks.data[i];

		err = vec_push(&f->tenures,
			       (struct fact_tenure){fork->time_ns, fork->tid, (u32)i + 1});
	}
	for (size_t i = 1; i < f->names.count && !err; i++) {
		const struct fact_name *name = &f->names.data[i], *before = name - 1;

		if (before->tid == name->tid && before->time_ns < name->start_ns &&
		    name->start_ns <= name->time_ns && !fork_was_seen(f, name->tid, name->start_ns))
			err = vec_push(&f->tenures,
				       (struct fact_tenure){name->start_ns, name->tid, 0});
	}
	if (f->tenures.count)
		qsort(f->tenures.data, f->tenures.count, sizeof(*f->tenures.data), tenure_compare);
	return err;
}

struct tenure tenure_at(const struct facts *f, u32 number, u64 time_ns)
{
	const struct fact_tenure *list = f->tenures.data;
	struct tenure tenure = {.until_ns = UINT64_MAX};
	size_t n = COUNT_BEFORE(&f->tenures, e,
				e->tid < number || (e->tid == number && e->time_ns <= time_ns));

	if (n < f->tenures.count && list[n].tid == number)
		tenure.until_ns = list[n].time_ns;
	if (n == 0 || list[n - 1].tid != number)
		return tenure;
	tenure.from_ns = list[n - 1].time_ns;
	if (list[n - 1].fork && f->forks.data[list[n - 1].fork - 1].pid == number)
		tenure.fork = &f->forks.data[list[n - 1].fork - 1];
	return tenure;
}
