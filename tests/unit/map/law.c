/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The laws that every answer stands on, over simulated threads: the split is
 * exact, and merge(map(a), map(b)) is map(a then b) for any cut and grouping.
 */
#include "answers.h"

#include <stdlib.h>

#include "check.h"
#include "cuts.h"
#include "map/fact/query.h"
#include "map/tree/tree.h"
#include "seeds.h"

/* Finishes the partial of a whole recording, so that it can be asked. */
static struct partial *finished(const struct simulation *s, struct partial *p)
{
	partial_cover(p, s->from_ns, s->to_ns);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

TEST(split_of_a_thread_is_exact)
{
	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct simulation s;
		struct partial *p;

		simulate(&s, seed, 6, 60);
		p = finished(&s, map_range(&s, 0, s.records.count));
		CHECK_EQ(p->lives.count, s.threads.count);
		for (size_t i = 0; i < p->lives.count; i++) {
			const struct simulated_thread *t = &s.threads.data[i];

			for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
				CHECK_EQ(p->lives.data[i]->total.ns[part], t->truth.ns[part]);
			CHECK_EQ(split_total(&p->lives.data[i]->total),
				 (s64)(t->end_ns - t->begin_ns));
		}
		partial_free(p);
		simulation_free(&s);
	}
}

TEST(split_of_each_span_sums_to_its_duration)
{
	struct simulation s;
	struct partial *p;

	simulate(&s, 7, 8, 200);
	p = map_range(&s, 0, s.records.count);
	partial_cover(p, s.from_ns, s.to_ns);
	CHECK_EQ(partial_finish(p), 0);
	CHECK(kspans_count(&p->kspans) > 500);
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan span, *k = &span;

		kspans_get(&p->kspans, i, k);
		CHECK_EQ(split_total(&k->split), (s64)(k->end_ns - k->begin_ns));
	}
	partial_free(p);
	simulation_free(&s);
}

/* All waits for a CPU by whom they waited for: those that ended, and those that are open. */
static s64 check_had_cpu(const struct simulation *s, const struct partial *p)
{
	s64 named_ns = 0;

	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		if (k.kind != KSPAN_WAIT || k.end_ns == s->to_ns)
			continue;
		CHECK(k.result); /* of several threads the one that had it longest */
		if (!k.split.ns[SPLIT_runnable])
			CHECK_EQ(k.result, LIFE_HAD_CPU(simulation_had_cpu(k.end_ns)));
		named_ns += k.split.ns[SPLIT_runnable];
	}
	return named_ns;
}

TEST(waits_for_a_cpu_name_who_had_it)
{
	for (u64 seed = 1; seed <= seeds_of(50); seed++) {
		struct simulation s;
		struct partial *p;
		s64 named_ns, sums_ns = 0, rest_ns = 0;

		simulate(&s, seed, 6, 60);
		p = finished(&s, map_range(&s, 0, s.records.count));
		named_ns = check_had_cpu(&s, p);
		for (size_t i = 0; i < p->waits.list.count; i++) {
			const struct sum *sum = &p->waits.list.data[i];
			u64 kind = sum->key >> SUM_WAIT_WAKER_SHIFT & SUM_WAIT_WAKER_MASK;

			if (kind != SUM_WAIT_HAD_CPU) { /* behind more turns, or open */
				rest_ns += sum->split.ns[SPLIT_runnable];
				continue;
			}
			CHECK_EQ(sum_wait_part(sum->key), SPLIT_runnable);
			sums_ns += sum->split.ns[SPLIT_runnable];
		}
		CHECK(sums_ns > 0 && sums_ns <= named_ns);
		CHECK(sums_ns + rest_ns >= named_ns);
		partial_free(p);
		simulation_free(&s);
	}
}

static void check_law(u64 seed, int gaps, cut_fn *map_in_pieces, u32 filters)
{
	struct simulation s;

	simulate_filtered(&s, seed, 5, 40, filters);
	for (int i = 0; i < gaps; i++) {
		u64 begin = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);

		simulation_gap(&s, begin, begin + simulation_random(&s, 9000) + 1);
	}
	simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
	simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
	check_cuts(&s, seed, map_in_pieces);
	simulation_free(&s);
}

TEST(merge_is_map_of_the_whole)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++)
		check_law(seed, 0, map_cut, 0);
}

TEST(merge_covers_gaps)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++)
		check_law(seed, 1 + (int)seed % 3, map_cut, 0);
}

