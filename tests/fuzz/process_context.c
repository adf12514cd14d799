/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the payload of a process context. */
#include "capture/context/process.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void text_check(const char *text, size_t size)
{
	if (!memchr(text, '\0', size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process_context context;

	if (process_context_decode(data, size, &context))
		return 0;
	text_check(context.service, sizeof(context.service));
	text_check(context.sdk, sizeof(context.sdk));
	text_check(context.schema_name, sizeof(context.schema_name));
	if (context.keys > PROCESS_CONTEXT_KEYS_MAX)
		abort();
	for (unsigned int i = 0; i < context.keys; i++) {
		const char *key = process_context_key(&context, i);

		text_check(key, sizeof(context.key_text) - context.key_at[i]);
	}
	return 0;
}
