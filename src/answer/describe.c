/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/overhead.h"
#include "answer/span_stack.h"
#include "base/hash.h"

bool chunk_is_gone(const struct chunk_info *info)
{
	struct stat st;

	return stat(info->path, &st) < 0 && errno == ENOENT;
}

void source_name_boot(struct source *s, const char *boot_id)
{
	snprintf(s->boot_id, sizeof(s->boot_id), "%s", boot_id);
	s->boot = hash_bytes(s->boot_id, strlen(s->boot_id));
}

int source_add_clock(struct source *s, u64 monotonic_ns, u64 unix_ns)
{
	return vec_push(&s->clocks,
			((struct clock_view){s->host, s->boot_id, monotonic_ns, unix_ns}));
}

static int clock_compare(const void *a, const void *b)
{
	const struct clock_view *x = a, *y = b;

	return (x->monotonic_ns > y->monotonic_ns) - (x->monotonic_ns < y->monotonic_ns);
}

int source_describe(struct source *s)
{
	const typeof(s->partial->facts.clocks) *steps = &s->partial->facts.clocks;
	struct calls_share share;
	u64 cut = 0;
	int err = frames_count_cut(s->partial, &cut);

	s->view.incomplete += cut;
	for (size_t i = 0; i < steps->count && !err; i++)
		err = source_add_clock(s, steps->data[i].monotonic_ns, steps->data[i].realtime_ns);
	if (err)
		return err;
	if (s->clocks.count)
		qsort(s->clocks.data, s->clocks.count, sizeof(*s->clocks.data), clock_compare);
	s->view.lost.damaged += s->partial->left_out;
	s->view.filters = partial_filters(s->partial, s->from_ns, s->to_ns);
	share = partial_calls_share(s->partial, s->from_ns, s->to_ns);
	s->view.recorded_ns = share.recorded_ns;
	s->view.calls_ns = share.calls_ns;
	s->view.steal_ns = s->partial->steal_ns;
	cost_view_of(s->partial, &s->view.cost);
	s->view.cpu_ns = s->recorded_ns * s->partial->cpus;
	s->view.clocks = s->clocks.data;
	s->view.clocks_count = s->clocks.count;
	s->view.missing = s->missing;
	s->view.gaps = s->gaps.data;
	s->view.gaps_count = s->gaps.count;
	return 0;
}
