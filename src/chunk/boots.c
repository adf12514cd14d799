/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/boots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "chunk/writer.h"

/* ---- boots ---- */

static int compare_unix(const void *a, const void *b)
{
	const struct chunk_info *x = a, *y = b;
	uint64_t tx = chunk_unix_ns(x, x->begin_ns), ty = chunk_unix_ns(y, y->begin_ns);

	if (tx != ty)
		return tx < ty ? -1 : 1;
	return memcmp(x->identity, y->identity, sizeof(x->identity));
}

/*
 * Two boots of a host are further apart than this, and so is a clock before and after it is set.
 * The first record of a chunk is at most this much later than its begin.
 */
#define SAME_BOOT_NS 5000000000u

static bool have_same_clocks(const struct chunk_info *x, const struct chunk_info *y)
{
	uint64_t apart_ns = chunk_unix_ns(x, 0) - chunk_unix_ns(y, 0);

	return x->clock.unix_ns && y->clock.unix_ns && apart_ns + SAME_BOOT_NS <= 2u * SAME_BOOT_NS;
}

/*
 * A chunk without manifest and metadata has no boot id. It gets that of the chunk before or after
 * it, if the relation of its clocks is the same as there.
 */
static void boot_guess(struct chunk_info *chunk, const struct chunk_info *beside)
{
	if (chunk->boot_id[0] || !have_same_clocks(chunk, beside))
		return;
	strcpy(chunk->boot_id, beside->boot_id);
	strcpy(chunk->host, beside->host);
}

/* Finds the boot of a chunk by its id, or adds it as the next boot. 0 or -ENOMEM. */
static int boot_of(struct boots *boots, struct bytes_map *seen, const struct chunk_info *chunk,
		   uint32_t *number)
{
	const char *id = chunk->boot_id;
	size_t known = (size_t)bytes_map_get(seen, id, strlen(id) + 1);
	int err;

	if (known) {
		*number = (uint32_t)known - 1;
		return 0;
	}
	err = vec_push(&boots->list, ((struct boot){chunk, 0}));
	*number = (uint32_t)boots->list.count - 1;
	return err ? err : bytes_map_put(seen, id, strlen(id) + 1, (void *)boots->list.count);
}

/* ---- hosts ---- */

static uint64_t unix_end_ns(const struct chunk_info *chunk)
{
	return chunk_unix_ns(chunk, chunk->end_ns);
}

/* True if a chunk of one boot overlaps a chunk of the other; chunks are sorted by Unix time. */
static bool boots_overlap(const struct boots *boots, const struct chunk_info *chunks, size_t count,
			  const uint32_t pair[2])
{
	uint64_t until_ns[2] = {0, 0}; /* the latest end so far of the chunks of each */

	for (size_t i = 0; i < count; i++) {
		const struct chunk_info *chunk = &chunks[i];

		if (!chunk->clock.unix_ns || !chunk->begin_ns) /* its time is unknown */
			continue;
		for (int side = 0; side < 2; side++) {
			if (boots->of[i] != pair[side])
				continue;
			if (chunk_unix_ns(chunk, chunk->begin_ns) < until_ns[!side])
				return true;
			if (unix_end_ns(chunk) > until_ns[side])
				until_ns[side] = unix_end_ns(chunk);
		}
	}
	return false;
}

/* True if the boot does not contradict the later boots of that host. */
static bool fits(const struct boots *boots, const struct chunk_info *chunks, size_t count,
		 const uint32_t boot_and_host[2])
{
	const struct boot *boot = &boots->list.data[boot_and_host[0]];

	for (uint32_t i = 0; i < boot_and_host[0]; i++) {
		const struct boot *other = &boots->list.data[i];
		const uint32_t pair[2] = {boot_and_host[0], i};

		if (other->host != boot_and_host[1])
			continue;
		if (other->latest->host[0] && strcmp(other->latest->host, boot->latest->host) != 0)
			return false;
		if (other->latest->host[0] && boots_overlap(boots, chunks, count, pair))
			return false;
	}
	return true;
}

static void hosts_find(struct boots *boots, const struct chunk_info *chunks, size_t count)
{
	for (uint32_t i = 0; i < boots->list.count; i++) {
		struct boot *boot = &boots->list.data[i];
		bool named = boot->latest->host[0];

		boot->host = 0;
		while (named && boot->host < boots->hosts &&
		       !fits(boots, chunks, count, (uint32_t[2]){i, boot->host}))
			boot->host++;
		if (boot->host >= boots->hosts)
			boots->hosts = boot->host + 1;
	}
}

/* ---- both ---- */

int boots_find(struct boots *boots, struct chunk_info *chunks, size_t count)
{
	struct bytes_map seen = {0};
	int err = 0;

	*boots = (struct boots){.of = calloc(count, sizeof(*boots->of))};
	if (!boots->of)
		return -ENOMEM;
	qsort(chunks, count, sizeof(*chunks), compare_unix);
	for (size_t i = 1; i < count; i++)
		boot_guess(&chunks[i], &chunks[i - 1]);
	for (size_t i = count; i > 1; i--)
		boot_guess(&chunks[i - 2], &chunks[i - 1]);
	for (size_t at = count; at > 0 && !err; at--)
		err = boot_of(boots, &seen, &chunks[at - 1], &boots->of[at - 1]);
	bytes_map_free(&seen);
	if (!err)
		hosts_find(boots, chunks, count);
	return err;
}

void boots_free(struct boots *boots)
{
	free(boots->of);
	vec_free(&boots->list);
	boots->of = NULL;
}

uint32_t boots_latest(const struct boots *boots, uint32_t host)
{
	uint32_t i = 0;

	while (boots->list.data[i].host != host)
		i++;
	return i;
}
