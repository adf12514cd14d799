/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_options.h"

#include <errno.h>

#include "tests/unit/check.h"
#include "tests/unit/cli/parse.h"

static struct record_options o;

static int parsed(const char *line)
{
	record_options_release(&o);
	memset(&o, 0, sizeof(o));
	return parse(record_option_table, &o, line, record_options_check);
}

TEST(everything_at_once)
{
	CHECK_EQ(parsed("-o out -d 10 -p 12,13 -p 14 --cgroup /a --cgroup b --rotate 1s,64M "
			"--keep 10m,2G --event sched:*,block:block_rq_issue --syscalls read,write "
			"--spans-only --stacks 10ms --compress --buffer 64M --on-chunk true "
			"-- ls -l"),
		 0);
	CHECK_STR(o.output, "out");
	CHECK_EQ(o.duration_ns, 10000000000);
	CHECK_EQ(o.pids.count, 3);
	CHECK_STR(o.cgroups.data[1], "b");
	CHECK_EQ(o.rotate.bytes, 64 << 20);
	CHECK_EQ(o.keep.time_ns, 600000000000);
	CHECK_STR(o.events.data[0], "sched:*");
	CHECK_EQ(o.events.count, 2);
	CHECK(o.spans_only && o.compress && !o.flight && !o.all);
	CHECK_EQ(o.stacks.min_ns, 10000000);
	CHECK(!o.stacks.bytes && !o.sample.hz);
	CHECK_EQ(o.buffer_bytes, 64 << 20);
	CHECK_STR(o.on_chunk, "true");
	CHECK_STR(parse_operands.command[1], "-l");
}

TEST(samples_and_how_much_of_each_stack)
{
	CHECK_EQ(parsed("--sample"), 0);
	CHECK(o.sample.hz == 99 && !o.sample.bytes);
	CHECK_EQ(parsed("--sample -- ls"), 0);
	CHECK_EQ(o.sample.hz, 99);
	CHECK_EQ(parsed("--sample -d 1s"), 0);
	CHECK_EQ(o.sample.hz, 99);
	CHECK_EQ(parsed("--sample 199 -- ls"), 0);
	CHECK_EQ(o.sample.hz, 199);
	CHECK_EQ(parsed("--sample=49,4K -- ls"), 0);
	CHECK(o.sample.hz == 49 && o.sample.bytes == 4096);
	CHECK_EQ(parsed("--sample 4K"), 0);
	CHECK(o.sample.hz == 99 && o.sample.bytes == 4096);
	CHECK_EQ(parsed("--stacks 5ms,1K"), 0);
	CHECK(o.stacks.min_ns == 5000000 && o.stacks.bytes == 1024);
	CHECK_EQ(parsed("--sample 0"), -EINVAL);
	CHECK_EQ(parsed("--sample 10001"), -EINVAL);
	CHECK_EQ(parsed("--sample=often"), -EINVAL);
	CHECK_EQ(parsed("--sample 99,"), -EINVAL);
	CHECK_EQ(parsed("--sample 99,16K"), -EINVAL);
	CHECK_EQ(parsed("--stacks 5ms,"), -EINVAL);
	CHECK_EQ(parsed("--stacks 4K"), -EINVAL);
	CHECK_EQ(parsed("--stacks 5ms,9K"), -EINVAL);
}

TEST(the_whole_host_unless_told_otherwise)
{
	CHECK_EQ(parsed(""), 0);
	CHECK(!o.output && o.duration_ns == 0);
	CHECK(record_options_host(&o, &parse_operands));
	CHECK_EQ(parsed("-- true"), 0);
	CHECK(!record_options_host(&o, &parse_operands));
	CHECK_EQ(parsed("-a -- true"), 0);
	CHECK(record_options_host(&o, &parse_operands));
	CHECK_EQ(parsed("-p 1"), 0);
	CHECK(!record_options_host(&o, &parse_operands));
}

/* What is left on is cheap, and what is looked at closely has each call. */
TEST(the_level_follows_the_scope)
{
	CHECK_EQ(parsed(""), 0);
	CHECK(o.detail.waits && !o.detail.bytes && !o.detail.given && !o.detail.raised);
	CHECK_EQ(parsed("-a -- true"), 0);
	CHECK(o.detail.waits);
	CHECK_EQ(parsed("--flight -p 1"), 0);
	CHECK(o.detail.waits);
	CHECK_EQ(parsed("-- true"), 0);
	CHECK(!o.detail.waits && !o.detail.raised);
	CHECK_EQ(parsed("-p 1"), 0);
	CHECK(!o.detail.waits);
	CHECK_EQ(parsed("--cgroup a"), 0);
	CHECK(!o.detail.waits);
	CHECK_EQ(parsed("--spans-only --stacks 1ms"), 0);
	CHECK(o.detail.waits);
}

