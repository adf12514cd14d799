/* SPDX-License-Identifier: Apache-2.0 */
#include "record/describe.h"

#include "tests/unit/check.h"

TEST(the_table_says_what_the_structs_are)
{
	for (unsigned int kind = 0; kind < 256; kind++) {
		const struct record_kind_info *info = record_kind_info(kind);
		size_t at = sizeof(struct record_head);

		CHECK_EQ(info != NULL, kind >= 1 && kind <= RECORD_KIND_MAX);
		for (unsigned int i = 0; info && i < info->field_count; i++) {
			const struct record_field *f = &info->fields[i];

			if (f->field_class == RECORD_FIELD_TEXT) {
				CHECK_EQ(f->len_offset, at);
				CHECK_EQ(f->len_offset, info->text_len_offset);
				CHECK_EQ(f->size, info->text_max);
				CHECK_EQ(i, info->field_count - 1);
				at += 2;
				CHECK_EQ(info->fixed_size, at);
			}
			CHECK_EQ(f->offset, at);
			at += f->size;
		}
		if (info) {
			CHECK_EQ(info->size, (at + 7) / 8 * 8);
			CHECK(record_slots(info->size) <= RECORD_MAX_SLOTS);
		}
	}
}

TEST(known_fields)
{
	const struct record_kind_info *info = record_kind_info(RECORD_syscall);

	CHECK_STR(info->name, "syscall");
	CHECK_EQ(info->size, sizeof(struct record_syscall));
	CHECK_EQ(info->text_max, 0);
	CHECK_STR(info->fields[0].name, "nr");
	CHECK_EQ(info->fields[0].field_class, RECORD_FIELD_FIX);
	CHECK_STR(info->fields[5].name, "result");
	CHECK(info->fields[5].is_signed);
	CHECK_EQ(info->fields[5].offset, offsetof(struct record_syscall, result));
}

TEST(names_of_values)
{
	CHECK_STR(record_value_name(record_file_kinds, FILE_KIND_tcp), "tcp");
	CHECK_STR(record_value_name(record_losses, LOST_damaged), "damaged");
	CHECK(record_value_name(record_losses, 0) == NULL);
	CHECK(record_value_name(record_losses, 99) == NULL);
}

TEST(one_line)
{
	struct record_syscall s = {.head = {.kind = RECORD_syscall,
					    .cpu = 1,
					    .tid = 7,
					    .pid = 6,
					    .time_ns = 12000000345},
				   .nr = 1,
				   .result = -2,
				   .arg0 = 3};
	struct record_name n = {.head = {.kind = RECORD_name, .cpu = 0xffff, .tid = 7, .pid = 6},
				.comm_len = 4,
				.comm = "a\"\n\xff"};
	char line[256], small[8];
	int len;

	s.file.kind = FILE_KIND_pipe;
	s.file.key = 99;
	s.ctx.span[7] = 0xab;
	len = record_print(line, sizeof(line), &s.head);
	CHECK_STR(line, "12.000000345 cpu1 6/7 syscall nr=1 result=-2 arg0=3 file=pipe:0:99:0 "
			"ctx=00000000000000000000000000000000/00000000000000ab");
	CHECK_EQ(len, strlen(line));
	CHECK_EQ(record_print(small, sizeof(small), &s.head), len);
	CHECK_STR(small, "12.0000");
	record_print(line, sizeof(line), &n.head);
	CHECK_STR(line, "0.000000000 6/7 name comm=\"a\\\"\\x0a\\xff\"");
}

TEST(bytes_of_a_record)
{
	struct record_name n = {.head = {.kind = RECORD_name}, .comm_len = 5};

	CHECK_EQ(record_bytes(&n.head), offsetof(struct record_name, comm) + 5);
	n.comm_len = 500; /* more than it can hold */
	CHECK_EQ(record_bytes(&n.head), offsetof(struct record_name, comm) + 16);
	n.head.kind = 200;
	CHECK_EQ(record_bytes(&n.head), 0);
	CHECK_EQ(record_slots(64), 1);
	CHECK_EQ(record_slots(65), 2);
}

TEST_MAIN()
