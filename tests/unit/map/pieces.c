/* SPDX-License-Identifier: Apache-2.0 */
#include "pieces.h"

#include <string.h>

#include "cut_losses.h"
#include "map/checkpoint/checkpoint.h"

static struct partial *partial_of(const struct simulation *s)
{
	const struct partial_options options = {
		.spans = true, .hits = true, .from_ns = s->limit_from_ns, .to_ns = s->limit_to_ns};

	return partial_new(&options);
}

static u64 time_at(const struct simulation *s, size_t at)
{
	return at < s->records.count ? s->records.data[at].time_ns : s->to_ns;
}

struct partial *map_range(const struct simulation *s, size_t first, size_t end)
{
	struct partial *p = partial_of(s);
	struct cut_losses losses = {0};

	cut_losses_find(&losses, s);
	cut_losses_tell(&losses, p, first, time_at(s, first), true);
	for (size_t i = first; i < end; i++) {
		struct record_switch copy;

		must(partial_apply(p, simulation_told(s, i, &copy)));
	}
	cut_losses_tell(&losses, p, end, time_at(s, end), false);
	vec_free(&losses.list);
	return p;
}

/* ---- losses within a piece ---- */

/* What a reader and a recorder tell of a loss at a time. */
struct told_loss {
	u64 time_ns;
	size_t order; /* breaks ties */
	const struct record_lost *whole;
	enum { TOLD_BEGIN, TOLD_END, TOLD_CUT } what;
};

struct told_losses {
	VEC(struct told_loss) list;
	size_t told;
};

static void told_add(struct told_losses *t, struct told_loss told)
{
	told.order = t->list.count;
	must(vec_push(&t->list, told));
}

static void told_of_loss(struct told_losses *t, const struct cut_loss *loss,
			 const struct simulated_piece *piece)
{
	int stream = loss->begin->head.cpu % SIMULATED_STREAMS;
	u64 from = piece->losses_from[stream], to = piece->losses_to[stream];
	u64 begins = loss->begin->begin_ns, ends = loss->end->head.time_ns;

	if (begins >= to || ends < from)
		return;
	if (begins < piece->begin_ns)
		begins = piece->begin_ns;
	if (begins < ends && begins < to)
		told_add(t, (struct told_loss){begins, 0, loss->begin, TOLD_BEGIN});
	if (ends < to)
		told_add(t, (struct told_loss){ends, 0, loss->end, TOLD_END});
	else if (begins < to)
		told_add(t, (struct told_loss){to, 0, loss->begin, TOLD_CUT});
}

