/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/option.h"

#include <errno.h>

#include "tests/unit/check.h"
#include "tests/unit/cli/parse.h"

struct fields {
	bool loud;
	bool deep;
	const char *name;
	uint64_t time_ns;
	uint64_t size;
	uint64_t count;
	uint32_t pid;
	struct option_list list;
	struct option_list texts;
	struct option_pids pids;
	struct limits limits;
	struct time_point when;
	int boot;
};

#define AT(field) offsetof(struct fields, field)
static const struct option table[] = {
	{"loud", 'l', NULL, "", NULL, AT(loud), option_flag},
	{"deep", 'd', NULL, "", NULL, AT(deep), option_flag},
	{"name", 'n', "NAME", "", NULL, AT(name), option_text},
	{"time", 't', "TIME", "", "1s", AT(time_ns), option_seconds},
	{"size", 0, "SIZE", "", NULL, AT(size), option_size},
	{"count", 0, "N", "", NULL, AT(count), option_count},
	{"pid", 0, "PID", "", NULL, AT(pid), option_pid},
	{"list", 0, "LIST", "", NULL, AT(list), option_names},
	{"texts", 0, "TEXT", "", NULL, AT(texts), option_texts},
	{"pids", 'p', "PIDS", "", NULL, AT(pids), option_pids},
	{"limits", 0, "LIMITS", "", NULL, AT(limits), option_limits},
	{"when", 0, "T", "", NULL, AT(when), option_time},
	{"boot", 0, "N", "", NULL, AT(boot), option_boot},
	{0},
};

static struct fields f;

static int parsed(const char *line)
{
	option_list_free(&f.list);
	option_list_free(&f.texts);
	vec_free(&f.pids);
	f = (struct fields){0};
	return parse(table, &f, line, NULL);
}

TEST(long_and_short_in_each_form)
{
	CHECK_EQ(parsed("--name=a -t 3 x --loud y"), 0);
	CHECK_STR(f.name, "a");
	CHECK_EQ(f.time_ns, 3000000000);
	CHECK(f.loud && !f.deep);
	CHECK_EQ(parse_operands.count, 2);
	CHECK_STR(parse_operands.items[1], "y");
	CHECK(!parse_operands.command);
	CHECK_EQ(parsed("--name b -ldn c"), 0);
	CHECK_STR(f.name, "c");
	CHECK(f.loud && f.deep);
	CHECK_EQ(parsed("-nd -"), 0);
	CHECK_STR(f.name, "d");
	CHECK_STR(parse_operands.items[0], "-");
}

TEST(presets_hold_until_overridden)
{
	CHECK_EQ(parsed(""), 0);
	CHECK_EQ(f.time_ns, 1000000000);
	CHECK_EQ(parsed("-t 20ms"), 0);
	CHECK_EQ(f.time_ns, 20000000);
}

TEST(a_command_follows_two_dashes)
{
	CHECK_EQ(parsed("-l x -- ls -l --help"), 0);
	CHECK_EQ(parse_operands.count, 1);
	CHECK_STR(parse_operands.command[0], "ls");
	CHECK_STR(parse_operands.command[2], "--help");
	CHECK(!parse_operands.command[3]);
	CHECK_EQ(parsed("--"), 0);
	CHECK(parse_operands.command && !parse_operands.command[0]);
}

TEST(help_is_found)
{
	CHECK_EQ(parsed("-l --help --nonsense"), OPTIONS_HELP);
	CHECK_EQ(parsed("-h"), OPTIONS_HELP);
}

TEST(wrong_usage_is_named)
{
	CHECK_EQ(parsed("--nmae x"), -EINVAL);
	CHECK_STR(parse_error.text, "unknown option --nmae; did you mean --name?");
	CHECK_EQ(parsed("--xyzzy"), -EINVAL);
	CHECK_STR(parse_error.text, "unknown option --xyzzy");
	CHECK_EQ(parsed("-x"), -EINVAL);
	CHECK_STR(parse_error.text, "unknown option -x");
	CHECK_EQ(parsed("--name"), -EINVAL);
	CHECK_STR(parse_error.text, "--name needs a value: NAME");
	CHECK_EQ(parsed("-n"), -EINVAL);
	CHECK_STR(parse_error.text, "-n needs a value: NAME");
	CHECK_EQ(parsed("--loud=1"), -EINVAL);
	CHECK_STR(parse_error.text, "--loud takes no value");
	CHECK_EQ(parsed("--size 5m"), -EINVAL);
	CHECK_STR(parse_error.text,
		  "--size '5m' is not a size: write a number and K, M, G or T, like 64M");
	CHECK_EQ(parsed("-t 0"), -EINVAL);
	CHECK_STR(parse_error.text, "--time '0' must be more than 0");
}

