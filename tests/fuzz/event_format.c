/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the payload of an event (first two: its length) and as what describes it. */
#include "model/event_format.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void field_check(const struct event_field *field, const uint8_t *payload, size_t bytes)
{
	char buffer[64];
	s64 value;

	if (!memchr(field->name, '\0', sizeof(field->name)) || !field->name[0])
		abort();
	memset(buffer, 'x', sizeof(buffer));
	if (event_field_print(field, payload, bytes, buffer, sizeof(buffer)) &&
	    !memchr(buffer, '\0', sizeof(buffer)))
		abort();
	event_field_integer(field, payload, bytes, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_format *format;
	uint8_t *payload;
	size_t bytes;

	if (size < 2)
		return 0;
	bytes = data[0] | (size_t)data[1] << 8;
	if (bytes > size - 2)
		return 0;
	payload = malloc(bytes + 1); /* its end is where the sanitizer looks */
	memcpy(payload, data + 2, bytes);
	payload = realloc(payload, bytes ? bytes : 1);
	if (event_format_parse((const char *)data + 2 + bytes, size - 2 - bytes, &format) == 0) {
		if (format->count > EVENT_FORMAT_FIELDS)
			abort();
		for (unsigned int i = 0; i < format->count; i++)
			field_check(&format->fields[i], payload, bytes);
		event_format_free(format);
	}
	free(payload);
	return 0;
}
