/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

u32 share_of(u64 part, u64 all)
{
	return all ? (u32)(part * 10000 / all) : 10000;
}

u32 precision_of(const struct figures *f)
{
	return share_of(f->right, f->found);
}

u32 recall_of(const struct figures *f)
{
	return share_of(f->right, f->edges);
}

static void edge_judge(struct figures *f, const struct edge *edge, u32 truth, bool *broken)
{
	bool found = edge->parent != EDGE_ROOT && edge->probability_ppm >= PROBABILITY_LEAST_PPM;
	bool right = found && edge->parent == truth;

	f->edges += truth != EDGE_ROOT;
	f->found += found;
	f->right += right;
	if (found) {
		f->by_evidence[edge->evidence]++;
		f->right_by_evidence[edge->evidence] += right;
		f->probability_sum += edge->probability_ppm;
	}
	if (edge->probability_ppm > 950000) {
		f->sure++;
		f->sure_right += right;
	}
	if (truth != EDGE_ROOT && !right)
		broken[truth] = true;
	if (found && !right)
		broken[edge->parent] = true;
}

struct figures edges_judge(const struct services *s, const struct edge *edges)
{
	struct figures f = {0};
	bool *broken = calloc(s->exchanges.count + 1, sizeof(*broken));

	if (!broken)
		abort();
	for (size_t i = 0; i < s->exchanges.count; i++) {
		if (s->exchanges.data[i].caller.process)
			edge_judge(&f, &edges[i], s->truth.data[i], broken);
	}
	for (size_t i = 0; i < s->exchanges.count; i++) {
		if (s->exchanges.data[i].caller.process)
			continue;
		f.requests++;
		f.whole += !broken[i];
	}
	free(broken);
	return f;
}

void figures_tell(const struct figures *f, const char *of, u32 at_once)
{
	printf("# %-22s %2u at once: precision %6.2f recall %6.2f; above 0.95: %5.1f %% of edges, "
	       "%6.2f right; whole %5.1f; mean probability %5.1f;",
	       of, at_once, precision_of(f) / 100.0, recall_of(f) / 100.0,
	       share_of(f->sure, f->found) / 100.0, share_of(f->sure_right, f->sure) / 100.0,
	       share_of(f->whole, f->requests) / 100.0,
	       f->found ? (double)f->probability_sum / f->found / 10000 : 0);
	for (int i = 0; i <= EDGE_TIMING; i++) {
		if (f->by_evidence[i])
			printf(" %s %u (%.1f)", edge_evidence_name((enum edge_evidence)i),
			       f->by_evidence[i],
			       share_of(f->right_by_evidence[i], f->by_evidence[i]) / 100.0);
	}
	printf("\n");
}
