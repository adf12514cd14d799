/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing from the time of an answer, as its members lost, incomplete, gaps and coverage.
 */
#include "serve/own.h"

void own_coverage_write(struct query *q, struct json *j, uint64_t from_ns, uint64_t to_ns)
{
	const struct serve_more *more = q->source->more;
	struct coverage c = {0};

	if (more && more->coverage && from_ns < to_ns)
		more->coverage(more->arg, from_ns, to_ns, &c);
	json_u64(j, "lost", c.lost);
	json_u64(j, "incomplete", c.incomplete);
	json_array_begin(j, "gaps");
	for (unsigned int i = 0; i < c.gaps_count; i++) {
		json_object_begin(j, NULL);
		json_u64(j, "begin_ns", c.gaps[i].begin_ns);
		json_u64(j, "end_ns", c.gaps[i].end_ns);
		json_string(j, "reason", c.gaps[i].reason);
		json_object_end(j);
	}
	json_array_end(j);
	if (c.is_known)
		json_double(j, "coverage", c.share);
	else
		json_null(j, "coverage");
}

void own_spans_range(const struct received_batch *batch, uint64_t *from_ns, uint64_t *to_ns)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const struct received_span *span = &batch->data[i];

		from = span->begin_ns < from ? span->begin_ns : from;
		to = span->end_ns > to ? span->end_ns : to;
	}
	/* an instant lies in a time, too */
	*from_ns = batch->count ? from : 0;
	*to_ns = batch->count && to <= from && from < UINT64_MAX ? from + 1 : to;
}
