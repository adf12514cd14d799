/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The law of the hand-over: over recordings cut at random, the last versions of the spans that were
 * handed out are those of the map of the whole.
 */
#include "map/handover/handover.h"
#include "map/handover/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "check.h"
#include "one_thread.h"
#include "seeds.h"

#define CHILDREN 5

/* ---- what was handed out ---- */

struct last {
	struct context ctx;
	char *text; /* owned */
	u64 version;
};

struct lasts {
	VEC(struct last) list;
};

static void print_time(FILE *out, const struct app_span *s, const struct span_time *t)
{
	for (int i = 0; i < 8; i++)
		fprintf(out, "%02x", s->ctx.span[i]);
	fprintf(out, " %s %llu-%llu soft %d %d parent %llx events %zu attributes %zu threads %u:",
		s->name ? s->name : "?", (unsigned long long)t->begin_ns,
		(unsigned long long)t->end_ns, t->begin_soft, t->end_soft,
		(unsigned long long)s->parent, s->events.count, s->attributes.count, t->threads);
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		fprintf(out, " %lld", (long long)t->split.ns[i]);
	fprintf(out, "\n");
}

static void print_children(FILE *out, const struct kspan *list, size_t count, u64 more)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "  kind %u nr %u tid %u %llu-%llu\n", list[i].kind, list[i].nr,
			list[i].tid, (unsigned long long)list[i].begin_ns,
			(unsigned long long)list[i].end_ns);
	fprintf(out, "  and %llu ns\n", (unsigned long long)more);
}

static struct last *last_of(struct lasts *l, const struct context *ctx)
{
	for (size_t i = 0; i < l->list.count; i++)
		if (context_equal(&l->list.data[i].ctx, ctx))
			return &l->list.data[i];
	must(vec_push(&l->list, (struct last){.ctx = *ctx}));
	return &l->list.data[l->list.count - 1];
}

static int take(void *arg, const struct handed_span *s)
{
	struct last *last = last_of(arg, &s->span->ctx);
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	CHECK(s->version > last->version);
	CHECK(s->children_count <= CHILDREN);
	CHECK(s->time.threads > 1 ||
	      split_total(&s->time.split) == (s64)(s->time.end_ns - s->time.begin_ns));
	if (!s->open) {
		print_time(out, s->span, &s->time);
		print_children(out, s->children, s->children_count, s->more_ns);
	}
	fclose(out);
	free(last->text);
	last->text = text;
	last->version = s->version;
	return 0;
}

static int last_compare(const void *a, const void *b)
{
	return memcmp(&((const struct last *)a)->ctx, &((const struct last *)b)->ctx,
		      sizeof(struct context));
}

/* All of them as a text; frees them. */
static char *lasts_text(struct lasts *l)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (l->list.count)
		qsort(l->list.data, l->list.count, sizeof(*l->list.data), last_compare);
	for (size_t i = 0; i < l->list.count; i++) {
		fputs(l->list.data[i].text, out);
		free(l->list.data[i].text);
	}
	vec_free(&l->list);
	fclose(out);
	return text;
}

/* ---- the map of the whole ---- */

static int child_compare(const void *a, const void *b)
{
	const struct kspan *x = a, *y = b;
	u64 dx = x->end_ns - x->begin_ns, dy = y->end_ns - y->begin_ns;

	if (dx != dy)
		return dx > dy ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

struct kspan_array {
	VEC(struct kspan) list;
};

/* All kernel spans that ended; finishing a partial adds those that are open. */
static void kernel_of(const struct partial *p, struct kspan_array *to)
{
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		must(vec_push(&to->list, k));
	}
	if (to->list.count)
		qsort(to->list.data, to->list.count, sizeof(*to->list.data), child_compare);
}

static void print_longest(FILE *out, const struct kspan_array *all, const struct context *ctx)
{
	struct kspan longest[CHILDREN];
	size_t count = 0;
	u64 more = 0;

	for (size_t i = 0; i < all->list.count; i++) {
		const struct kspan *k = &all->list.data[i];

		if (!context_equal(&k->ctx, ctx))
			continue;
		if (count < CHILDREN)
			longest[count++] = *k;
		else
			more += k->end_ns - k->begin_ns;
	}
	print_children(out, longest, count, more);
}

