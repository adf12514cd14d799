/* SPDX-License-Identifier: Apache-2.0 */
#include "request/apps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define LEVELS_MOST 64 /* spans above each other that are looked at */

/* The app of a span of a host whose apps begin at `first`; NO_APP: it is none. */
static u32 app_of_span(const struct request_apps *a, const struct partial *p, size_t first,
		       const struct app_span *span)
{
	const struct tree *tree;
	size_t number = COUNT_BEFORE(&p->spans, e,
				     memcmp(&(*e)->ctx, &span->ctx, sizeof(span->ctx)) < 0);
	size_t low = 0, high;

	if (first == a->list.count)
		return NO_APP;
	tree = &a->trees[a->list.data[first].host];
	high = tree->nodes.count;
	while (low < high) { /* nodes stand in the order of their spans */
		size_t middle = low + (high - low) / 2;

		if (tree->nodes.data[middle].of < number + 1)
			low = middle + 1;
		else
			high = middle;
	}
	return low < tree->nodes.count && tree->nodes.data[low].of == number + 1
		       ? (u32)(first + low)
		       : NO_APP;
}

static void apps_join(struct request_apps *a, const struct partial *p, size_t first)
{
	for (size_t i = first; i < a->list.count; i++) {
		struct request_app *app = &a->list.data[i];
		const struct app_span *span = node_app(p, request_app_node(a, (u32)i));
		const struct app_span *above = span ? span_parent(p, span) : NULL;

		app->above = above && above != span ? app_of_span(a, p, first, above) : NO_APP;
	}
	for (size_t i = first; i < a->list.count; i++) {
		u32 top = (u32)i, pid = request_app_node(a, top)->pid;

		for (int level = 0; level < LEVELS_MOST; level++) {
			u32 above = a->list.data[top].above;

			if (above == NO_APP || request_app_node(a, above)->pid != pid)
				break;
			top = above;
		}
		a->list.data[i].top = top;
	}
}

int request_apps_make(struct request_apps *a, const struct request_host *hosts, size_t count)
{
	int err = 0;

	a->trees = calloc(count + 1, sizeof(*a->trees));
	if (!a->trees)
		return -ENOMEM;
	a->hosts = count;
	for (u32 i = 0; i < count && !err; i++) {
		size_t first = a->list.count;

		err = tree_apps(hosts[i].p, &a->trees[i]);
		for (u32 n = 0; n < a->trees[i].nodes.count && !err; n++)
			err = vec_push(&a->list, ((struct request_app){i, n, NO_APP, NO_APP}));
		if (!err)
			apps_join(a, hosts[i].p, first);
	}
	return err;
}

void request_apps_free(struct request_apps *a)
{
	for (size_t i = 0; i < a->hosts; i++)
		tree_free(&a->trees[i]);
	free(a->trees);
	vec_free(&a->list);
}
