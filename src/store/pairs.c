/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pairs.h"

#include <errno.h>
#include <stdlib.h>

static void map_drop(struct map *m)
{
	struct map_entry entry;

	for (size_t at = 0; map_next(m, &at, &entry);) {
		free(((struct pair *)entry.value)->split);
		free(entry.value);
	}
	map_free(m);
	*m = (struct map){0};
}

struct pair *pairs_get(struct pairs *p, const struct received_span *span)
{
	uint64_t key = hash_pair(hash_pair(span->trace.high, span->trace.low), span->span_id);
	struct pair *pair = map_get(&p->maps[0], key);

	pair = pair ? pair : map_get(&p->maps[1], key);
	if (pair)
		return pair;
	if (p->maps[0].count >= PAIRS_MAX) {
		map_drop(&p->maps[1]);
		p->maps[1] = p->maps[0];
		p->maps[0] = (struct map){0};
	}
	pair = calloc(1, sizeof(*pair));
	if (pair && map_put(&p->maps[0], key, pair) == 0)
		return pair;
	free(pair);
	return NULL;
}

int pair_context_set(struct pair *pair, const struct told *context)
{
	if (!pair->split)
		pair->split = calloc(1, sizeof(*pair->split));
	if (!pair->split)
		return -ENOMEM;
	pair->split->context = *context;
	pair->has_context = true;
	return 0;
}

struct told pair_told(const struct pair *pair)
{
	struct told told = pair->split->context;
	uint64_t known_ns = 0;

	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++)
		known_ns += i == SPLIT_unknown ? 0 : (uint64_t)told.time.ns[i];
	/* more is that of several threads */
	if (known_ns <= pair->duration_ns)
		told.time.ns[SPLIT_unknown] = (s64)(pair->duration_ns - known_ns);
	return told;
}

void pairs_forget(struct pairs *p)
{
	for (size_t i = 0; i < 2; i++)
		map_drop(&p->maps[i]);
}
