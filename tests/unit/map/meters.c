/* SPDX-License-Identifier: Apache-2.0 */
/* What meters give, against partials of the same times; and that chunks and their cuts do not
 * matter. */
#include "map/meters.h"

#include "check.h"
#include "map/partial.h"
#include "simulate.h"

#define THREADS 6

static void stretches_make(struct meter_group *group, u64 from_ns, u64 to_ns)
{
	u64 step_ns = (to_ns - from_ns) / 5;

	for (u64 i = 0; i < 5; i++) {
		const struct meter_stretch stretch = {from_ns + i * step_ns,
						      i == 4 ? to_ns : from_ns + (i + 1) * step_ns};

		CHECK_EQ(vec_push(&group->stretches, stretch), 0);
	}
}

/* Meters on each process of the simulation, with stretches that make up the range. */
static void meters_make(struct meters *m, const struct simulation *s, u64 from_ns, u64 to_ns)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		struct meter_group *group = meters_group(m, s->threads.data[i].pid, 0);

		if (!group->stretches.count)
			stretches_make(group, from_ns, to_ns);
	}
}

/* Mapped in pieces, so that options go through merges. */
static struct partial *mapped(const struct simulation *s, const struct partial_options *options,
			      size_t pieces)
{
	u64 step_ns = (s->to_ns - s->from_ns) / pieces + 1;
	struct partial *all = partial_new(options);
	size_t at = 0;

	for (size_t i = 0; i < pieces; i++) {
		struct partial *p = partial_new(options);
		u64 from_ns = s->from_ns + i * step_ns, to_ns = from_ns + step_ns;

		partial_cover(p, from_ns, to_ns < s->to_ns ? to_ns : s->to_ns);
		for (; at < s->records.count &&
		       (s->records.data[at].time_ns < to_ns || i + 1 == pieces);
		     at++)
			CHECK_EQ(partial_apply(p, simulation_record(s, at)), 0);
		CHECK_EQ(partial_merge(all, p), 0);
	}
	CHECK_EQ(partial_finish(all), 0);
	return all;
}

static struct split sum_of(const struct meters *m, u32 pid, u32 tid)
{
	const struct thread_meter *thread = map_get(&m->threads, (u64)pid << 32 | tid);
	struct split sum = {0};

	for (size_t i = 0; thread && i < thread->meter.count; i++) {
		if (meter_split(&thread->meter, i))
			split_add(&sum, meter_split(&thread->meter, i));
	}
	return sum;
}

static s64 waited(const struct split *split)
{
	return split_total(split) - split_on_cpu(split) - split->ns[SPLIT_runnable] -
	       split->ns[SPLIT_unknown];
}

/* Of all lives that had the numbers, one after the other. False: one had another number before. */
static bool truth_of(const struct partial *truth, u32 pid, u32 tid, struct split *sum)
{
	bool is_plain = true;

	*sum = (struct split){0};

	for (size_t i = 0; i < truth->lives.count; i++) {
		const struct life *l = truth->lives.data[i];

		if (l->pid != pid || l->tid != tid)
			continue;
		split_add(sum, &l->total);
		is_plain &= !l->renamed_ns;
	}
	return is_plain;
}

/* The same as the lives of a partial whose answer is for the range alone. */
static size_t check_range(const struct simulation *s, u64 from_ns, u64 to_ns, size_t pieces)
{
	struct meters meters = {0};
	const struct partial_options ranged = {.from_ns = from_ns, .to_ns = to_ns};
	const struct partial_options metered = {.spans = true, .meters = &meters};
	struct partial *truth = mapped(s, &ranged, 1), *p;
	size_t checked = 0;

	meters_make(&meters, s, from_ns, to_ns);
	p = mapped(s, &metered, pieces);
	CHECK(!meters.failed);
	for (size_t i = 0; i < truth->lives.count; i++) {
		const struct life *l = truth->lives.data[i];
		struct split sum = sum_of(&meters, l->pid, l->tid);
		struct split told;

		if (!truth_of(truth, l->pid, l->tid, &told) ||
		    !map_get(&meters.threads, (u64)l->pid << 32 | l->tid))
			continue;
		CHECK_EQ(split_on_cpu(&sum), split_on_cpu(&told));
		CHECK_EQ(sum.ns[SPLIT_runnable], told.ns[SPLIT_runnable]);
		CHECK_EQ(sum.ns[SPLIT_unknown], told.ns[SPLIT_unknown]);
		CHECK_EQ(waited(&sum), waited(&told)); /* here waits keep their causes */
		checked += split_total(&sum) > 0;
	}
	partial_free(p);
	partial_free(truth);
	meters_free(&meters);
	return checked;
}

TEST(a_meter_gives_what_a_partial_of_its_range_gives)
{
	for (u64 seed = 1; seed < 30; seed++) {
		struct simulation s = {0};
		u64 part_ns;
		size_t checked = 0;

		simulate(&s, seed, THREADS, 200);
		part_ns = (s.to_ns - s.from_ns) / 7;
		for (size_t pieces = 1; pieces < 6; pieces++)
			checked += check_range(&s, s.from_ns + part_ns * (seed % 3),
					       s.to_ns - part_ns * (seed % 4), pieces);
		CHECK(checked > 0);
		simulation_free(&s);
	}
}

TEST(only_kernel_spans_that_begin_in_a_stretch_are_kept)
{
	struct simulation s = {0};
	struct meters meters = {0};
	const struct partial_options options = {.spans = true, .meters = &meters};
	struct meter_group *group;
	struct partial *p;
	struct kspan k;
	u32 pid;

	simulate(&s, 7, THREADS, 200);
	pid = s.threads.data[0].pid;
	group = meters_group(&meters, pid, 0);
	CHECK_EQ(vec_push(&group->stretches,
			  (struct meter_stretch){s.from_ns, s.from_ns + (s.to_ns - s.from_ns) / 2}),
		 0);
	p = mapped(&s, &options, 3);
	CHECK(kspans_count(&p->kspans) > 0);
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		kspans_get(&p->kspans, i, &k);
		CHECK_EQ(k.pid, pid);
		CHECK(k.begin_ns < group->stretches.data[0].to_ns);
	}
	partial_free(p);
	meters_free(&meters);
	simulation_free(&s);
}

TEST_MAIN()
