/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapping leaves out the kernel spans that nobody asked for as they come (kernel/kspan_filter.c).
 * A partial that was read has all of them, in their order, so that what a wait lies in stands
 * before it.
 */
#include "map/file/choose.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "map/kernel/kspan_filter.h"

/* The last call or fault of user code of a thread. */
struct visit {
	u64 begin_ns, end_ns;
	bool wanted;
};

struct choosing {
	const struct partial *p;
	struct map visits; /* tid -> struct visit, owned */
	struct kspans chosen;
};

static bool is_visit(const struct kspan *k)
{
	return k->kind == KSPAN_SYSCALL || (k->kind == KSPAN_FAULT && k->args[2] & FAULT_USER);
}

static int visit_note(struct choosing *c, const struct kspan *k, bool wanted)
{
	struct visit *v = map_get(&c->visits, k->tid);

	if (!v) {
		v = malloc(sizeof(*v));
		if (!v || map_put(&c->visits, k->tid, v)) {
			free(v);
			return -ENOMEM;
		}
	}
	*v = (struct visit){k->begin_ns, k->end_ns, wanted};
	return 0;
}

/* Whether it lies in a call or fault that is wanted. */
static bool lies_in_wanted(const struct choosing *c, const struct kspan *k)
{
	const struct visit *v = map_get(&c->visits, k->tid);

	return v && v->wanted && v->begin_ns <= k->begin_ns && k->end_ns <= v->end_ns &&
	       (k->kind == KSPAN_WAIT || k->kind == KSPAN_FAULT);
}

static int kspan_choose(struct choosing *c, const struct kspan *k)
{
	bool wanted = k->kind == KSPAN_BLOCK || partial_wants(c->p, &k->ctx, k->pid, k->tid);
	int err = is_visit(k) ? visit_note(c, k, wanted) : 0;

	if (err || (!wanted && (is_visit(k) || !lies_in_wanted(c, k))))
		return err;
	return kspans_add(&c->chosen, k);
}

int partial_choose(struct partial *p)
{
	struct choosing c = {.p = p};
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	if (!p->options.only || !p->options.spans)
		return 0;
	for (size_t i = 0; i < kspans_count(&p->kspans) && !err; i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		err = kspan_choose(&c, &k);
	}
	while (map_next(&c.visits, &at, &entry))
		free(entry.value);
	map_free(&c.visits);
	err = err ? err : kspans_sort(&c.chosen);
	kspans_free(&p->kspans);
	p->kspans = c.chosen;
	return err;
}