/* The limits of an answer can be anywhere relative to the cuts. */
TEST(merge_of_a_range_is_map_of_the_whole)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;

		simulate_filtered(&s, seed, 5, 40, seed % 5 ? 0 : 1 + (u32)seed % 3);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
		simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
		s.limit_from_ns = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);
		if (seed % 2)
			s.limit_to_ns = s.limit_from_ns + 1 +
					simulation_random(&s, s.to_ns - s.limit_from_ns);
		check_cuts(&s, seed, seed % 3 ? map_cut : map_cut_streams);
		simulation_free(&s);
	}
}

static void damage(struct simulation *s, enum record_loss why, int times, u16 cpus)
{
	u64 part = (s->to_ns - s->from_ns) / (u64)times;

	for (int i = 0; i < times; i++) {
		u64 from = s->from_ns + part * (u64)i;
		u64 begin = from + simulation_random(s, part);
		u64 end = begin + 1 + simulation_random(s, from + part - begin);

		simulation_damage(
			s, why, begin, end,
			(struct simulated_cpus){(u16)simulation_random(s, 5 - (u64)cpus), cpus});
	}
}

static void check_damage(enum record_loss why, cut_fn *map_in_pieces)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;

		simulate_filtered(&s, seed, 5, 40, seed % 5 ? 0 : 1 + (u32)seed % 3);
		damage(&s, why, 1 + (int)seed % 3, (u16)(1 + seed % 4));
		if (seed % 3 == 0) /* some lap over */
			damage(&s, why, 1 + (int)seed % 7, (u16)(1 + seed % 4));
		check_cuts(&s, seed, map_in_pieces);
		simulation_free(&s);
	}
}

TEST(merge_covers_damage)
{
	check_damage(LOST_damaged, map_cut);
	check_damage(LOST_damaged, map_cut_streams);
}

TEST(merge_covers_losses_that_lie_across_cuts)
{
	check_damage(LOST_buffer, map_cut);
	check_damage(LOST_buffer, map_cut_streams);
}

/* The sum of the time splits of all threads of a partial, or of all its spans. */
static struct split claims_of(const struct partial *p, bool spans)
{
	struct split sum = {0};

	for (size_t i = 0; i < p->lives.count && !spans; i++)
		split_add(&sum, &p->lives.data[i]->total);
	for (size_t i = 0; i < p->spans.count && spans; i++)
		for (size_t k = 0; k < p->spans.data[i]->active.list.count; k++)
			split_add(&sum, &p->spans.data[i]->active.list.data[k].split);
	return sum;
}

/* A span has time until it ends, or until its program does, in the middle of an execve. */
TEST(what_spans_have_is_exact)
{
	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct split owned = {0}, truth = {0};
		struct simulation s;
		struct partial *p;

		simulate(&s, seed, 6, 60);
		p = seed % 2 ? map_cut(&s, 5) : map_range(&s, 0, s.records.count);
		partial_cover(p, s.from_ns, s.to_ns);
		CHECK_EQ(partial_finish(p), 0);
		owned = claims_of(p, true);
		for (size_t i = 0; i < s.threads.count; i++)
			split_add(&truth, &s.threads.data[i].owned);
		for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
			CHECK_EQ(owned.ns[part], truth.ns[part]);
		partial_free(p);
		simulation_free(&s);
	}
}

/* No thread gets CPU time that it did not have, whatever other streams say of that time. */
static void check_never_claimed(enum record_loss why)
{
	s64 known = 0;

	for (u64 seed = 1; seed <= seeds_of(300); seed++) {
		struct partial *truth, *p;
		struct simulation s;

		simulate(&s, seed, 6, 60);
		truth = finished(&s, map_range(&s, 0, s.records.count));
		damage(&s, why, 3, 4);
		p = finished(&s, map_range(&s, 0, s.records.count));
		for (int spans = 0; spans < 2; spans++) {
			struct split claimed = claims_of(p, spans),
				     should = claims_of(truth, spans);

			CHECK(claimed.ns[SPLIT_user] <= should.ns[SPLIT_user]);
			CHECK(claimed.ns[SPLIT_kernel] <= should.ns[SPLIT_kernel]);
			known += claimed.ns[SPLIT_user];
		}
		partial_free(truth);
		partial_free(p);
		simulation_free(&s);
	}
	CHECK(known > 0);
}

TEST(what_was_damaged_is_never_claimed)
{
	check_never_claimed(LOST_damaged);
}