/* The spans of a whole recording that ended in it. Frees the partial. */
static char *spans_of_whole(struct partial *p, bool contexts)
{
	struct kspan_array all = {0};
	struct bytes_map owners = {0};
	struct span_time *times;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	kernel_of(p, &all);
	must(handover_owners(p, &owners));
	must(partial_finish(p));
	times = calloc(p->spans.count + 1, sizeof(*times));
	must(times ? span_times(p, times) : -1);
	for (size_t i = 0; i < p->spans.count; i++) {
		const struct app_span *s = p->spans.data[i];
		bool only_context = contexts && !s->begun && !s->ended &&
				    !bytes_map_get(&owners, &s->ctx, sizeof(s->ctx));

		if (!s->ended && !(s->begun && times[i].end_ns < p->to_ns) && !only_context)
			continue;
		print_time(out, s, &times[i]);
		print_longest(out, &all, &s->ctx);
	}
	free(times);
	vec_free(&all.list);
	bytes_map_free(&owners);
	partial_free(p);
	fclose(out);
	return text;
}

/* ---- in pieces ---- */

static struct partial *piece_map(const struct simulation *s, u64 from_ns, u64 to_ns, bool last)
{
	const struct partial_options options = handover_partial_options();
	struct partial *p = partial_new(&options);
	struct simulated_piece piece = {.begin_ns = from_ns};

	for (int i = 0; i < SIMULATED_STREAMS; i++) {
		piece.from_ns[i] = piece.losses_from[i] = from_ns;
		piece.to_ns[i] = piece.losses_to[i] = last ? UINT64_MAX : to_ns;
	}
	map_piece(s, p, &piece);
	partial_cover(p, from_ns, to_ns);
	return p;
}

static struct partial *whole_map(const struct simulation *s)
{
	return piece_map(s, s->from_ns, s->to_ns, true);
}

static struct handover_options options_of(u64 keep_ns)
{
	return (struct handover_options){
		.keep_ns = keep_ns, .children_max = CHILDREN, .children_total_max = 1 << 20};
}

/* Hands a recording over in so many pieces; what was handed out last, as a text. */
static char *hand_over(struct simulation *s, int pieces, const struct handover_options *how,
		       struct handover_counts *counts)
{
	const struct handover_options options = *how;
	struct handover *h = handover_new(&options);
	struct lasts lasts = {0};
	u64 from_ns = s->from_ns;

	must(h ? 0 : -1);
	for (int i = 1; i <= pieces; i++) {
		u64 left_ns = s->to_ns - from_ns, to_ns = s->to_ns;

		if (i < pieces)
			to_ns = from_ns +
				simulation_random(s, left_ns / (u64)(pieces - i + 1) * 2 + 1);
		must(handover_take(h, piece_map(s, from_ns, to_ns, i == pieces), take, &lasts));
		from_ns = to_ns;
	}
	*counts = handover_counts(h);
	handover_free(h);
	return lasts_text(&lasts);
}

#define KEEP_NOTHING 0
#define KEEP_ALL UINT64_MAX

/* Nothing is wrong unless something came too late for what was kept, which is counted. */
static struct handover_counts check_law_of(struct simulation *s, u64 seed, int pieces,
					   const struct handover_options *how)
{
	struct handover_counts counts;
	char *whole = spans_of_whole(whole_map(s), how->contexts);
	char *handed = hand_over(s, pieces, how, &counts);
	u64 keep_ns = how->keep_ns;

	if (!counts.late)
		CHECK_ANSWERS(whole, handed, seed, pieces);
	CHECK(!counts.late || keep_ns != KEEP_ALL);
	CHECK_EQ(counts.given_up, 0);
	CHECK_EQ(counts.forgotten, 0);
	free(whole);
	free(handed);
	return counts;
}

static struct handover_counts check_law(struct simulation *s, u64 seed, int pieces, u64 keep_ns)
{
	const struct handover_options options = options_of(keep_ns);

	return check_law_of(s, seed, pieces, &options);
}

static int pieces_of(struct simulation *s)
{
	return 1 + (int)simulation_random(s, 15);
}

/* ---- the law ---- */

