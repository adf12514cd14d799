/* SPDX-License-Identifier: Apache-2.0 */
/* What no manifest says of a chunk is found by reading it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_list.h"
#include "chunk/reader.h"

bool chunk_stream_is_due(const struct chunk_info *info, const char *name)
{
	unsigned long cpu;

	if (strncmp(name, "cpu", 3) != 0)
		return false;
	cpu = strtoul(name + 3, NULL, 10);
	if (info->cpu_list[0])
		return cpu < CPU_LIST_END && cpu_list_has(info->cpu_list, (uint32_t)cpu);
	return cpu < info->cpus;
}

static void end_take(struct chunk_info *info, const struct stream *s, uint64_t *cpus)
{
	bool is_cpu = strncmp(s->name, "cpu", 3) == 0;

	if (!s->packets) {
		if (is_cpu) /* all that it had is missing */
			info->complete_ns = 0;
		return;
	}
	*cpus += chunk_stream_is_due(info, s->name);
	if (s->last_end_ns >= info->end_ns)
		info->end_ns = s->last_end_ns + 1;
	if (is_cpu && s->last_end_ns < info->complete_ns)
		info->complete_ns = s->last_end_ns;
}

void chunk_complete_bound(struct chunk_info *info, uint64_t cpus)
{
	if (cpus < info->cpus || info->complete_ns < info->begin_ns)
		info->complete_ns = info->begin_ns;
	/* a stream ends with its last instant, a chunk behind it */
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
	uint64_t cpus = 0;
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
		end_take(info, s, &cpus);
	}
	chunk_complete_bound(info, cpus);
	if (info->state == CHUNK_SEALED)
		info->state = CHUNK_RECOVERED;
	return 0;
}
