/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of OTLP from anybody: the walk and the decoder take the same ones. */
#include <stdlib.h>

#include "span/attributes.h"
#include "wire/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	char data[1 << 20];
	size_t bytes;
};

static int text_append(void *arg, const char *data, size_t bytes)
{
	struct text *text = arg;

	if (bytes > sizeof(text->data) - text->bytes)
		return -1;
	memcpy(text->data + text->bytes, data, bytes);
	text->bytes += bytes;
	return 0;
}

/* Attributes of any span can be kept as text and read again. */
static void attributes_keep(const struct received_list *list, struct pool *pool)
{
	static struct text text;
	const struct json_sink sink = {text_append, &text};
	const struct attribute *back;
	struct json j;
	size_t count;

	text.bytes = 0;
	json_init(&j, &sink);
	attributes_write_exact(&j, NULL, list->data, list->count);
	if (json_end(&j))
		return;
	if (attributes_read(text.data, text.bytes, pool, &back, &count) || count != list->count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct received_batch batch = {0};
	struct pool pool = {0};
	struct otlp_walk walk;
	int walked = otlp_walk(data, size, &walk, NULL);
	int decoded = otlp_decode(data, size, &pool, &batch, NULL);

	if (walked != decoded || (!walked && walk.spans - walk.rejected.count != batch.count))
		abort();
	for (size_t i = 0; i < batch.count; i++)
		attributes_keep(&batch.data[i].attributes, &pool);
	otlp_walk_free(&walk);
	vec_free(&batch);
	pool_free(&pool);
	return 0;
}
