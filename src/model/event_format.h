/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a kernel tracepoint, by the text in which tracefs describes
 * it. Text and payload come from a chunk: nothing of them is believed, what
 * lies outside the payload has no value. Nothing here is shared: any thread.
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
	EVENT_FIELD_ARRAY,   /* of integers */
};

struct event_field {
	char name[EVENT_FIELD_NAME];
	u8 kind; /* enum event_field_kind */
	bool is_signed;
	u8 dynamic;   /* 1: the field says where its value lies, 2: counted from behind itself */
	u8 item_size; /* of an integer: 1, 2, 4 or 8 */
	u32 offset, size;
};

struct event_format {
	char *name; /* "subsystem:name" */
	unsigned int count;
	struct event_field fields[EVENT_FORMAT_FIELDS]; /* without those that all events have */
};

/*
 * Reads the text of a format record: subsystem:name, NUL, the format. Lines
 * that make no sense and fields beyond the limit are passed over. 0, -EINVAL
 * if there is no name, -ENOMEM. Free with event_format_free().
 */
int event_format_parse(const char *text, size_t bytes, struct event_format **out);
void event_format_free(struct event_format *format);

/* The value of an integer field; false if it is none, or does not fit an s64, or is cut off. */
bool event_field_integer(const struct event_field *field, const void *payload, size_t bytes,
			 s64 *value);

/*
 * The value as text: NUL-terminated, cut at `size` (not 0). Arrays are
 * written {1,2,3}. False if the payload does not have it.
 */
bool event_field_print(const struct event_field *field, const void *payload, size_t bytes,
		       char *buffer, size_t size);

#endif
