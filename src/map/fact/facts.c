/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of every kind: loops over the rows of FACT_KINDS. */
#include "map/fact/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/fact/bytes.h"
#include "map/fact/kind.h"
#include "map/fact/path.h"
#include "map/fact/peer.h"

/* ---- add ---- */

enum fact_kind_number {
#define K(kind, list, form, records) NUMBER_##kind,
	FACT_KINDS(K)
#undef K
};

static const struct fact_kind *const kinds[] = {
#define K(kind, list, form, records) &fact_kind_##kind,
	FACT_KINDS(K)
#undef K
};

/* By kind of record: a bit for the number of each kind of fact that is made of it. */
static const u32 made_of[RECORD_KIND_MAX + 1] = {
#define BIT(kind, list, form, records, record)                                                     \
	| ((u32)(((records) >> (record)) & 1) << NUMBER_##kind)
#define R(kind, value, what) [value] = 0 FACT_KINDS(BIT, value),
	RECORD_KINDS(R)
#undef R
#undef BIT
};

int facts_add(struct facts *f, const struct record_head *r)
{
	int err = 0;

	if (r->kind > RECORD_KIND_MAX)
		return 0;
	for (u32 left = made_of[r->kind]; left && !err; left &= left - 1)
		err = kinds[__builtin_ctz(left)]->add(f, r);
	return err;
}

/* ---- merge ---- */

#define MERGE_LIST(list) vec_move(&left->list, &right->list)
#define MERGE_INDEXED MERGE_LIST
#define MERGE_THREADS(list) thread_facts_merge(&left->list, &right->list)

int facts_merge(struct facts *left, struct facts *right)
{
	int err = texts_merge(&left->texts, &right->texts);

#define K(kind, list, form, records) err = err ? err : MERGE_##form(list);
	FACT_KINDS(K)
#undef K
	return err;
}

/* ---- sort ---- */

#define SORT_LIST(kind, list)                                                                      \
	if (f->list.count)                                                                         \
		qsort(f->list.data, f->list.count, sizeof(*f->list.data), fact_kind_##kind.compare);
#define SORT_INDEXED(kind, list)
#define SORT_THREADS(kind, list) err = err ? err : thread_facts_sort(&f->list, &kind##_order);

int facts_sort(struct facts *f)
{
	int err = 0;

	in_force_forget(f);
#define K(kind, list, form, records) SORT_##form(kind, list)
	FACT_KINDS(K)
#undef K
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !err; i++)
		err = kinds[i]->index ? kinds[i]->index(f) : 0;
	return err;
}

/* ---- keep ---- */

int facts_keep(struct partial *p, struct living *l)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !err; i++)
		err = kinds[i]->keep ? kinds[i]->keep(p, l) : 0;
	return err;
}

/* ---- archive ---- */

/* `fact` has room for one, to read into. */
static void archive_threads(struct archive *a, struct thread_facts *t,
			    const struct thread_order *order, const struct fact_kind *kind,
			    void *fact)
{
	struct thread_place place = {0};
	size_t count;

	if (a->whole && !archive_reads(a) && thread_facts_sort(t, order))
		archive_fail(a, -ENOMEM);
	count = archive_count(a, t->count);
	for (size_t i = 0; i < count && !a->err; i++) {
		void *to;

		if (!archive_reads(a)) {
			kind->archive(a, (void *)thread_facts_next(t, order->size, &place));
			continue;
		}
		memset(fact, 0, order->size);
		kind->archive(a, fact);
		to = a->err ? NULL : thread_facts_put(t, order, fact);
		if (!a->err && !to)
			archive_fail(a, -ENOMEM);
	}
}

#define ARCHIVE_LIST(kind, list) archive_set(a, &f->list, fact_kind_##kind.archive);
#define ARCHIVE_INDEXED ARCHIVE_LIST
#define ARCHIVE_THREADS(kind, list)                                                                \
	archive_threads(a, &f->list, &kind##_order, &fact_kind_##kind, &(struct fact_##kind){0});

void facts_archive(struct archive *a, struct facts *f, bool kept)
{
#define K(kind, list, form, records)                                                               \
	if (!kept || fact_kind_##kind.keep)                                                        \
	ARCHIVE_##form(kind, list)
	FACT_KINDS(K)
#undef K
}

/* ---- free ---- */

#define FREE_LIST(kind, list)                                                                      \
	for (size_t i = 0; fact_kind_##kind.release && i < f->list.count; i++)                     \
		fact_kind_##kind.release(&f->list.data[i]);                                        \
	vec_free(&f->list);
#define FREE_INDEXED FREE_LIST
#define FREE_THREADS(kind, list) thread_facts_free(&f->list);

void facts_free(struct facts *f)
{
#define K(kind, list, form, records) FREE_##form(kind, list)
	FACT_KINDS(K)
#undef K
	in_force_forget(f);
	texts_free(&f->texts);
	vec_free(&f->tenures);
	vec_free(&f->tables);
	vec_free(&f->fd_ranges);
	vec_free(&f->fds_by_file);
	vec_free(&f->sockets_by_peer);
	vec_free(&f->listeners);
}
