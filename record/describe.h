/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of record.h as tables: kinds, their fields, names of values, and a
 * printer. Everything is generated from record.h. The data is constant, and
 * every function may be called from any thread.
 */
#ifndef RECORD_DESCRIBE_H
#define RECORD_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

enum record_field_class {
	RECORD_FIELD_FIX,
	RECORD_FIELD_VAR,
	RECORD_FIELD_PAD,
	RECORD_FIELD_FILEREF,
	RECORD_FIELD_CTXREF,
	RECORD_FIELD_TEXT,
};

struct record_field {
	const char *name;
	const char *what;    /* a description; "" if the list has none */
	const char *type;    /* "u32"; for TEXT "char" */
	uint8_t field_class; /* enum record_field_class */
	bool is_signed;
	uint16_t offset;     /* in struct record_<kind>; for TEXT, of its first byte */
	uint16_t size;	     /* bytes in the slot layout; for TEXT, the maximum */
	uint16_t len_offset; /* TEXT: offset of its length, a u16 */
};

struct record_kind_info {
	const char *name;
	const char *what;
	const struct record_field *fields; /* in the order of the list */
	uint16_t field_count;
	uint16_t size;	     /* of the struct */
	uint16_t fixed_size; /* without the bytes of its text */
	uint16_t text_max;   /* 0: it has no text */
	uint16_t text_len_offset;
};

/* The description of a kind; NULL if there is no such kind. */
const struct record_kind_info *record_kind_info(unsigned int kind);

struct record_value {
	const char *name;
	int value;
};

/* Tables of the enums, each ended by a name NULL. */
extern const struct record_value record_file_kinds[];
extern const struct record_value record_leave_states[];
extern const struct record_value record_modes[];
extern const struct record_value record_wake_contexts[];
extern const struct record_value record_fd_ops[];
extern const struct record_value record_losses[];
extern const struct record_value record_attribute_types[];

/* The name of a value, NULL if there is none. */
const char *record_value_name(const struct record_value *table, int value);

/*
 * Bytes that a record takes in the slot layout, with its text as long as its
 * length field says (at most the size of the field). 0 if there is no such kind.
 */
size_t record_bytes(const struct record_head *record);

/* The number of slots that `bytes` take. */
static inline unsigned int record_slots(size_t bytes)
{
	return (unsigned int)((bytes + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES);
}

/*
 * Prints a record on one line, without a line break, and returns what snprintf
 * would: "12.000000345 cpu1 7/7 switch next_tid=9 ...". Fields that are 0 or
 * empty are left out. Bytes that are not printable are escaped.
 */
int record_print(char *buffer, size_t size, const struct record_head *record);

#endif
