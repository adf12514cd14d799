/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/words.h"

#include <string.h>

static const char *language_of(const struct received_list *resource)
{
	for (size_t i = resource->count; i-- > 0;) { /* given again: the last one counts */
		const struct attribute *a = &resource->data[i];

		if (strcmp(a->key, "telemetry.sdk.language") == 0)
			return a->type == VALUE_STRING ? a->string : NULL;
	}
	return NULL;
}

void words_learn(struct senders *senders, uint16_t connection, const struct received_batch *batch)
{
	const struct received_resource *last = NULL;

	for (size_t i = 0; senders && connection && i < batch->count; i++) {
		const struct received_resource *resource = batch->data[i].resource;

		if (resource == last)
			continue;
		last = resource;
		senders_learn(senders, connection,
			      &(struct sender_words){resource->service,
						     language_of(&resource->attributes)});
	}
}