static int told_compare(const void *a, const void *b)
{
	const struct told_loss *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void told_apply(struct told_losses *t, struct partial *p, u64 until_ns)
{
	for (; t->told < t->list.count && t->list.data[t->told].time_ns < until_ns; t->told++) {
		const struct told_loss *told = &t->list.data[t->told];

		if (told->what == TOLD_END)
			must(partial_apply(p, &told->whole->head));
		else
			cut_loss_apply(p, told->whole, told->time_ns, told->what == TOLD_BEGIN);
	}
}

/* Records that are told with their losses, or in their place. */
static bool *told_mark(const struct simulation *s, const struct cut_losses *losses)
{
	bool *with = calloc(s->records.count + 1, sizeof(*with));

	must(with ? 0 : -1);
	for (size_t i = 0; i < s->records.count; i++) {
		const struct record_lost *r = (const void *)simulation_record(s, i);

		with[i] = r->head.kind == RECORD_lost && r->count == LOST_BEGINS;
	}
	for (size_t i = 0; i < losses->list.count; i++)
		with[losses->list.data[i].to] = true;
	return with;
}

void map_piece(const struct simulation *s, struct partial *p, const struct simulated_piece *piece)
{
	struct cut_losses losses = {0};
	struct told_losses told = {0};
	bool *with;

	cut_losses_find(&losses, s);
	with = told_mark(s, &losses);
	for (size_t i = 0; i < losses.list.count; i++)
		told_of_loss(&told, &losses.list.data[i], piece);
	if (told.list.count)
		qsort(told.list.data, told.list.count, sizeof(*told.list.data), told_compare);
	for (size_t i = 0; i < s->records.count; i++) {
		struct record_switch copy;
		const struct record_head *r = simulation_told(s, i, &copy);
		int stream = r->cpu % SIMULATED_STREAMS;

		if (r->time_ns < piece->from_ns[stream] || r->time_ns >= piece->to_ns[stream])
			continue;
		told_apply(&told, p, r->time_ns);
		if (!with[i])
			must(partial_apply(p, r));
	}
	told_apply(&told, p, UINT64_MAX);
	vec_free(&told.list);
	vec_free(&losses.list);
	free(with);
}

/* Maps what happened in [from_ns, to_ns). */
static struct partial *map_time(const struct simulation *s, u64 from_ns, u64 to_ns,
				const struct partial_options *options)
{
	struct partial *p = partial_new(options);
	struct simulated_piece piece = {.begin_ns = from_ns};

	for (int i = 0; i < SIMULATED_STREAMS; i++) {
		piece.from_ns[i] = piece.losses_from[i] = from_ns;
		piece.to_ns[i] = piece.losses_to[i] = to_ns;
	}
	map_piece(s, p, &piece);
	partial_cover(p, from_ns, to_ns);
	return p;
}

struct partial *map_since(const struct simulation *s, u64 at_ns)
{
	const struct partial_options options = {.spans = true, .from_ns = at_ns};

	return map_time(s, s->from_ns, UINT64_MAX, &options);
}

struct partial *map_on_checkpoint(struct simulation *s, u64 at_ns, int steps)
{
	const struct partial_options state = {.state_only = true};
	const struct partial_options rest = {.spans = true, .from_ns = at_ns};
	struct partial *checkpoint = partial_new(&state), *p;
	u64 from = s->from_ns;

	for (int i = 1; i <= steps; i++) { /* a chunk goes, and another one */
		u64 to = i == steps ? at_ns : from + simulation_random(s, at_ns - from + 1);
		struct bytes bytes = {0};

		must(partial_merge(checkpoint, map_time(s, from, to, &state)));
		must(checkpoint_write(checkpoint, &bytes));
		partial_free(checkpoint);
		must(checkpoint_read(&checkpoint, bytes.data, bytes.count,
				     i == steps ? &rest : &state));
		bytes_free(&bytes);
		from = to;
	}
	p = map_time(s, at_ns, UINT64_MAX, &rest);
	must(partial_merge(checkpoint, p));
	return checkpoint;
}

/* ---- random pieces ---- */

struct partial *merge_at_random(struct simulation *s, struct partial **pieces, int n)
{
	while (n > 1) {
		int i = (int)simulation_random(s, (u64)n - 1);

		must(partial_merge(pieces[i], pieces[i + 1]));
		memmove(&pieces[i + 1], &pieces[i + 2], (size_t)(n - i - 2) * sizeof(pieces[0]));
		n--;
	}
	return pieces[0];
}

int map_pieces(struct simulation *s, int cuts, struct partial *pieces[SIMULATED_PIECES])
{
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
	return n;
}

struct partial *map_cut(struct simulation *s, int cuts)
{
	struct partial *pieces[SIMULATED_PIECES];

	return merge_at_random(s, pieces, map_pieces(s, cuts, pieces));
}

#define STREAMS SIMULATED_STREAMS

/* Cuts that each stream (CPU modulo STREAMS) sees at a time of its own, in order for each. */
static void streams_cut(struct simulation *s, u64 times[][STREAMS], int cuts)
{
	u64 span = s->to_ns - s->from_ns;

	for (int i = 0; i < STREAMS; i++)
		times[0][i] = s->from_ns;
	for (int k = 1; k <= cuts; k++) {
		u64 middle = s->from_ns + span * (u64)k / (u64)(cuts + 1);
		/* some uneven_cuts are narrow, some reach over several cuts */
		u64 width = 1 + span / (1ull << (2 + simulation_random(s, 12)));

		for (int i = 0; i < STREAMS; i++) {
			u64 at = middle + simulation_random(s, width);

			times[k][i] = at > times[k - 1][i] ? at : times[k - 1][i];
		}
	}
	for (int i = 0; i < STREAMS; i++)
		times[cuts + 1][i] = UINT64_MAX;
}

static void min_max(const u64 *times, u64 *min, u64 *max)
{
	*min = *max = times[0];
	for (int i = 1; i < STREAMS; i++) {
		if (times[i] < *min)
			*min = times[i];
		if (times[i] > *max)
			*max = times[i];
	}
}

/* What lies, for each stream, between its own two times. `p` is new. */
static struct partial *map_streams(const struct simulation *s, struct partial *p, const u64 *from,
				   const u64 *to)
{
	u64 first, begun, complete, last;
	struct simulated_piece piece;

	min_max(from, &first, &begun);
	min_max(to, &complete, &last);
	partial_streams(p, begun, complete);
	piece.begin_ns = first;
	memcpy(piece.from_ns, from, sizeof(piece.from_ns));
	memcpy(piece.to_ns, to, sizeof(piece.to_ns));
	memcpy(piece.losses_from, from, sizeof(piece.losses_from));
	memcpy(piece.losses_to, to, sizeof(piece.losses_to));
	map_piece(s, p, &piece);
	partial_cover(p, first, last < s->to_ns ? last : s->to_ns);
	return p;
}

int map_pieces_streams(struct simulation *s, int cuts, struct partial *pieces[SIMULATED_PIECES])
{
	u64 times[SIMULATED_PIECES + 1][STREAMS];

	streams_cut(s, times, cuts);
	for (int i = 0; i <= cuts; i++)
		pieces[i] = map_streams(s, partial_of(s), times[i], times[i + 1]);
	return cuts + 1;
}

struct partial *map_cut_streams(struct simulation *s, int cuts)
{
	struct partial *pieces[SIMULATED_PIECES];

	return merge_at_random(s, pieces, map_pieces_streams(s, cuts, pieces));
}

struct partial *map_on_uneven_checkpoint(struct simulation *s, u64 at_ns, int steps)
{
	const struct partial_options state = {.state_only = true};
	const struct partial_options rest = {.spans = true, .from_ns = at_ns};
	struct partial *checkpoint = partial_new(&state);
	u64 from[STREAMS], to[STREAMS];

	for (int k = 0; k < STREAMS; k++)
		from[k] = s->from_ns;
	for (int i = 1; i <= steps; i++) {
		struct bytes bytes = {0};

		for (int k = 0; k < STREAMS; k++)
			to[k] = i == steps ? at_ns
					   : from[k] + simulation_random(s, at_ns - from[k] + 1);
		must(partial_merge(checkpoint, map_streams(s, partial_new(&state), from, to)));
		must(checkpoint_write(checkpoint, &bytes));
		partial_free(checkpoint);
		must(checkpoint_read(&checkpoint, bytes.data, bytes.count,
				     i == steps ? &rest : &state));
		bytes_free(&bytes);
		memcpy(from, to, sizeof(from));
	}
	must(partial_merge(checkpoint, map_time(s, at_ns, UINT64_MAX, &rest)));
	return checkpoint;
}

struct partial *map_crash(const struct simulation *s, const struct simulated_gap *gap,
			  const u64 ends_ns[STREAMS], bool resumed)
{
	const struct partial_options state = {.state_only = true};
	const struct partial_options rest = {.spans = true, .from_ns = gap->begin_ns};
	struct partial *p = partial_new(resumed ? &state : &rest);
	struct simulated_piece piece = {.begin_ns = s->from_ns};
	u64 complete, last;

	min_max(ends_ns, &complete, &last);
	partial_streams(p, s->from_ns, complete);
	for (int i = 0; i < STREAMS; i++) {
		piece.from_ns[i] = piece.losses_from[i] = s->from_ns;
		piece.to_ns[i] = piece.losses_to[i] = ends_ns[i];
	}
	map_piece(s, p, &piece);
	partial_cover(p, s->from_ns, gap->begin_ns);
	if (resumed) {
		struct bytes bytes = {0};

		must(partial_ends(p));
		must(p->raw.list.count != 0); /* nothing waits */
		must(checkpoint_write(p, &bytes));
		partial_free(p);
		must(checkpoint_read(&p, bytes.data, bytes.count, &rest));
		bytes_free(&bytes);
	}
	must(partial_merge(p, map_time(s, gap->end_ns, UINT64_MAX, &rest)));
	return p;
}
