/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as they come from the network: texts and bytes of anybody. */
#include <fathom/fathom.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An extracted context can be injected unchanged, unless it has only a decision. */
static void hand_on(const struct fathom_context *c)
{
	char traceparent[FATHOM_TRACEPARENT_BYTES], b3[FATHOM_B3_BYTES];
	uint8_t bytes[FATHOM_BINARY_BYTES];
	struct fathom_context back;

	if (fathom_inject_binary(c, bytes) < 0)
		return;
	if (fathom_extract_binary(bytes, sizeof(bytes), &back) < 0 ||
	    memcmp(&back, c, sizeof(back)))
		abort();
	if (fathom_inject_traceparent(c, traceparent) < 0 ||
	    fathom_extract_traceparent(traceparent, &back) < 0 ||
	    memcmp(back.trace_id, c->trace_id, 16) != 0)
		abort();
	if (fathom_inject_b3(c, b3) < 0 || fathom_extract_b3(b3, &back) < 0 ||
	    memcmp(back.span_id, c->span_id, 8) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct fathom_context c;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (fathom_extract_traceparent(text, &c) == 0)
		hand_on(&c);
	if (fathom_extract_b3(text, &c) == 0)
		hand_on(&c);
	if (fathom_extract_binary(data, size, &c) == 0)
		hand_on(&c);
	/* The headers stand one behind the other, each with its NUL. */
	struct fathom_b3_received h = {.trace_id = text};
	const char *end = text + size;
	const char **fields[] = {&h.span_id, &h.parent_id, &h.sampled, &h.flags};

	for (size_t i = 0; i < 4; i++) {
		text = memchr(text, '\0', (size_t)(end - text) + 1);
		if (!text || ++text > end)
			break;
		*fields[i] = text;
	}
	if (fathom_extract_b3_headers(&h, &c) == 0)
		hand_on(&c);
	free((void *)(uintptr_t)h.trace_id);
	return 0;
}