TEST(numbers_and_lists)
{
	CHECK_EQ(parsed("--list a,b --list c --texts d,e -p 1,22 -p 333 --count 7 --pid 9"), 0);
	CHECK_EQ(f.list.count, 3);
	CHECK_STR(f.list.data[2], "c");
	CHECK_EQ(f.texts.count, 1);
	CHECK_STR(f.texts.data[0], "d,e");
	CHECK_EQ(f.pids.count, 3);
	CHECK_EQ(f.pids.data[1], 22);
	CHECK_EQ(f.count, 7);
	CHECK_EQ(f.pid, 9);
	CHECK_EQ(parsed("--list a,,b"), -EINVAL);
	CHECK_EQ(parsed("-p 0"), -EINVAL);
	CHECK_EQ(parsed("-p 12x"), -EINVAL);
	CHECK_EQ(parsed("-p 99999999999"), -EINVAL);
	CHECK_EQ(parsed("--count -1"), -EINVAL);
	CHECK_EQ(parsed(""), 0);
}

TEST(limits_by_time_size_or_both)
{
	CHECK_EQ(parsed("--limits 1s,64M"), 0);
	CHECK_EQ(f.limits.time_ns, 1000000000);
	CHECK_EQ(f.limits.bytes, 64 << 20);
	CHECK_EQ(parsed("--limits 2G"), 0);
	CHECK_EQ(f.limits.time_ns, 0);
	CHECK_EQ(f.limits.bytes, 2ll << 30);
	CHECK_EQ(parsed("--limits 10m"), 0);
	CHECK_EQ(f.limits.time_ns, 600000000000);
	CHECK_EQ(parsed("--limits 1s,2s"), -EINVAL);
	CHECK_EQ(parsed("--limits 1M,2M"), -EINVAL);
	CHECK_EQ(parsed("--limits 10"), -EINVAL);
	CHECK_EQ(parsed("--limits 1s,"), -EINVAL);
	CHECK_EQ(parsed("--limits 0s"), -EINVAL);
}

TEST(points_in_time_and_boots)
{
	CHECK_EQ(parsed("--when 81234000000000"), 0);
	CHECK(f.when.kind == TIME_POINT_MONOTONIC && f.when.ns == 81234000000000);
	CHECK_EQ(parsed("--when 1.5s"), 0);
	CHECK(f.when.kind == TIME_POINT_SINCE_BEGIN && f.when.ns == 1500000000);
	CHECK_EQ(parsed("--when 2026-11-26T14:03:00Z"), 0);
	CHECK(f.when.kind == TIME_POINT_UNIX && f.when.ns == 1795701780000000000);
	CHECK_EQ(parsed("--when @1795701780"), 0);
	CHECK(f.when.kind == TIME_POINT_UNIX && f.when.ns == 1795701780000000000);
	CHECK_EQ(parsed("--when yesterday"), -EINVAL);
	CHECK_EQ(parsed("--when 11:31:17"), 0);
	CHECK(f.when.kind == TIME_POINT_OF_DAY && f.when.ns == 41477000000000);
	CHECK_EQ(parsed("--when -5m"), 0);
	CHECK(f.when.kind == TIME_POINT_BEFORE_END && f.when.ns == 300000000000);
	CHECK_EQ(parsed("--when 25:00"), -EINVAL);
	CHECK_EQ(parsed("--when -5"), -EINVAL);
	CHECK_EQ(parsed("--when 2026-11-26T14:03:00+"), -EINVAL);
	CHECK_EQ(parsed("--boot -1"), 0);
	CHECK_EQ(f.boot, -1);
	CHECK_EQ(parsed("--boot 0"), 0);
	CHECK_EQ(f.boot, 0);
	CHECK_EQ(parsed("--boot 1"), -EINVAL);
}

TEST_MAIN()