/* Of what is told where it ends, too: a part of it got through, and settles nothing. */
TEST(what_was_lost_is_never_claimed)
{
	check_never_claimed(LOST_buffer);
	check_never_claimed(LOST_recursion);
}

/* A span that is fully known gets no part of time that it did not have, except `unknown`. */
static u64 check_span_claims(const struct span_time *claimed, const struct span_time *truth)
{
	if (claimed->begin_ns != truth->begin_ns || claimed->end_ns != truth->end_ns ||
	    truth->split.ns[SPLIT_unknown])
		return 0;
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
		CHECK(part == SPLIT_unknown || claimed->split.ns[part] <= truth->split.ns[part]);
	return 1;
}

static u64 check_spans_claims(const struct partial *p, const struct partial *truth)
{
	struct span_time *claimed = calloc(p->spans.count + 1, sizeof(*claimed));
	struct span_time *should = calloc(truth->spans.count + 1, sizeof(*should));
	u64 checked = 0;

	CHECK_EQ(span_times(p, claimed), 0);
	CHECK_EQ(span_times(truth, should), 0);
	for (size_t i = 0, k = 0; i < p->spans.count; i++) { /* both are sorted */
		const struct app_span *s = p->spans.data[i], *t = truth->spans.data[k];

		while (!context_equal(&t->ctx, &s->ctx))
			t = truth->spans.data[++k];
		if (s->begun && s->ended && t->begun && t->ended)
			checked += check_span_claims(&claimed[i], &should[k]);
	}
	free(claimed);
	free(should);
	return checked;
}

/* No span has what its thread did under another, nor is it off its thread while it had it. */
TEST(what_a_program_lost_is_never_claimed)
{
	u64 checked = 0;

	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct partial *truth, *p;
		struct simulation s;

		simulate(&s, seed, 6, 80);
		truth = finished(&s, map_range(&s, 0, s.records.count));
		simulation_mute(&s, 1 + (int)seed % 4);
		p = finished(&s, map_cut(&s, 1 + (int)seed % 5));
		checked += check_spans_claims(p, truth);
		partial_free(truth);
		partial_free(p);
		simulation_free(&s);
	}
	CHECK(checked > seeds_of(2000));
}

TEST(streams_may_be_cut_at_different_times)
{
	for (u64 seed = 1; seed <= seeds_of(100); seed++)
		check_law(seed, seed % 2 ? 0 : 1 + (int)seed % 3, map_cut_streams, 0);
}

static u32 some_filters(u64 seed)
{
	static const u32 some[] = {FILTER_SYSCALLS, FILTER_SPANS, FILTER_SYSCALLS | FILTER_SPANS,
				   FILTER_CALLS, FILTER_CALLS | FILTER_SPANS};

	return some[seed % 5];
}

TEST(merge_covers_filters)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++)
		check_law(seed, (int)seed % 4 / 3, seed % 6 ? map_cut : map_cut_streams,
			  some_filters(seed));
}

TEST(merge_covers_recordings_of_which_one_is_filtered)
{
	for (u64 seed = 1; seed <= seeds_of(120); seed++) {
		struct simulation s;

		simulate_filtered_once(&s, seed, some_filters(seed), seed % 2);
		simulation_lose(&s, seed % 7 == 3 ? 6 : 0);
		check_cuts(&s, seed, seed % 5 ? map_cut : map_cut_streams);
		simulation_free(&s);
	}
}

/* User code of threads, by the records of [from_ns, to_ns) alone. */
static s64 user_of(const struct simulation *s, u64 from_ns, u64 to_ns)
{
	size_t first = 0, end = 0;
	struct partial *p;
	s64 user;

	while (end < s->records.count && s->records.data[end].time_ns < to_ns)
		first += s->records.data[end++].time_ns < from_ns;
	p = map_range(s, first, end);
	partial_cover(p, from_ns, to_ns);
	CHECK_EQ(partial_finish(p), 0);
	user = claims_of(p, false).ns[SPLIT_user];
	partial_free(p);
	return user;
}

static s64 user_under_spans(const struct simulation *s)
{
	s64 user = 0;

	for (size_t i = 0; i < s->threads.count; i++)
		user += s->threads.data[i].under.ns[SPLIT_user];
	return user;
}

