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

/* Copies the last path by which a process opened each of its files. 0, or -ENOMEM likewise. */
static int fds_narrow(const struct facts *all, const struct map *pids, struct facts *out)
{
	struct map places = {0}; /* hash of a file and a process -> place in the list + 1 */
	int err = 0;

	for (size_t i = 0; i < all->fds.count && !err; i++) {
		const struct fact_fd *fd = &all->fds.data[i];
		u64 file = hash_pair(fd->file.key, (u64)fd->file.dev << 32 | fd->file.kind);
		u64 key = hash_pair(file, fd->pid);
		uintptr_t place;

		if (!fd->path || !map_get(pids, fd->pid))
			continue;
		place = (uintptr_t)map_get(&places, key);
		if (!place) {
			err = vec_push(&out->fds, *fd);
			err = err ? err : map_put(&places, key, (void *)(uintptr_t)out->fds.count);
		} else if (out->fds.data[place - 1].time_ns <= fd->time_ns) {
			out->fds.data[place - 1] = *fd;
		}
	}
	map_free(&places);
	return err;
}

int partial_write_narrow(struct partial *p, const struct map *pids, bool works, struct bytes *out)
{
	struct partial all = *p;
	struct kspans few = {0};
	int err = works ? kspans_narrow(&p->kspans, pids, &few) : 0;

	p->kspans = few;
	memset(&p->facts.fds, 0, sizeof(p->facts.fds));
	err = err ? err : fds_narrow(&all.facts, pids, &p->facts);
#define K(what) memset(&p->what, 0, sizeof(p->what));
	EACH_ASIDE(K)
#undef K
	err = err ? err : partial_write(p, out);
	kspans_free(&p->kspans);
	vec_free(&p->facts.fds);
	p->kspans = all.kspans;
	p->facts.fds = all.facts.fds;
#define K(what) p->what = all.what;
	EACH_ASIDE(K)
#undef K
	return err;
}
