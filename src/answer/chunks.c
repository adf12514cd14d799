/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/chunks.h"

struct chunk_row chunk_row_of(const struct chunk_info *chunk)
{
	u64 ahead_ns = chunk->clock.unix_ns ? chunk->clock.unix_ns - chunk->clock.monotonic_ns : 0;

	return (struct chunk_row){
		.path = chunk->path,
		.begin_ns = chunk->begin_ns,
		.end_ns = chunk->end_ns,
		.records = chunk->records,
		.bytes = chunk->bytes,
		.lost = {.buffer = chunk->lost.buffer,
			 .recursion = chunk->lost.recursion,
			 .application = chunk->lost.application,
			 .damaged = chunk->lost.damaged},
		.incomplete = chunk->incomplete,
		.state = chunk_state_name(chunk->state),
		.begin_unix_ns = ahead_ns ? ahead_ns + chunk->begin_ns : 0,
		.end_unix_ns = ahead_ns ? ahead_ns + chunk->end_ns : 0,
	};
}