/* A filtered recording learns from the other at most which spans its threads have. */
TEST(a_filter_leaves_other_recordings_as_they_are)
{
	s64 full = 0, filtered = 0;

	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		u32 filters = 1 + (u32)seed % 3;
		bool second = seed % 2;
		struct simulation s;
		struct simulated_gap gap = simulate_filtered_once(&s, seed, filters, second);
		u64 to_ns = gap.end_ns < s.to_ns ? s.to_ns : gap.end_ns + 1;
		s64 before = user_of(&s, s.from_ns, gap.begin_ns);
		s64 behind = user_of(&s, gap.end_ns, to_ns), both = user_of(&s, s.from_ns, to_ns);

		CHECK(both >= before + behind);
		if (filters & FILTER_SYSCALLS)
			CHECK_EQ(both, second ? before : behind);
		else
			CHECK(both <= (second ? before : behind) + user_under_spans(&s));
		full += second ? before : behind;
		filtered += second ? behind : before;
		simulation_free(&s);
	}
	CHECK(full > 0 && filtered > 0);
}

/* Calls an own check for each life of simulations with a filter. */
static void check_filtered(u32 filters,
			   void (*check)(const struct simulated_thread *, const struct life *))
{
	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct simulation s;
		struct partial *p;

		simulate_filtered(&s, seed, 6, 60, filters);
		p = seed % 2 ? map_cut(&s, 5) : map_range(&s, 0, s.records.count);
		partial_cover(p, s.from_ns, s.to_ns);
		CHECK_EQ(partial_finish(p), 0);
		CHECK_EQ(p->lives.count, s.threads.count);
		for (size_t i = 0; i < p->lives.count; i++) {
			const struct simulated_thread *t = &s.threads.data[i];

			CHECK_EQ(split_total(&p->lives.data[i]->total),
				 (s64)(t->end_ns - t->begin_ns));
			check(t, p->lives.data[i]);
		}
		partial_free(p);
		simulation_free(&s);
	}
}

/* All that happened under spans is known to the nanosecond, and nothing else is. */
static void check_spans_only(const struct simulated_thread *t, const struct life *l)
{
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
		if (part != SPLIT_unknown)
			CHECK_EQ(l->total.ns[part], t->under.ns[part]);
}

TEST(time_under_spans_is_known_with_spans_only)
{
	check_filtered(FILTER_SPANS, check_spans_only);
}

/* User code is not told from calls that are left out; a waking in one of them is void. */
static void check_syscalls_left_out(const struct simulated_thread *t, const struct life *l)
{
	s64 on_cpu = t->truth.ns[SPLIT_user] + t->truth.ns[SPLIT_kernel];

	CHECK_EQ(l->total.ns[SPLIT_user], 0);
	CHECK(l->total.ns[SPLIT_kernel] <= t->truth.ns[SPLIT_kernel]);
	CHECK_EQ(l->total.ns[SPLIT_cpu] + l->total.ns[SPLIT_kernel], on_cpu);
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
		if (part != SPLIT_cpu && part != SPLIT_user && part != SPLIT_kernel)
			CHECK_EQ(l->total.ns[part], t->truth.ns[part]);
}

/* The time on a CPU is one part, but for that of a thread that ends: all of it is the kernel's. */
static void check_waits(const struct simulated_thread *t, const struct life *l)
{
	s64 on_cpu = t->truth.ns[SPLIT_user] + t->truth.ns[SPLIT_kernel];

	CHECK_EQ(l->total.ns[SPLIT_user], 0);
	CHECK_EQ(l->total.ns[SPLIT_cpu] + l->total.ns[SPLIT_kernel], on_cpu);
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
		if (part != SPLIT_cpu && part != SPLIT_user && part != SPLIT_kernel)
			CHECK_EQ(l->total.ns[part], t->truth.ns[part]);
}

TEST(waits_are_exact_without_calls)
{
	check_filtered(FILTER_CALLS, check_waits);
}

TEST(waits_are_exact_where_calls_are_left_out)
{
	check_filtered(FILTER_SYSCALLS, check_syscalls_left_out);
}

/* Each event is shown once: in its span, or in its thread if nothing else tells of the span. */
TEST(events_belong_to_their_spans)
{
	size_t shown = 0, in_spans = 0, count;
	struct simulation s;
	struct partial *p;
	u64 sum = 0;

	simulate(&s, 17, 6, 120);
	p = map_cut(&s, 9);
	partial_cover(p, s.from_ns, s.to_ns);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < p->spans.count; i++) {
		const struct kevent *k = query_span_events(p, &p->spans.data[i]->ctx, &count);

		for (size_t j = 0; j < count; j++)
			CHECK(j == 0 || k[j - 1].time_ns <= k[j].time_ns);
		in_spans += count;
	}
	for (size_t i = 0; i < p->lives.count; i++) {
		query_thread_events(p, i + 1, p->lives.data[i]->tid, &count);
		shown += count;
	}
	for (size_t i = 0; i < p->events.counts.list.count; i++)
		sum += p->events.counts.list.data[i].count;
	CHECK(in_spans > 10 && shown > 10);
	CHECK_EQ(shown + in_spans, sum);
	CHECK_EQ(sum, p->events.list.count);
	CHECK(query_event_format(p, 1) && !query_event_format(p, 4));
	partial_free(p);
	simulation_free(&s);
}

