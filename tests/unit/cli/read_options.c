/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/read_options.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/check.h"
#include "tests/unit/cli/parse.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"

static struct trace_options t;

static int traced(const char *line)
{
	trace_options_release(&t);
	memset(&t, 0, sizeof(t));
	return parse(trace_option_table, &t, line, trace_options_check);
}

TEST(report)
{
	struct report_options o = {0};

	CHECK_EQ(parse(report_option_table, &o, "", report_options_check), 0);
	CHECK(!o.by && !o.json);
	CHECK(o.sort == NULL);
	CHECK_EQ(o.dirs_count, 1);
	CHECK_STR(o.dirs[0], "fathom.data");
	CHECK_EQ(parse(report_option_table, &o,
		       "a --by thread b --json --sort p99 --from 1s --to 2s", report_options_check),
		 0);
	CHECK_STR(o.by, "thread");
	CHECK_EQ(o.dirs_count, 2);
	CHECK_STR(o.dirs[1], "b");
	CHECK(o.json);
}

TEST(report_wrong_usage)
{
	static const char *const lines[] = {"--by color",
					    "--sort size",
					    "--from 2s --to 1s",
					    "a -- b",
					    "--from x",
					    "--by",
					    "--boot 2",
					    "--by process,process",
					    "--by name,syscall",
					    "--by thread --file x",
					    "--by syscall --name x",
					    "--json --json-lines",
					    "--from 11:00 --to 11:00",
					    "--from -1m --to -2m"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct report_options o = {0};

		CHECK_EQ(parse(report_option_table, &o, lines[i], report_options_check), -EINVAL);
	}
}

TEST(report_filters)
{
	struct report_options o = {0};
	struct filter f;

	CHECK_EQ(
		parse(report_option_table, &o,
		      "--by file,cause --pid 7,8 --tid 9 --program nginx --command *a* --peer *:80 "
		      "--file /srv/* --syscall read,write --cgroup /system.slice --from -5m "
		      "--limit 3 --json-lines",
		      report_options_check),
		0);
	f = filter_of(&o.filter);
	CHECK(f.pids_count == 2 && f.pids[1] == 8 && f.tid == 9);
	CHECK_STR(f.program, "nginx");
	CHECK_STR(f.command, "*a*");
	CHECK_STR(f.peer, "*:80");
	CHECK_STR(f.file, "/srv/*");
	CHECK_STR(f.syscall, "read,write");
	CHECK_STR(f.cgroup, "/system.slice");
	CHECK(o.limit == 3 && o.json_lines && o.from.kind == TIME_POINT_BEFORE_END);
	report_options_release(&o);
}

TEST(report_word_unknown_says_which_are_known)
{
	struct report_options o = {0};

	CHECK_EQ(parse(report_option_table, &o, "--by color", report_options_check), -EINVAL);
	CHECK(strstr(parse_error.text, "'color'"));
	CHECK(strstr(parse_error.text, "name, service, process"));
	CHECK(strstr(parse_error.text, "event"));
}

TEST(trace_id_or_directory)
{
	char dir[] = "/tmp/fathom-test-XXXXXX";

	CHECK_EQ(traced(ID), 0);
	CHECK_STR(t.trace_id, ID);
	CHECK_STR(t.dirs[0], "fathom.data");
	CHECK_EQ(traced("a " ID " b --pid 7"), 0);
	CHECK_STR(t.trace_id, ID);
	CHECK_EQ(t.dirs_count, 2);
	CHECK_STR(t.dirs[1], "b");
	CHECK(t.filter.pids.count == 1 && t.filter.pids.data[0] == 7);
	/* one with a missing digit */
	CHECK_EQ(traced("4bf92f3577b34da6a3ce929d0e0e473"), -EINVAL);
	CHECK(strstr(parse_error.text, "32 hex digits"));
	CHECK_EQ(traced("cafe"), 0);
	CHECK(!t.trace_id);
	/* a directory of such a name is a directory */
	CHECK(mkdtemp(dir) && chdir(dir) == 0 && mkdir(ID, 0700) == 0);
	CHECK_EQ(traced(ID), 0);
	CHECK(!t.trace_id);
	CHECK_STR(t.dirs[0], ID);
	CHECK(rmdir(ID) == 0);
	/* so is a file */
	close(open(ID, O_CREAT | O_WRONLY, 0600));
	CHECK_EQ(traced(ID), 0);
	CHECK(!t.trace_id);
	CHECK_STR(t.dirs[0], ID);
	CHECK(unlink(ID) == 0 && chdir("/") == 0 && rmdir(dir) == 0);
	CHECK_EQ(traced(""), 0);
}

TEST(trace_choices_exclude_each_other)
{
	CHECK_EQ(traced("--slowest 3"), 0);
	CHECK_EQ(t.slowest, 3);
	CHECK_EQ(traced("--all --tid 4"), 0);
	CHECK_EQ(traced("--slowest 3 --name x* --service y --pid 4"), 0);
	CHECK_EQ(t.slowest, 3);
	CHECK_STR(t.filter.name, "x*");
	CHECK_STR(t.filter.service, "y");
	CHECK_EQ(traced("--all --slowest 3"), -EINVAL);
	CHECK_EQ(traced("--all --service y"), -EINVAL);
	CHECK_EQ(traced("--all " ID), -EINVAL);
	CHECK_EQ(traced("--slowest 3 " ID), -EINVAL);
	CHECK_EQ(traced(ID " --name x*"), -EINVAL);
	CHECK_EQ(traced(ID " " ID), -EINVAL);
	CHECK_EQ(traced("--slowest 0"), -EINVAL);
	CHECK_EQ(traced(""), 0);
	trace_options_release(&t);
}

TEST(one_directory)
{
	struct dir_options o = {0};

	CHECK_EQ(parse(chunks_option_table, &o, "--json", dir_options_check), 0);
	CHECK_STR(o.dir, "fathom.data");
	CHECK(o.json);
	CHECK_EQ(parse(chunks_option_table, &o, "x --boot -2", dir_options_check), 0);
	CHECK_STR(o.dir, "x");
	CHECK_EQ(o.boot, -2);
	CHECK_EQ(parse(seal_option_table, &o, "x y", dir_options_check), -EINVAL);
	CHECK_EQ(parse(seal_option_table, &o, "--boot -2", dir_options_check), -EINVAL);
}

TEST(live)
{
	struct top_options top = {0};
	struct doctor_options doctor = {0};

	CHECK_EQ(parse(top_option_table, &top, "-d 2 --json", NULL), 0);
	CHECK_EQ(top.duration_ns, 2000000000);
	CHECK(top.json);
	CHECK_EQ(parse(top_option_table, &top, "-n 3 --by thread --sort cpu -p 7", NULL), 0);
	CHECK_EQ(top.count, 3);
	CHECK_EQ(top.pids.count, 1);
	top_options_release(&top);
	/* what it records has one level for all */
	memset(&top, 0, sizeof(top));
	CHECK_EQ(parse(top_option_table, &top, "--detail waits,nginx=calls", top_options_check),
		 -EINVAL);
	top_options_release(&top);
	memset(&top, 0, sizeof(top));
	CHECK_EQ(parse(top_option_table, &top, "--detail waits", top_options_check), 0);
	top_options_release(&top);
	CHECK_EQ(parse(doctor_option_table, &doctor, "--json", NULL), 0);
	CHECK(doctor.json);
}

TEST_MAIN()