TEST(the_level_that_is_given)
{
	CHECK_EQ(parsed("--detail calls"), 0);
	CHECK(!o.detail.waits && o.detail.given);
	CHECK_EQ(parsed("--detail waits -- true"), 0);
	CHECK(o.detail.waits && !o.detail.bytes);
	CHECK_EQ(parsed("--detail waits,bytes -p 1"), 0);
	CHECK(o.detail.waits && o.detail.bytes);
	CHECK_EQ(parsed("--detail waits --detail calls"), 0);
	CHECK(!o.detail.waits);
	CHECK_EQ(parsed("--detail all"), -EINVAL);
	CHECK_EQ(parsed("--detail calls,bytes"), -EINVAL);
}

TEST(levels_of_scopes)
{
	CHECK_EQ(parsed("--detail waits,bytes,nginx=calls,12=waits,calls=1s/30s"), 0);
	CHECK(o.detail.waits && o.detail.bytes);
	CHECK_EQ(o.detail.calls_ns, 1000000000);
	CHECK_EQ(o.detail.scope_count, 2);
	CHECK_STR(o.detail.scopes[0].name, "nginx");
	CHECK(o.detail.scopes[0].calls && !o.detail.scopes[1].calls);
	CHECK(!o.detail.scopes[1].name);
	CHECK_EQ(o.detail.scopes[1].pid, 12);
	CHECK_EQ(parsed("--detail calls,12th=waits"), 0);
	CHECK(!o.detail.waits);
	CHECK_STR(o.detail.scopes[0].name, "12th");
	CHECK_EQ(parsed("--detail waits,nginx=all"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,nginx"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,=calls"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,0=calls"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,/a=calls,service:shop=calls,spans=calls"), 0);
	CHECK_STR(o.detail.scopes[0].cgroup, "/a");
	CHECK_STR(o.detail.scopes[1].service, "shop");
	CHECK(o.detail.scopes[2].spans);
	CHECK_EQ(parsed("--detail waits,service:=calls"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,a=calls,b=calls,c=calls,d=calls,e=calls,f=calls,g=calls,"
			"h=calls,i=calls"),
		 -EINVAL);
}

