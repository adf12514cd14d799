/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields in the payload of a kernel tracepoint, by the description in tracefs.
 * Description and payload come from a chunk and are not trusted: a field outside of
 * the payload has no value. Nothing here is shared between threads.
 */
#ifndef MODEL_EVENT_FORMAT_H
#define MODEL_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

#define EVENT_FORMAT_FIELDS 64
#define EVENT_FIELD_NAME 48

enum event_field_kind {
	EVENT_FIELD_INTEGER,
	EVENT_FIELD_POINTER, /* hexadecimal */
	EVENT_FIELD_TEXT,    /* characters up to a NUL */
	EVENT_FIELD_ARRAY,   /* an array of integers */
};

struct event_field {
	char name[EVENT_FIELD_NAME];
	u8 kind; /* enum event_field_kind */
	bool is_signed;
	u8 dynamic;   /* 1: the field has the offset of its value, 2: relative to its own end */
	u8 item_size; /* bytes of an integer: 1, 2, 4 or 8 */
	u32 offset, size;
};

struct event_format {
	char *name; /* "subsystem:name" */
	unsigned int count;
	struct event_field
		fields[EVENT_FORMAT_FIELDS]; /* without the common fields of all events */
};

/*
 * Parses the text of a format record: subsystem:name, NUL, the format. Invalid lines and
 * fields beyond the limit are ignored. 0, -EINVAL if there is no name, or -ENOMEM. Free it
 * with event_format_free().
 */
int event_format_parse(const char *text, size_t bytes, struct event_format **out);
void event_format_free(struct event_format *format);

/* Reads an integer field. False if it is of another kind, does not fit an s64, or is cut off. */
bool event_field_integer(const struct event_field *field, const void *payload, size_t bytes,
			 s64 *value);

/*
 * Writes the value as text: NUL-terminated, cut at `size` (not 0). Arrays are written
 * {1,2,3}. False if the payload does not have the field.
 */
bool event_field_print(const struct event_field *field, const void *payload, size_t bytes,
		       char *buffer, size_t size);

#endif
