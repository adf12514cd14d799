/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of Zipkin from anybody: the walk and the decoder take the same ones. */
#include <stdlib.h>

#include "base/vec.h"
#include "wire/zipkin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct received_batch batch = {0};
	struct pool pool = {0};
	uint64_t spans;
	int walked = zipkin_walk(data, size, &spans, NULL);
	int decoded = zipkin_decode(data, size, &pool, &batch, NULL);

	if (walked != decoded || (!walked && spans != batch.count) || (walked && batch.count))
		abort();
	for (size_t i = 0; i < batch.count; i++) {
		const struct received_span *span = &batch.data[i];

		if (!(span->trace.high | span->trace.low) || !span->span_id || !span->resource ||
		    !span->scope || span->end_ns < span->begin_ns)
			abort();
	}
	vec_free(&batch);
	pool_free(&pool);
	return 0;
}
