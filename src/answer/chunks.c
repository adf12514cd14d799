/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/chunks.h"

struct chunk_row chunk_row_of(const struct chunk_info *chunk)
{
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
	};
}
