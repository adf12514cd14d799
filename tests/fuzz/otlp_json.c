/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of OTLP in JSON from anybody: in protobuf they are not longer, and the decoder takes
 * what the walk takes. */
#include <stdlib.h>

#include "wire/otlp.h"
#include "wire/otlp_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct received_batch batch = {0};
	struct bytes out = {0};
	struct pool pool = {0};
	struct otlp_walk walk;
	int walked, decoded;

	if (otlp_from_json(data, size, &out, NULL) == 0) {
		walked = otlp_walk(out.data, out.count, &walk, NULL);
		decoded = otlp_decode(out.data, out.count, &pool, &batch, NULL);
		if (out.count > size || walked != decoded ||
		    (!walked && walk.spans - walk.rejected.count != batch.count))
			abort();
		otlp_walk_free(&walk);
	}
	bytes_free(&out);
	vec_free(&batch);
	pool_free(&pool);
	return 0;
}
