/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A span may be open for ever, with spans without end below it. Once one of these has ended and was
 * handed out, the span above it needs nothing of it but the times that its threads had it: they
 * become times of the span above, and those that follow each other become one. The time split of
 * every span above stays the same.
 */
#include <errno.h>
#include <stdlib.h>

#include "map/handover/internal.h"
#include "map/span/shares.h"

struct folding {
	struct handover *h;
	const struct bytes_map *owners; /* contexts that a thread has now */
	u64 before_ns;			/* what is older changes no more */
	struct map numbers;		/* span -> its number + 1 */
	size_t *children;		/* of each span: how many of them are there */
	bool *folded;
	VEC(size_t) leaves;
};

static size_t number_of(const struct folding *f, const struct app_span *span)
{
	return (size_t)(uintptr_t)map_get(&f->numbers, (u64)(uintptr_t)span);
}

static int folding_fill(struct folding *f)
{
	const struct partial *p = f->h->running;
	int err = 0;

	f->children = calloc(p->spans.count + 1, sizeof(*f->children));
	f->folded = calloc(p->spans.count + 1, sizeof(*f->folded));
	if (!f->children || !f->folded)
		return -ENOMEM;
	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = map_put(&f->numbers, (u64)(uintptr_t)p->spans.data[i],
			      (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *up = span_parent(p, p->spans.data[i]);

		if (up)
			f->children[number_of(f, up) - 1]++;
	}
	for (size_t i = 0; i < p->spans.count && !err; i++)
		if (!f->children[i])
			err = vec_push(&f->leaves, i);
	return err;
}

/* Whether the span is open, so that no stay of a thread goes on behind its end. */
static bool is_open(const struct app_span *span)
{
	return span->begun && !span->ended && !span->over_ns;
}

/* Whether the span above had all threads that the span had, and saw all of it. */
static bool shares_fit(const struct app_span *span, const struct app_span *up)
{
	u64 end_ns = 0;

	for (size_t i = 0; i < span->active.list.count; i++) {
		const struct span_share *s = &span->active.list.data[i];

		if (!share_of(&up->active, s->tid))
			return false;
		end_ns = s->end_ns > end_ns ? s->end_ns : end_ns;
	}
	return span->end_ns <= end_ns;
}

static bool may_fold(const struct folding *f, const struct app_span *span,
		     const struct app_span *up)
{
	const struct handed *entry = bytes_map_get(&f->h->table, &span->ctx, sizeof(span->ctx));

	return entry && entry->version && !entry->open && span->begun && span->ended &&
	       span->end_ns < f->before_ns && is_open(up) &&
	       !bytes_map_get(f->owners, &span->ctx, sizeof(span->ctx)) && shares_fit(span, up);
}

static int share_fold(struct span_shares *to, const struct span_share *s)
{
	struct span_share once = {.tid = s->tid,
				  .pid = s->pid,
				  .begin_ns = s->begin_ns,
				  .end_ns = s->end_ns,
				  .split = s->split};
	int err = 0;

	if (!s->holds.count)
		return share_add(to, &once);
	for (size_t i = 0; i < s->holds.count && !err; i++) {
		once.begin_ns = s->holds.data[i].begin_ns;
		once.end_ns = s->holds.data[i].end_ns;
		once.split = s->holds.data[i].split;
		err = share_add(to, &once);
	}
	return err;
}

/* Folds the leaf, if that is possible; then the span above may be one. 0 or -ENOMEM. */
static int leaf_fold(struct folding *f, size_t at)
{
	const struct app_span *span = f->h->running->spans.data[at];
	struct app_span *up = span_parent(f->h->running, span);
	size_t above;
	int err = 0;

	if (!up || !may_fold(f, span, up))
		return 0;
	for (size_t i = 0; i < span->active.list.count && !err; i++)
		err = share_fold(&up->active, &span->active.list.data[i]);
	if (err)
		return err;
	f->folded[at] = true;
	above = number_of(f, up) - 1;
	return --f->children[above] ? 0 : vec_push(&f->leaves, above);
}

/* Drops the spans that were folded, and joins the times of the others. 0 or -ENOMEM. */
static int folded_drop(struct folding *f)
{
	struct partial *p = f->h->running;
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < p->spans.count; i++) {
		struct app_span *span = p->spans.data[i];

		if (f->folded[i] && !err) {
			err = handover_span_drop(f->h, span);
			continue;
		}
		if (is_open(span))
			shares_coalesce(&span->active, f->before_ns);
		p->spans.data[kept++] = span;
	}
	p->spans.count = kept;
	return err;
}

int handover_fold(struct handover *h, const struct bytes_map *owners, u64 before_ns)
{
	struct folding f = {.h = h, .owners = owners, .before_ns = before_ns};
	int err = before_ns ? folding_fill(&f) : 0;

	while (!err && f.leaves.count)
		err = leaf_fold(&f, f.leaves.data[--f.leaves.count]);
	if (before_ns && !err)
		err = folded_drop(&f);
	map_free(&f.numbers);
	vec_free(&f.leaves);
	free(f.children);
	free(f.folded);
	return err;
}
