/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread is its number and its start time. A fork that lies in a gap is not seen. Then the next
 * snapshot tells a start time of the number that is later than facts that are known already: those
 * are facts of the thread that had the number before.
 */
#include "map/fact/unseen_forks.h"

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

int unseen_forks_find(struct facts *f)
{
	int err = 0;

	names_begin(f);
	f->unseen_forks.count = 0;
	for (size_t i = 1; i < f->names.count && !err; i++) {
		const struct fact_name *name = &f->names.data[i], *before = name - 1;

		if (before->tid == name->tid && before->time_ns < name->start_ns &&
		    name->start_ns <= name->time_ns && !fork_was_seen(f, name->tid, name->start_ns))
			err = vec_push(&f->unseen_forks,
				       (struct fact_unseen_fork){name->start_ns, name->tid});
	}
	return err;
}

static size_t unseen_forks_until(const struct facts *f, u32 number, u64 time_ns)
{
	return COUNT_BEFORE(&f->unseen_forks, e,
			    e->tid < number || (e->tid == number && e->time_ns <= time_ns));
}

u64 unseen_forks_last(const struct facts *f, u32 number, u64 time_ns)
{
	size_t n = unseen_forks_until(f, number, time_ns);

	return n && f->unseen_forks.data[n - 1].tid == number ? f->unseen_forks.data[n - 1].time_ns
							      : 0;
}

u64 unseen_forks_next(const struct facts *f, u32 number, u64 time_ns)
{
	size_t n = unseen_forks_until(f, number, time_ns);

	return n < f->unseen_forks.count && f->unseen_forks.data[n].tid == number
		       ? f->unseen_forks.data[n].time_ns
		       : UINT64_MAX;
}