static int range_compare(const void *a, const void *b)
{
	const struct fact_bytes *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction < y->direction ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* After merges, byte ranges tile each stream, and each range is in the call that moved it. */
TEST(bytes_belong_to_their_calls)
{
	size_t in_calls = 0, count;
	struct fact_bytes *ranges;
	struct thread_place place;
	struct simulation s;
	struct partial *p;
	u64 at = 0;

	simulate(&s, 23, 6, 150);
	p = map_cut(&s, 11);
	partial_cover(p, s.from_ns, s.to_ns);
	CHECK_EQ(partial_finish(p), 0);
	CHECK(p->facts.bytes.count > 100 && p->facts.sockets.count > 20);
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan span, *k = &span;

		kspans_get(&p->kspans, i, k);
		if (k->kind != KSPAN_SYSCALL || (k->nr != 44 && k->nr != 45))
			continue;
		count = query_bytes(p, k->tid, k->begin_ns, k->end_ns, &place);
		CHECK(count);
		in_calls += count;
	}
	CHECK_EQ(in_calls, p->facts.bytes.count);
	ranges = calloc(in_calls, sizeof(*ranges));
	CHECK(ranges != NULL);
	place = (struct thread_place){0};
	for (size_t i = 0; i < in_calls; i++)
		ranges[i] = *(const struct fact_bytes *)thread_facts_next(&p->facts.bytes,
									  sizeof(*ranges), &place);
	CHECK(!thread_facts_next(&p->facts.bytes, sizeof(*ranges), &place));
	qsort(ranges, in_calls, sizeof(*ranges), range_compare);
	for (size_t i = 0; i < in_calls; i++) {
		const struct fact_bytes *b = &ranges[i];

		if (i && (b[-1].key != b->key || b[-1].direction != b->direction))
			at = 0;
		CHECK_EQ(b->from, at);
		at += b->length;
	}
	free(ranges);
	partial_free(p);
	simulation_free(&s);
}

static void tell_socket(struct partial *p, u64 time_ns, u64 key, u64 peer, u16 port)
{
	struct record_socket r = {.head = {.kind = RECORD_socket, .time_ns = time_ns},
				  .file = {.key = key, .kind = FILE_KIND_tcp},
				  .remote_port = port,
				  .peer = peer};

	CHECK_EQ(partial_apply(p, &r.head), 0);
}

/* One end of a socket names the other; a number that is used again is another socket. */
TEST(sockets_find_their_other_end)
{
	struct partial *a = partial_new(NULL), *b = partial_new(NULL);

	tell_socket(a, 1000, 5, 0, 80);
	tell_socket(b, 2000, 6, 5, 81);
	tell_socket(b, 5000, 5, 9, 90);
	CHECK_EQ(partial_merge(a, b), 0);
	CHECK_EQ(partial_finish(a), 0);
	CHECK_EQ(query_socket(a, 5, 500)->socket.remote_port, 80);
	CHECK_EQ(query_socket(a, 5, 4999)->socket.remote_port, 80);
	CHECK_EQ(query_socket(a, 5, 5000)->socket.remote_port, 90);
	CHECK(!query_socket(a, 7, 5000));
	CHECK_EQ(query_socket_peer(a, query_socket(a, 5, 1000)), 6);
	CHECK_EQ(query_socket_peer(a, query_socket(a, 6, 2000)), 5);
	CHECK_EQ(query_socket_peer(a, query_socket(a, 5, 5000)), 9);
	partial_free(a);
}

TEST(time_in_a_gap_is_unknown)
{
	struct simulation s;
	struct partial *p;
	u64 begin, unknown = 0;

	simulate(&s, 11, 4, 100);
	begin = s.from_ns + (s.to_ns - s.from_ns) / 4;
	simulation_gap(&s, begin, begin + 5000);
	p = map_range(&s, 0, s.records.count);
	partial_cover(p, s.from_ns, s.to_ns);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];

		if (l->tid != 100)
			continue;
		CHECK_EQ(split_total(&l->total), (s64)(s.threads.data[0].end_ns - s.from_ns));
		unknown = (u64)l->total.ns[SPLIT_unknown];
	}
	CHECK(unknown >= 5000 && unknown < 15000);
	partial_free(p);
	simulation_free(&s);
}

