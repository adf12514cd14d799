/* SPDX-License-Identifier: Apache-2.0 */
/* Formats as kernels write them, and such as no kernel writes. */
#include "model/event_format.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"

#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define COMMON                                                                                     \
	"name: n\nID: 7\nformat:\n" FIELD("unsigned short common_type", 0, 2, 0)                   \
		FIELD("unsigned char common_flags", 2, 1, 0)                                       \
			FIELD("unsigned char common_preempt_count", 3, 1, 0)                       \
				FIELD("int common_pid", 4, 4, 1) "\n"

static struct event_format *parse(const char *fields)
{
	static char text[8192];
	struct event_format *format = NULL;
	size_t bytes;

	strcpy(text, "sub:event");
	strcpy(text + 10, COMMON);
	strcat(text + 10, fields);
	strcat(text + 10, "\nprint fmt: \"field:int x; offset:0; size:4; signed:1;\"\n");
	bytes = 10 + strlen(text + 10);
	CHECK_EQ(event_format_parse(text, bytes, &format), 0);
	return format;
}

static const char *printed(const struct event_format *f, unsigned int i, const void *payload,
			   size_t bytes)
{
	static char buffer[128];

	return event_field_print(&f->fields[i], payload, bytes, buffer, sizeof(buffer)) ? buffer
											: "absent";
}

TEST(reads_what_the_kernel_writes)
{
	struct event_format *f = parse(
		FIELD("pid_t pid", 8, 4, 1) FIELD("u64 big", 16, 8, 0)
			FIELD("char comm[16]", 24, 16, 0) FIELD("unsigned long args[3]", 40, 24, 0)
				FIELD("const char * name", 64, 8, 0) FIELD("bool yes", 72, 1, 0)
					FIELD("short less", 74, 2, 1)
						FIELD("unsigned char mac[6]", 76, 6, 0));
	unsigned char payload[84] = {0};
	const s64 args[3] = {1, 0, 300};
	s64 n = 0;

	memcpy(payload + 8, &(int){-5}, 4);
	memset(payload + 16, 0xff, 8);
	memcpy(payload + 24, "sh\0garbage", 10);
	memcpy(payload + 40, args, sizeof(args));
	memcpy(payload + 64, &(u64){0xffff8880}, 8);
	payload[72] = 1;
	memcpy(payload + 74, &(short){-1000}, 2);
	memcpy(payload + 76, "\1\2\3\4\5\377", 6);
	CHECK_STR(f->name, "sub:event");
	CHECK_EQ(f->count, 8); /* none of those that all have, none of `print fmt` */
	CHECK_STR(f->fields[0].name, "pid");
	CHECK(event_field_integer(&f->fields[0], payload, sizeof(payload), &n));
	CHECK_EQ(n, -5);
	CHECK(!event_field_integer(&f->fields[1], payload, sizeof(payload), &n)); /* above s64 */
	CHECK_STR(printed(f, 1, payload, sizeof(payload)), "18446744073709551615");
	CHECK_STR(f->fields[2].name, "comm");
	CHECK_STR(printed(f, 2, payload, sizeof(payload)), "sh");
	CHECK_STR(f->fields[3].name, "args");
	CHECK_STR(printed(f, 3, payload, sizeof(payload)), "{1,0,300}");
	CHECK_STR(f->fields[4].name, "name");
	CHECK(!event_field_integer(&f->fields[4], payload, sizeof(payload), &n));
	CHECK_STR(printed(f, 4, payload, sizeof(payload)), "0xffff8880");
	CHECK(event_field_integer(&f->fields[5], payload, sizeof(payload), &n));
	CHECK_EQ(n, 1);
	CHECK(event_field_integer(&f->fields[6], payload, sizeof(payload), &n));
	CHECK_EQ(n, -1000);
	CHECK_STR(printed(f, 7, payload, sizeof(payload)), "{1,2,3,4,5,255}");
	event_format_free(f);
}

TEST(follows_locations)
{
	struct event_format *f = parse(FIELD("__data_loc char[] file", 8, 4, 0) FIELD(
		"__rel_loc char[] to", 12, 4, 0) FIELD("__data_loc u32[] list", 16, 4, 0));
	unsigned char payload[40] = {0};

	memcpy(payload + 8, &(u32){5u << 16 | 20}, 4);
	memcpy(payload + 12, &(u32){4u << 16 | 10}, 4); /* 10 behind the field's end: at 26 */
	memcpy(payload + 16, &(u32){8u << 16 | 32}, 4);
	memcpy(payload + 20, "/bin", 5);
	memcpy(payload + 26, "far", 4);
	memcpy(payload + 32, (u32[]){7, 9}, 8);
	CHECK_EQ(f->count, 3);
	CHECK_STR(f->fields[0].name, "file");
	CHECK_STR(printed(f, 0, payload, sizeof(payload)), "/bin");
	CHECK_STR(printed(f, 1, payload, sizeof(payload)), "far");
	CHECK_STR(printed(f, 2, payload, sizeof(payload)), "{7,9}");
	CHECK_STR(printed(f, 2, payload, 39), "absent"); /* the payload was cut */
	CHECK_STR(printed(f, 0, payload, 11), "absent");
	memcpy(payload + 8, &(u32){0xffffffff}, 4);
	CHECK_STR(printed(f, 0, payload, sizeof(payload)), "absent");
	memcpy(payload + 8, &(u32){0}, 4);
	CHECK_STR(printed(f, 0, payload, sizeof(payload)), "");
	event_format_free(f);
}

TEST(passes_over_what_makes_no_sense)
{
	struct event_format *f = parse(
		FIELD("int", 8, 4, 1) FIELD("int far", 4000000000, 4, 1) FIELD("int none", 8, 0, 1)
			FIELD("__data_loc char[] odd", 8, 8, 0) "\tfield:int half\n" FIELD(
				"struct pair both", 8, 3, 0) FIELD("int good", 8, 4, 1));
	const unsigned char payload[12] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};

	CHECK_EQ(f->count, 2);
	CHECK_STR(f->fields[0].name, "both");
	CHECK_STR(printed(f, 0, payload, sizeof(payload)), "{1,2,3}");
	CHECK_STR(f->fields[1].name, "good");
	event_format_free(f);
}

TEST(cuts_what_does_not_fit)
{
	struct event_format *f = parse(FIELD("char text[20]", 8, 20, 0)
					       FIELD("u8 list[20]", 8, 20, 0));
	unsigned char payload[28];
	char buffer[6];

	memset(payload, 'x', sizeof(payload));
	CHECK(event_field_print(&f->fields[0], payload, sizeof(payload), buffer, sizeof(buffer)));
	CHECK_STR(buffer, "xxxxx");
	CHECK(event_field_print(&f->fields[1], payload, sizeof(payload), buffer, sizeof(buffer)));
	CHECK_STR(buffer, "{120,");
	event_format_free(f);
}

TEST(needs_a_name)
{
	struct event_format *f = NULL;

	CHECK_EQ(event_format_parse("", 0, &f), -EINVAL);
	CHECK_EQ(event_format_parse("\0x", 2, &f), -EINVAL);
	CHECK_EQ(event_format_parse("endless", 7, &f), -EINVAL);
	CHECK(!f);
	CHECK_EQ(event_format_parse("only:name", 10, &f), 0);
	CHECK_EQ(f->count, 0);
	event_format_free(f);
	event_format_free(NULL);
}

TEST_MAIN()