TEST(to_choose_calls_is_to_want_them)
{
	CHECK_EQ(parsed("--syscalls read"), 0);
	CHECK(!o.detail.waits && o.detail.raised);
	CHECK_EQ(parsed("--syscalls read -- true"), 0);
	CHECK(!o.detail.waits && !o.detail.raised);
	CHECK_EQ(parsed("--detail waits --syscalls read"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,sh=waits --syscalls read"), -EINVAL);
	CHECK_EQ(parsed("--detail waits,sh=calls --syscalls read"), 0);
	CHECK_EQ(parsed("--detail calls --syscalls read"), 0);
	CHECK(!o.detail.raised);
}

/* Otherwise nothing would ever be deleted, since the latest chunk stays. */
TEST(what_is_kept_is_rotated)
{
	CHECK_EQ(parsed("--keep 10m,2G"), 0);
	CHECK_EQ(record_options_rotate(&o).time_ns, 60000000000);
	CHECK_EQ(record_options_rotate(&o).bytes, (2ull << 30) / 10);
	CHECK_EQ(parsed("--keep 1M"), 0);
	CHECK_EQ(record_options_rotate(&o).time_ns, 0);
	CHECK_EQ(record_options_rotate(&o).bytes, 1 << 20);
	CHECK_EQ(parsed("--keep 2s"), 0);
	CHECK_EQ(record_options_rotate(&o).time_ns, 1000000000);
	CHECK_EQ(record_options_rotate(&o).bytes, 0);
	CHECK_EQ(parsed("--keep 1h --rotate 64M"), 0);
	CHECK_EQ(record_options_rotate(&o).time_ns, 0);
	CHECK_EQ(record_options_rotate(&o).bytes, 64 << 20);
	CHECK_EQ(parsed("--keep 1h --flight"), 0);
	CHECK_EQ(record_options_rotate(&o).time_ns, 0);
	CHECK_EQ(parsed(""), 0);
	CHECK_EQ(record_options_rotate(&o).time_ns, 0);
}

static size_t syscalls_count(void)
{
	size_t count = 0;

	for (size_t nr = 0; nr < SYSCALL_TABLE_SIZE; nr++)
		count += o.syscalls.record[nr];
	return count;
}

TEST(lists_of_syscalls)
{
	CHECK_EQ(parsed(""), 0);
	CHECK(!o.syscalls.given);
	CHECK_EQ(parsed("--syscalls read,write"), 0);
	CHECK(o.syscalls.given && o.syscalls.record[SYSCALL_NR_read]);
	CHECK_EQ(syscalls_count(), 2);
	CHECK_EQ(parsed("--syscalls !futex,!read"), 0);
	CHECK(!o.syscalls.record[SYSCALL_NR_futex] && !o.syscalls.record[SYSCALL_NR_read]);
	CHECK_EQ(syscalls_count(), SYSCALL_TABLE_SIZE - 2);
	CHECK_EQ(parsed("--syscalls !futex,read"), 0); /* as in strace -e */
	CHECK(!o.syscalls.record[SYSCALL_NR_futex] && !o.syscalls.record[SYSCALL_NR_read]);
	CHECK_EQ(syscalls_count(), SYSCALL_TABLE_SIZE - 2);
	CHECK_EQ(parsed("--syscalls %network"), 0);
	CHECK(o.syscalls.record[SYSCALL_NR_sendto] && !o.syscalls.record[SYSCALL_NR_openat]);
	CHECK_EQ(parsed("--syscalls %desc,!close"), 0);
	CHECK(o.syscalls.record[SYSCALL_NR_read] && !o.syscalls.record[SYSCALL_NR_close]);
	CHECK_EQ(parsed("--syscalls !%file"), 0);
	CHECK(!o.syscalls.record[SYSCALL_NR_openat] && o.syscalls.record[SYSCALL_NR_futex]);
	CHECK_EQ(parsed("--syscalls read --syscalls write"), 0);
	CHECK_EQ(syscalls_count(), 2);
}

TEST(lists_of_events)
{
	CHECK_EQ(parsed("--event a:*,!a:b --event !c:d,e:f --event g:h"), 0);
	CHECK_EQ(o.events.count, 5);
	CHECK_STR(o.events.data[0], "a:*");
	CHECK_STR(o.events.data[1], "!a:b");
	CHECK_STR(o.events.data[2], "!c:d");
	CHECK_STR(o.events.data[3], "!e:f");
	CHECK_STR(o.events.data[4], "g:h");
}

TEST(wrong_usage)
{
	CHECK_EQ(parsed("ls -l"), -EINVAL);
	CHECK_EQ(parsed("ls"), -EINVAL);
	CHECK_STR(parse_error.text, "unexpected argument 'ls'; a command to run comes after --");
	CHECK_EQ(parsed("--"), -EINVAL);
	CHECK_STR(parse_error.text, "a command is missing after --");
	CHECK_EQ(parsed("-a -p 1"), -EINVAL);
	CHECK_EQ(parsed("--flight --rotate 1s"), -EINVAL);
	CHECK_EQ(parsed("--event nocolon"), -EINVAL);
	CHECK_EQ(parsed("--event :x"), -EINVAL);
	CHECK_EQ(parsed("--event a:b:c"), -EINVAL);
	CHECK_EQ(parsed("--event a:b,!:c"), -EINVAL);
	CHECK_EQ(parsed("--event !a:b"), -EINVAL);
	CHECK_STR(parse_error.text,
		  "--event '!a:b' only excludes events: name some to record, too");
	CHECK_EQ(parsed("--syscalls raed"), -EINVAL);
	CHECK_STR(parse_error.text,
		  "--syscalls 'raed' names raed, which is not a system call; did you mean read?");
	CHECK_EQ(parsed("--syscalls openat,!openat"), -EINVAL);
	CHECK_STR(parse_error.text, "--syscalls 'openat,!openat' leaves no system call to record");
	CHECK_EQ(parsed("--syscalls %files"), -EINVAL);
	CHECK_EQ(parsed("--syscalls read,"), -EINVAL);
	CHECK_EQ(parsed("--syscalls !"), -EINVAL);
	CHECK_EQ(parsed("--buffer 0M"), -EINVAL);
	CHECK_EQ(parsed("--rotate 5"), -EINVAL);
	CHECK_EQ(parsed(""), 0);
}

TEST_MAIN()