/* Its end was not seen, and its number is another's: it goes on up to no gap behind that. */
TEST(who_lost_its_number_does_not_go_on_to_a_gap)
{
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .time_ns = 2000, .tid = 7, .pid = 7},
		.nr = 39,
		.duration_ns = 100};
	struct record_fork fork = {
		.head = {.kind = RECORD_fork, .time_ns = 3000, .tid = 7, .pid = 7}};
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 8000}, .begin_ns = 7000};
	struct partial *p = partial_new(NULL);

	CHECK_EQ(partial_apply(p, &call.head), 0);
	CHECK_EQ(partial_apply(p, &fork.head), 0);
	CHECK_EQ(partial_apply(p, &gap.head), 0);
	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 2);
	CHECK_EQ(split_total(&p->lives.data[0]->total), 2000 - 1000);
	CHECK_EQ(split_total(&p->lives.data[1]->total), 7000 - 3000);
	partial_free(p);
}

/* Records of several threads about one span are not mixed up, wherever the cuts are. */
TEST(events_keep_the_attributes_of_their_thread)
{
	size_t attributes = 0, spans = 0;
	struct simulation s;
	struct partial *p;

	simulate(&s, 23, 6, 120);
	p = map_cut(&s, 9);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < p->spans.count; i++) {
		const struct app_span *span = p->spans.data[i];

		spans += span->events.count > 20;
		for (size_t j = 0; j < span->events.count; j++) {
			const struct span_event *e = &span->events.data[j];

			CHECK(e->time_ns && e->name);
			for (size_t k = 0; k < e->attributes.count; k++) {
				const struct span_attribute *a = &e->attributes.data[k];

				CHECK_EQ(atoi(a->text + 3),
					 atoi(e->name + 9)); /* by 7, event of 7 */
				CHECK(a->value > e->time_ns);
				attributes++;
			}
		}
	}
	CHECK(attributes > 50 && spans == 1);
	partial_free(p);
	simulation_free(&s);
}

/* Each share of a span has no more time than lies after the limit. */
static void check_shares(const struct span_shares *shares, u64 at)
{
	for (size_t i = 0; i < shares->list.count; i++) {
		const struct span_share *s = &shares->list.data[i];
		u64 begin = s->begin_ns > at ? s->begin_ns : at;

		CHECK(split_total(&s->split) <= (s64)(s->end_ns > begin ? s->end_ns - begin : 0));
	}
}

/*
 * However a gap lies to the limits of an answer: a thread has no more time than is between them,
 * nor has a span of it.
 */
TEST(a_range_holds_its_own_time_only)
{
	for (u64 seed = 1; seed <= seeds_of(500); seed++) {
		struct simulation s;
		struct partial *p;
		u64 at, begin;

		simulate(&s, seed, 4, 60);
		at = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);
		begin = at - simulation_random(&s, (at - s.from_ns) / 2 + 1);
		simulation_gap(&s, begin, begin + simulation_random(&s, 2 * (at - begin) + 1) + 1);
		p = map_since(&s, at);
		p->to_ns = s.to_ns;
		CHECK_EQ(partial_finish(p), 0);
		for (size_t i = 0; i < p->lives.count; i++)
			CHECK(split_total(&p->lives.data[i]->total) <= (s64)(s.to_ns - at));
		for (size_t i = 0; i < p->spans.count; i++) {
			check_shares(&p->spans.data[i]->active, at);
			check_shares(&p->spans.data[i]->seen, at);
		}
		partial_free(p);
		simulation_free(&s);
	}
}

TEST(empty_partial_is_the_identity)
{
	struct simulation s;
	struct partial *left, *p, *right = partial_new(&(struct partial_options){.spans = true});
	char *whole, *merged;

	simulate(&s, 3, 4, 30);
	whole = answers(map_range(&s, 0, s.records.count), &s);
	left = partial_new(&(struct partial_options){.spans = true});
	p = map_range(&s, 0, s.records.count);
	CHECK_EQ(partial_merge(left, p), 0);
	CHECK_EQ(partial_merge(left, right), 0);
	merged = answers(left, &s);
	CHECK_STR(merged, whole);
	free(whole);
	free(merged);
	simulation_free(&s);
}

TEST_MAIN()