TEST(last_versions_are_the_spans_of_the_whole)
{
	u64 handed = 0, late = 0; /* in all simulations */

	for (u64 seed = 1; seed <= seeds_of(400); seed++) {
		struct handover_counts counts;
		struct simulation s;

		simulate(&s, seed, 5, 40);
		check_law(&s, seed, pieces_of(&s), KEEP_ALL);
		counts = check_law(&s, seed, pieces_of(&s), KEEP_NOTHING);
		handed += counts.handed;
		late += counts.late;
		simulation_free(&s);
	}
	CHECK(handed > seeds_of(400));
	CHECK(late * 20 < handed);
}

TEST(spans_of_which_only_the_context_was_seen_obey_the_law)
{
	struct handover_options options = options_of(KEEP_ALL);
	u64 handed = 0, without = 0; /* in all simulations */

	for (u64 seed = 1; seed <= seeds_of(400); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		simulation_mute(&s, seed % 2 ? 1 + (int)seed % 4 : 0);
		options.contexts = true;
		handed += check_law_of(&s, seed, pieces_of(&s), &options).handed;
		options.contexts = false;
		without += check_law_of(&s, seed, pieces_of(&s), &options).handed;
		simulation_free(&s);
	}
	CHECK(handed > without);
}

TEST(losses_and_gaps_change_no_last_version)
{
	for (u64 seed = 1; seed <= seeds_of(300); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		for (u64 i = 0; i < seed % 3; i++) {
			u64 begin = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);

			simulation_gap(&s, begin, begin + simulation_random(&s, 9000) + 1);
		}
		simulation_lose(&s, seed % 4 ? 6 : 0);
		simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
		check_law(&s, seed, pieces_of(&s), KEEP_ALL);
		simulation_free(&s);
	}
}

TEST(the_level_of_detail_changes_no_last_version)
{
	for (u64 seed = 1; seed <= seeds_of(200); seed++) {
		struct simulation s;

		if (seed % 2)
			simulate_scopes(&s, seed, 5, 40);
		else
			simulate_levels(&s, seed, 5, 40);
		check_law(&s, seed, pieces_of(&s), KEEP_ALL);
		check_law(&s, seed, pieces_of(&s), KEEP_NOTHING);
		simulation_free(&s);
	}
}

/* Each stream of records is cut at a time of its own. */
static void check_streams(struct simulation *s, u64 seed)
{
	const struct handover_options options = options_of(KEEP_ALL);
	struct handover *h = handover_new(&options);
	struct partial *pieces[SIMULATED_PIECES];
	char *whole = spans_of_whole(whole_map(s), false), *handed;
	int count = map_pieces_streams(s, pieces_of(s), pieces);
	struct lasts lasts = {0};

	must(h ? 0 : -1);
	for (int i = 0; i < count; i++)
		must(handover_take(h, pieces[i], take, &lasts));
	handed = lasts_text(&lasts);
	CHECK_ANSWERS(whole, handed, seed, count);
	CHECK_EQ(handover_counts(h).late, 0);
	handover_free(h);
	free(whole);
	free(handed);
}

TEST(streams_that_were_cut_one_by_one_are_waited_for)
{
	for (u64 seed = 1; seed <= seeds_of(200); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
		check_streams(&s, seed);
		simulation_free(&s);
	}
}

/* ---- long spans, and bounds ---- */

#define CHUNK_NS 1000000000ull

static void span_begins(struct partial *p, u64 time_ns, const struct context *ctx,
			const struct context *parent)
{
	struct record_span_begin r = {
		.head = head(RECORD_span_begin, time_ns), .ctx = *ctx, .flags = 1};

	if (parent)
		memcpy(&r.parent, parent->span, sizeof(r.parent));
	apply(p, &r);
}

/* A chunk of thread 5: so many spans within `outer`, which begins or ends there. */
struct chunk_plan {
	u64 number;
	int inner_spans;
	bool begins, ends;
	bool left_open; /* the inner ones */
};

