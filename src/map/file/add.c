/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a chunk to a partial file. */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "map/file/set.h"

/* Makes an identity from the other fields if the manifest and the metadata of a chunk are lost. */
static void identity_make(struct partial_chunk *chunk)
{
	u64 half[2] = {hash_pair(chunk->begin_ns, chunk->end_ns),
		       hash_pair(chunk->seq, chunk->clock.unix_ns - chunk->clock.monotonic_ns)};
	static const u8 none[sizeof(chunk->identity)];

	if (memcmp(chunk->identity, none, sizeof(none)) == 0)
		memcpy(chunk->identity, half, sizeof(half));
}

static struct partial_chunk chunk_of(const struct chunk_info *info, const struct chunk_lost *lost)
{
	struct partial_chunk chunk = {.seq = info->seq,
				      .begin_ns = info->begin_ns,
				      .end_ns = info->end_ns,
				      .begun_ns = info->begun_ns,
				      .complete_ns = info->complete_ns,
				      .covers_ns = chunk_covers_to(info),
				      .clock = info->clock,
				      .lost = *lost,
				      .incomplete = info->incomplete,
				      .missing = (char *)info->missing};

	memcpy(chunk.identity, info->identity, sizeof(chunk.identity));
	memcpy(chunk.host, info->host, sizeof(chunk.host));
	if (chunk.begun_ns < chunk.begin_ns)
		chunk.begun_ns = chunk.begin_ns;
	identity_make(&chunk);
	return chunk;
}

/* Makes a file of one chunk. Takes ownership of the partial unless it fails. */
static int single_make(const struct partial_file *like, const struct chunk_info *info,
		       const struct partial_chunk *chunk, struct partial *partial,
		       struct partial_file **out)
{
	struct partial_file *single = partial_file_new(&like->terms);
	struct partial_boot *boot = single ? partial_boot_get(single, info->boot_id) : NULL;
	int err = boot ? partial_boot_append(boot, chunk) : -ENOMEM;

	err = err ? err : partial_file_identify(single);
	if (err) {
		partial_file_free(single);
		return err;
	}
	boot->runs.data[0]->partial = partial;
	*out = single;
	return 0;
}

int partial_file_add(struct partial_file *file, const struct chunk_info *info,
		     const struct chunk_lost *lost, struct partial *partial, struct error *e)
{
	struct partial_chunk chunk = chunk_of(info, lost);
	struct partial_file *single = NULL;
	int err;

	chunk.unread = !partial;
	if (!partial_chunk_holds(&chunk))
		err = error_say(e, EINVAL, "%s does not say when it was recorded", info->path);
	else if ((err = single_make(file, info, &chunk, partial, &single)) < 0)
		error_set(e, err, "cannot keep the partial of %s", info->path);
	else
		return partial_file_merge(file, single, e);
	partial_free(partial);
	return err;
}
