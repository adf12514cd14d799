/* SPDX-License-Identifier: Apache-2.0 */
/* What is not written is put aside meanwhile. */
#include "map/file/narrow.h"

#include <string.h>

#include "map/file/whole.h"

/* Waits on futexes become waits for locks or for work by the sums of futexes, which stay. */
#define EACH_ASIDE(K)                                                                              \
	K(calls)                                                                                   \
	K(call_waits)                                                                              \
	K(waits)                                                                                   \
	K(openings)                                                                                \
	K(blocks)                                                                                  \
	K(events)                                                                                  \
	K(samples)                                                                                 \
	K(wait_stacks)                                                                             \
	K(costs)                                                                                   \
	K(facts.fds)                                                                               \
	K(facts.stacks)                                                                            \
	K(facts.mappings)                                                                          \
	K(facts.devices)                                                                           \
	K(facts.paths)                                                                             \
	K(facts.peers)

/* Requests to disks and rings belong to no time of a thread. */
static bool is_needed(const struct kspan *k, const struct map *pids)
{
	return (k->kind == KSPAN_SYSCALL || k->kind == KSPAN_FAULT || k->kind == KSPAN_WAIT) &&
	       map_get(pids, k->pid);
}

/* Copies what is needed of kernel spans. 0, or -ENOMEM with a part of them. */
static int kspans_narrow(const struct kspans *all, const struct map *pids, struct kspans *out)
{
	int err = 0;

	for (size_t i = 0; i < kspans_count(all) && !err; i++) {
		struct kspan k;

		kspans_get(all, i, &k);
		if (!is_needed(&k, pids))
			continue;
		k.ctx = (struct context){0};
		err = kspans_add(out, &k);
	}
	return err;
}

int partial_write_narrow(struct partial *p, const struct map *pids, struct bytes *out)
{
	struct partial all = *p;
	struct kspans few = {0};
	int err = kspans_narrow(&p->kspans, pids, &few);

	p->kspans = few;
#define K(what) memset(&p->what, 0, sizeof(p->what));
	EACH_ASIDE(K)
#undef K
	err = err ? err : partial_write(p, out);
	kspans_free(&p->kspans);
	p->kspans = all.kspans;
#define K(what) p->what = all.what;
	EACH_ASIDE(K)
#undef K
	return err;
}