static void chunk_take(struct handover *h, struct chunk_plan plan, struct lasts *lasts)
{
	const struct partial_options options = handover_partial_options();
	struct partial *p = partial_new(&options);
	u64 from_ns = plan.number * CHUNK_NS, now_ns = from_ns + 10;
	const struct record_syscall call = {.head = head(RECORD_syscall, from_ns + 8),
					    .duration_ns = 5};

	partial_cover(p, from_ns, from_ns + CHUNK_NS);
	apply(p, &call);
	if (plan.begins)
		span_begins(p, now_ns, &outer, NULL);
	for (int i = 0; i < plan.inner_spans; i++) {
		struct context ctx = inner;

		memcpy(ctx.span, &now_ns, sizeof(ctx.span));
		now_ns += 100;
		span_begins(p, now_ns, &ctx, &outer);
		now_ns += 100;
		if (!plan.left_open)
			span_ends(p, now_ns, &ctx, &outer);
	}
	if (plan.ends)
		span_ends(p, from_ns + CHUNK_NS / 2, &outer, NULL);
	must(handover_take(h, p, take, lasts));
}

TEST(a_span_may_be_open_over_a_thousand_chunks)
{
	const struct handover_options options = options_of(KEEP_NOTHING);
	struct handover *h = handover_new(&options);
	struct lasts lasts = {0};
	char *text;

	for (u64 i = 1; i <= 1001; i++) {
		chunk_take(h, (struct chunk_plan){i, 1, i == 1, i == 1001, false}, &lasts);
		CHECK_EQ(lasts.list.count, i + (i == 1001));
		CHECK(handover_counts(h).spans <= 4); /* of what ended only the time is kept */
	}
	CHECK_EQ(handover_counts(h).spans, 0);
	CHECK_EQ(handover_counts(h).handed, 1002);
	CHECK_EQ(handover_counts(h).again, 0);
	text = lasts_text(&lasts);
	/* from 10 ns in the first chunk to the middle of the last one, with a call in the others */
	CHECK(strstr(text,
		     " 1000000010-1001500000000 soft 0 0 parent 0 events 0 attributes 0 threads 1: "
		     "1000499994990 5000 0"));
	free(text);
	handover_free(h);
}

/* As after a crash of the process that maps. */
TEST(another_hand_over_goes_on_from_a_state)
{
	const struct handover_options options = options_of(KEEP_NOTHING);
	struct handover *h = handover_new(&options), *second = handover_new(&options);
	struct lasts before = {0}, lasts = {0};
	struct bytes state = {0};
	char *text;

	chunk_take(h, (struct chunk_plan){1, 1, true, false, false}, &before);
	CHECK_EQ(handover_state_write(h, &state), 0);
	chunk_take(h, (struct chunk_plan){2, 1, false, false, false},
		   &before); /* it is as it was */
	CHECK_EQ(before.list.count, 2);
	CHECK_EQ(handover_begin(second, state.data, state.count / 2), -EBADMSG);
	CHECK_EQ(handover_begin(second, state.data, state.count), 0);
	chunk_take(second, (struct chunk_plan){2, 1, false, true, false}, &lasts);
	CHECK_EQ(lasts.list.count, 2); /* what ended in the second chunk */
	text = lasts_text(&lasts);
	CHECK(strstr(text, " 1000000010-2500000000 soft 0 0 parent 0 ") != NULL);
	free(text);
	free(lasts_text(&before));
	bytes_free(&state);
	handover_free(h);
	handover_free(second);
}

/* What is given up is counted, and its rest comes too late. */
TEST(open_spans_are_bounded)
{
	struct handover_options options = options_of(KEEP_NOTHING);
	struct lasts lasts = {0};
	struct handover *h;

	options.spans_max = 10;
	h = handover_new(&options);
	for (u64 i = 1; i <= 10; i++) {
		chunk_take(h, (struct chunk_plan){i, 3, i == 1, i == 10, true}, &lasts);
		CHECK(handover_counts(h).spans <= 10);
	}
	CHECK_EQ(handover_counts(h).given_up, 25); /* 13 in chunk 4, 12 in chunk 8 */
	CHECK(handover_counts(h).late > 0);
	CHECK_EQ(handover_counts(h).handed, 0);
	free(lasts_text(&lasts));
	handover_free(h);
}

static int refuse(void *arg, const struct handed_span *s)
{
	(void)arg;
	(void)s;
	return -EIO;
}

TEST(a_failure_of_the_caller_ends_the_chunk)
{
	const struct handover_options options = {0};
	struct handover *h = handover_new(&options);
	struct simulation s;

	simulate(&s, 1, 5, 40);
	CHECK_EQ(handover_take(h, whole_map(&s), refuse, NULL), -EIO);
	handover_free(h);
	simulation_free(&s);
}

TEST_MAIN()
