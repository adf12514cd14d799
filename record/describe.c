/* SPDX-License-Identifier: Apache-2.0 */
#include "record/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IS_SIGNED_u8 false
#define IS_SIGNED_u16 false
#define IS_SIGNED_u32 false
#define IS_SIGNED_u64 false
#define IS_SIGNED_s32 true
#define IS_SIGNED_s64 true

/* Each block with a list of fields defines the typedef KIND. */
#define FIELD(class_, type, is_signed, name, what)                                                 \
	{#name, what, type, class_, is_signed, offsetof(KIND, name), sizeof(((KIND *)0)->name), 0},
#define FIX(type, name, what) FIELD(RECORD_FIELD_FIX, #type, IS_SIGNED_##type, name, what)
#define VAR(type, name, what) FIELD(RECORD_FIELD_VAR, #type, IS_SIGNED_##type, name, what)
#define PAD(type, name) FIELD(RECORD_FIELD_PAD, #type, IS_SIGNED_##type, name, "")
#define FILEREF(name, what) FIELD(RECORD_FIELD_FILEREF, "file_ref", false, name, what)
#define CTXREF(name, what) FIELD(RECORD_FIELD_CTXREF, "context", false, name, what)
#define TEXT(size, name, what)                                                                     \
	{#name,	 what,                                                                             \
	 "char", RECORD_FIELD_TEXT,                                                                \
	 false,	 offsetof(KIND, name),                                                             \
	 size,	 offsetof(KIND, name##_len)},

#define NOTHING(...)
#define TEXT_MAX(size, name, what) +size
#define TEXT_LEN(size, name, what) +offsetof(KIND, name##_len)
#define OF_TEXT(kind, TEXT_)                                                                       \
	(0 RECORD_APPLY(kind, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, TEXT_))

const struct record_kind_info *record_kind_info(unsigned int kind)
{
	switch (kind) {
#define K(kind_, value, text)                                                                      \
	case value: {                                                                              \
		typedef struct record_##kind_ KIND;                                                \
		static const struct record_field fields[] = {                                      \
			RECORD_FIELDS_##kind_(FIX, VAR, PAD, FILEREF, CTXREF, TEXT)};              \
		static const struct record_kind_info info = {                                      \
			#kind_,                                                                    \
			text,                                                                      \
			fields,                                                                    \
			sizeof(fields) / sizeof(fields[0]),                                        \
			sizeof(KIND),                                                              \
			OF_TEXT(kind_, TEXT_MAX) ? OF_TEXT(kind_, TEXT_LEN) + 2 : sizeof(KIND),    \
			OF_TEXT(kind_, TEXT_MAX),                                                  \
			OF_TEXT(kind_, TEXT_LEN),                                                  \
		};                                                                                 \
		return &info;                                                                      \
	}
		RECORD_KINDS(K)
#undef K
	default:
		return NULL;
	}
}

#define V(name, value) {#name, value},
#define VALUES(table, LIST) const struct record_value table[] = {LIST(V){NULL, 0}};
VALUES(record_file_kinds, RECORD_FILE_KINDS)
VALUES(record_leave_states, RECORD_LEAVE_STATES)
VALUES(record_modes, RECORD_MODES)
VALUES(record_wake_contexts, RECORD_WAKE_CONTEXTS)
VALUES(record_fd_ops, RECORD_FD_OPS)
VALUES(record_losses, RECORD_LOSSES)
VALUES(record_attribute_types, RECORD_ATTRIBUTE_TYPES)
#undef V

const char *record_value_name(const struct record_value *table, int value)
{
	for (; table->name; table++) {
		if (table->value == value)
			return table->name;
	}
	return NULL;
}

static size_t text_bytes(const struct record_head *record, const struct record_kind_info *info)
{
	u16 len = 0;

	if (info->text_max == 0)
		return 0;
	memcpy(&len, (const char *)record + info->text_len_offset, sizeof(len));
	return len < info->text_max ? len : info->text_max;
}

size_t record_bytes(const struct record_head *record)
{
	const struct record_kind_info *info = record_kind_info(record->kind);

	return info ? info->fixed_size + text_bytes(record, info) : 0;
}

/* The place of the next character. It keeps counting when the buffer is full. */
struct printer {
	char *buffer;
	size_t size;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void print(struct printer *p, const char *format, ...)
{
	size_t room = p->used < p->size ? p->size - p->used : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(room ? p->buffer + p->used : NULL, room, format, args);
	va_end(args);
	if (n > 0)
		p->used += (size_t)n;
}

static void print_text(struct printer *p, const char *text, size_t len)
{
	print(p, "\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			print(p, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			print(p, "%c", c);
		else
			print(p, "\\x%02x", c);
	}
	print(p, "\"");
}

static u64 load_integer(const unsigned char *at, const struct record_field *field)
{
	u64 value = 0;
	unsigned int unused = 64 - 8 * field->size;

	memcpy(&value, at, field->size);
	if (field->is_signed)
		return (u64)((s64)(value << unused) >> unused);
	return value;
}

static void print_bytes(struct printer *p, const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		print(p, "%02x", bytes[i]);
}

static bool is_zero(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

static void print_field(struct printer *p, const struct record_head *record,
			const struct record_kind_info *info, const struct record_field *field)
{
	const unsigned char *at = (const unsigned char *)record + field->offset;
	size_t len = field->field_class == RECORD_FIELD_TEXT ? text_bytes(record, info)
							     : field->size;

	if (field->field_class == RECORD_FIELD_PAD || is_zero(at, len))
		return;
	print(p, " %s=", field->name);
	if (field->field_class == RECORD_FIELD_TEXT) {
		print_text(p, (const char *)at, len);
	} else if (field->field_class == RECORD_FIELD_FILEREF) {
		struct file_ref file;
		const char *name;

		memcpy(&file, at, sizeof(file));
		name = record_value_name(record_file_kinds, file.kind);
		print(p, "%s:%u:%" PRIu64 ":%u", name ? name : "?", file.dev, (uint64_t)file.key,
		      file.flags);
	} else if (field->field_class == RECORD_FIELD_CTXREF) {
		print_bytes(p, at, 16);
		print(p, "/");
		print_bytes(p, at + 16, 8);
	} else if (field->is_signed) {
		print(p, "%" PRId64, (int64_t)load_integer(at, field));
	} else {
		print(p, "%" PRIu64, (uint64_t)load_integer(at, field));
	}
}

int record_print(char *buffer, size_t size, const struct record_head *record)
{
	const struct record_kind_info *info = record_kind_info(record->kind);
	struct printer p = {buffer, size, 0};

	if (size)
		buffer[0] = '\0';
	print(&p, "%" PRIu64 ".%09" PRIu64, (uint64_t)(record->time_ns / 1000000000),
	      (uint64_t)(record->time_ns % 1000000000));
	if (record->cpu != 0xffff)
		print(&p, " cpu%u", record->cpu);
	print(&p, " %u/%u %s", record->pid, record->tid, info ? info->name : "?");
	for (unsigned int i = 0; info && i < info->field_count; i++)
		print_field(&p, record, info, &info->fields[i]);
	return (int)p.used;
}
