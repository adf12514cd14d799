/* SPDX-License-Identifier: Apache-2.0 */
/* Finds facts about a chunk without a manifest by reading it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_list.h"
#include "chunk/directory.h"
#include "chunk/reader.h"

bool chunk_stream_is_due(const struct chunk_info *info, const char *name)
{
	unsigned long cpu;

	if (strncmp(name, "life", 4) == 0)
		return info->cpus;
	if (strncmp(name, "cpu", 3) != 0)
		return false;
	cpu = strtoul(name + 3, NULL, 10);
	if (info->cpu_list[0])
		return cpu < CPU_LIST_END && cpu_list_has(info->cpu_list, (uint32_t)cpu);
	return cpu < info->cpus;
}

/* The `life` stream of an older writer lists no other streams, but it has a first packet. */
void chunk_stream_bound(struct chunk_info *info, const struct stream *s)
{
	uint64_t complete_ns = UINT64_MAX;

	if (strncmp(s->name, "cpu", 3) == 0)
		complete_ns = s->packets ? s->last_end_ns : 0;
	else if (strncmp(s->name, "life", 4) == 0 && (s->empty_ns || !s->packets))
		complete_ns = s->empty_ns;
	if (complete_ns < info->complete_ns)
		info->complete_ns = complete_ns;
	if (s->packets && s->last_end_ns >= info->end_ns)
		info->end_ns = s->last_end_ns + 1;
}

/*
 * The first manifest and the metadata are not synced, so both may be missing. Only the
 * name of the chunk and the first packets of its streams relate the clocks then.
 */
void chunk_clock_bound(const struct chunk_reader *r, struct chunk_info *info)
{
	const char *slash = strrchr(r->info.path, '/');
	uint64_t begin_ns = UINT64_MAX;
	struct chunk_name name;

	if (info->clock.unix_ns || !chunk_name_parse(slash ? slash + 1 : r->info.path, &name))
		return;
	for (size_t i = 0; i < r->count; i++) {
		const struct stream *s = &r->streams[i].stream;

		if (s->packets && s->first_begin_ns < begin_ns)
			begin_ns = s->first_begin_ns;
	}
	if (begin_ns == UINT64_MAX)
		return;
	info->begin_ns = info->begun_ns = info->late_ns = begin_ns;
	info->clock = (struct chunk_clock){begin_ns, name.begin_unix_ns, 0, 0};
}

/* The streams of the CPUs and `life` must exist. */
void chunk_complete_bound(struct chunk_info *info, uint64_t due)
{
	if (info->cpus_unknown || (info->cpus && due <= info->cpus) ||
	    info->complete_ns < info->begin_ns)
		info->complete_ns = info->begin_ns;
	/* the end of a stream is inclusive, that of a chunk exclusive */
	if (info->complete_ns >= info->end_ns - 1)
		info->complete_ns = info->end_ns;
}

bool chunk_reader_has_sums(const struct chunk_reader *r)
{
	return !r->manifest_damaged && r->info.state != CHUNK_OPEN;
}

int chunk_reader_measure(struct chunk_reader *r, struct error *e)
{
	const struct record_head *record;
	struct chunk_info *info = &r->info;
	uint64_t due = 0;
	int got;

	r->measured = true;
	while ((got = chunk_reader_next(r, &record, e)) > 0)
		;
	if (got < 0)
		return got;
	info->records = 0;
	info->complete_ns = UINT64_MAX;
	for (size_t i = 0; i < r->count; i++) {
		const struct stream *s = &r->streams[i].stream;

		info->records += s->delivered + s->unpacker.rows;
		if (memcmp(info->identity, (uint8_t[16]){0}, 16) == 0 && s->has_identity)
			memcpy(info->identity, s->identity, sizeof(info->identity));
		chunk_stream_bound(info, s);
		due += s->packets && chunk_stream_is_due(info, s->name);
	}
	chunk_clock_bound(r, info);
	chunk_complete_bound(info, due);
	if (info->state == CHUNK_SEALED)
		info->state = CHUNK_RECOVERED;
	return 0;
}
