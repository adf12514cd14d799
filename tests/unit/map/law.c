/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The laws that every answer stands on, over simulated threads: the split is
 * exact, and merge(map(a), map(b)) is map(a then b) for any cut and grouping.
 */
#include "check.h"
#include "map/partial.h"
#include "simulate.h"

static const struct partial_options all = {.spans = true};

static struct partial *map_range(const struct simulation *s, size_t first, size_t end)
{
	struct partial *p = partial_new(&all);

	for (size_t i = first; i < end; i++)
		CHECK_EQ(partial_apply(p, simulation_record(s, i)), 0);
	return p;
}

static void print_split(FILE *out, const struct split *split)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		fprintf(out, " %lld", (long long)split->ns[i]);
	fprintf(out, "\n");
}

static void print_context(FILE *out, const struct context *ctx)
{
	for (int i = 0; i < 8; i++)
		fprintf(out, "%02x", ctx->span[i]);
}

static void print_sums(FILE *out, const char *what, const struct sums *sums)
{
	for (size_t i = 0; i < sums->list.count; i++) {
		const struct sum *sum = &sums->list.data[i];

		fprintf(out,
			"%s %llu pid %u file %llu count %llu errors %llu p50 %llu max %llu:", what,
			(unsigned long long)sum->key, sum->pid, (unsigned long long)sum->file.key,
			(unsigned long long)sum->count, (unsigned long long)sum->errors,
			(unsigned long long)histogram_percentile(&sum->durations, 5000),
			(unsigned long long)sum->durations.max);
		print_split(out, &sum->split);
	}
}

static void print_shares(FILE *out, const char *what, const struct span_shares *shares)
{
	for (size_t i = 0; i < shares->list.count; i++) {
		const struct span_share *s = &shares->list.data[i];

		fprintf(out, "  %s tid %u %llu-%llu:", what, s->tid,
			(unsigned long long)s->begin_ns, (unsigned long long)s->end_ns);
		print_split(out, &s->split);
	}
}

static void print_spans(FILE *out, const struct partial *p)
{
	for (size_t i = 0; i < p->spans.count; i++) {
		const struct app_span *s = p->spans.data[i];

		fprintf(out, "span ");
		print_context(out, &s->ctx);
		fprintf(out, " %s %llu-%llu parent %llx\n", s->name ? s->name : "?",
			(unsigned long long)s->begin_ns, (unsigned long long)s->end_ns,
			(unsigned long long)s->parent);
		print_shares(out, "active", &s->active);
		print_shares(out, "seen", &s->seen);
	}
}

/* Everything that a finished partial knows, as text. Frees it. */
static char *answers(struct partial *p, const struct simulation *s)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	partial_cover(p, s->from_ns, s->to_ns);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < p->lives.count; i++) {
		fprintf(out, "life %u pid %u:", p->lives.data[i]->tid, p->lives.data[i]->pid);
		print_split(out, &p->lives.data[i]->total);
	}
	for (size_t i = 0; i < p->kspans.count; i++) {
		const struct kspan *k = &p->kspans.data[i];

		fprintf(out, "kspan %u tid %u %llu-%llu nr %u part %u in %llu waker %u:", k->kind,
			k->tid, (unsigned long long)k->begin_ns, (unsigned long long)k->end_ns,
			k->nr, k->part, (unsigned long long)k->visit_ns, k->waker_tid);
		print_split(out, &k->split);
	}
	print_sums(out, "syscall", &p->syscalls);
	print_sums(out, "file", &p->files);
	print_sums(out, "cause", &p->causes);
	print_spans(out, p);
	fclose(out);
	partial_free(p);
	return text;
}

/* Maps pieces between random cuts and merges them in a random grouping. */
static struct partial *map_cut(struct simulation *s, int cuts)
{
	struct partial *pieces[17];
	size_t at = 0;
	int n = 0;

	for (int i = 0; i < cuts; i++) {
		size_t left = s->records.count - at;
		size_t end = at +
			     (left ? simulation_random(s, left / (size_t)(cuts - i) * 2 + 2) : 0);

		if (end > s->records.count)
			end = s->records.count;
		pieces[n++] = map_range(s, at, end);
		at = end;
	}
	pieces[n++] = map_range(s, at, s->records.count);
	while (n > 1) {
		int i = (int)simulation_random(s, (u64)n - 1);

		CHECK_EQ(partial_merge(pieces[i], pieces[i + 1]), 0);
		memmove(&pieces[i + 1], &pieces[i + 2], (size_t)(n - i - 2) * sizeof(pieces[0]));
		n--;
	}
	return pieces[0];
}

/* The line in which two texts first differ, for the reader of a failure. */
static void print_difference(const char *a, const char *b)
{
	while (*a && *b) {
		size_t x = strcspn(a, "\n"), y = strcspn(b, "\n");

		if (x != y || memcmp(a, b, x) != 0) {
			printf("# whole: %.*s\n# cut:   %.*s\n", (int)x, a, (int)y, b);
			return;
		}
		a += x + 1;
		b += y + 1;
	}
}

TEST(split_of_a_thread_is_exact)
{
	for (u64 seed = 1; seed <= 50; seed++) {
		struct simulation s;
		struct partial *p;

		simulate(&s, seed, 6, 60);
		p = map_range(&s, 0, s.records.count);
		partial_cover(p, s.from_ns, s.to_ns);
		CHECK_EQ(partial_finish(p), 0);
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
	CHECK(p->kspans.count > 500);
	for (size_t i = 0; i < p->kspans.count; i++) {
		const struct kspan *k = &p->kspans.data[i];

		CHECK_EQ(split_total(&k->split), (s64)(k->end_ns - k->begin_ns));
	}
	partial_free(p);
	simulation_free(&s);
}

/* Compares the answers of a simulation with those of it cut and merged at random. */
static void check_law(u64 seed, int gaps)
{
	struct simulation s;
	char *whole;

	simulate(&s, seed, 5, 40);
	for (int i = 0; i < gaps; i++) {
		u64 begin = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);

		simulation_gap(&s, begin, begin + simulation_random(&s, 9000) + 1);
	}
	whole = answers(map_range(&s, 0, s.records.count), &s);
	for (int i = 0; i < 12; i++) {
		char *cut = answers(map_cut(&s, 1 + (int)simulation_random(&s, 15)), &s);

		if (strcmp(whole, cut) != 0) {
			print_difference(whole, cut);
			CHECK_FAIL("seed %llu, grouping %d", (unsigned long long)seed, i);
		}
		free(cut);
	}
	free(whole);
	simulation_free(&s);
}

TEST(merge_is_map_of_the_whole)
{
	for (u64 seed = 1; seed <= 60; seed++)
		check_law(seed, 0);
}

TEST(merge_covers_gaps)
{
	for (u64 seed = 1; seed <= 60; seed++)
		check_law(seed, 1 + (int)seed % 3);
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

TEST(empty_partial_is_the_identity)
{
	struct simulation s;
	struct partial *left, *p, *right = partial_new(&all);
	char *whole, *merged;

	simulate(&s, 3, 4, 30);
	whole = answers(map_range(&s, 0, s.records.count), &s);
	left = partial_new(&all);
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
