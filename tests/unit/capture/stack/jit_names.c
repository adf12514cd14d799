/* SPDX-License-Identifier: Apache-2.0 */
/* Code that a process made has the names of its file, if that is the process's own. */
#include "capture/stack/jit_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/unit/check.h"

#define CODE 0x7f0000000000
#define CODE_BYTES 0x10000
#define SECOND 1000000000ull

static struct jit_names *names;
static char place[64];

static void begin(void)
{
	struct record_mapping r = {.head = {.kind = RECORD_mapping, .pid = (u32)getpid()},
				   .begin = CODE,
				   .end = CODE + CODE_BYTES};

	snprintf(place, sizeof(place), "/tmp/perf-%d.map", getpid());
	unlink(place); /* of another process that had this number */
	CHECK_EQ(jit_names_open(&names, false, NULL), 0);
	jit_names_mapped(names, &r);
}

static void end(void)
{
	jit_names_close(names);
	unlink(place);
}

static void file_write(const char *text, int flags)
{
	int fd = open(place, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void ask(u32 pid, u64 time_ns, u64 address)
{
	union {
		struct record_sample r;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} s = {.slots = {0}};
	const u64 frames[] = {0xffffffff81000000, address, 12};

	s.r.head = (struct record_head){
		.kind = RECORD_sample, .tid = pid, .pid = pid, .time_ns = time_ns};
	s.r.kernel = 1;
	s.r.user = 2;
	s.r.frames_len = sizeof(frames);
	memcpy(s.r.frames, frames, sizeof(frames));
	jit_names_ask(names, &s.r.head);
}

/* The next name that is told, with what a function is told with; "": none. */
static const char *told(u64 begin, u64 since_ns)
{
	static char name[1024];
	struct record_mapping *r;

	jit_names_wait(names, clock_now_ns() + 10 * SECOND);
	r = jit_names_take(names);
	if (!r)
		return "";
	CHECK_STR(r->path, RECORD_MAPPING_JIT);
	CHECK_EQ(r->begin, begin);
	CHECK_EQ(r->since_ns, since_ns);
	CHECK_EQ(r->head.pid, (u32)getpid());
	snprintf(name, sizeof(name), "%.*s", r->path_len - 7, r->path + 7);
	free(r);
	return name;
}

TEST(functions_that_stacks_lead_into_are_told_once)
{
	begin();
	file_write("7f0000000100 80 JS:*one a.js:1\n7f0000000200 80 JS:*two a.js:2\n", 0);
	ask((u32)getpid(), 100, CODE + 0x110);
	ask((u32)getpid(), 200, CODE + 0x120);
	ask((u32)getpid(), 300, 0x1000);       /* no code that was made */
	ask((u32)getpid() + 1, 400, CODE + 1); /* another process */
	CHECK_STR(told(CODE + 0x100, 100), "JS:*one a.js:1");
	CHECK_STR(told(0, 0), "");
	ask((u32)getpid(), 500, CODE + 0x17f);
	CHECK_STR(told(0, 0), "");
	ask((u32)getpid(), 600, CODE + 0x210);
	CHECK_STR(told(CODE + 0x200, 600), "JS:*two a.js:2");
	CHECK_STR(told(0, 0), "");
	CHECK_EQ(jit_names_missed(names), 0);
	end();
}

TEST(a_file_that_comes_later_has_its_names)
{
	begin();
	ask((u32)getpid(), 100, CODE + 0x110);
	CHECK_STR(told(0, 0), "");
	file_write("7f0000000100 80 late\n", 0);
	CHECK_STR(told(CODE + 0x100, 100), "late");
	end();
}

TEST(code_in_place_of_other_code_is_told_again)
{
	struct record_mapping *r;

	begin();
	file_write("7f0000000100 80 old\n", 0);
	ask((u32)getpid(), 100, CODE + 0x110);
	CHECK_STR(told(CODE + 0x100, 100), "old");
	file_write("7f0000000100 80 new\n7f0000000300 80 other\n", O_APPEND);
	ask((u32)getpid(), 200, CODE + 0x310);
	jit_names_wait(names, clock_now_ns() + 10 * SECOND);
	r = jit_names_take(names); /* of a function that was told: since now */
	CHECK(r && r->begin == CODE + 0x100 && r->since_ns > 200 && !memcmp(r->path + 7, "new", 3));
	free(r);
	CHECK_STR(told(CODE + 0x300, 200), "other");
	end();
}

TEST(names_are_those_of_the_process_or_of_nobody)
{
	char target[80];

	begin();
	snprintf(target, sizeof(target), "%s.target", place);
	CHECK_EQ(symlink(target, place), 0);
	ask((u32)getpid(), 100, CODE + 0x110);
	CHECK_STR(told(0, 0), "");
	unlink(place);
	CHECK_EQ(mkfifo(place, 0600), 0);
	CHECK_STR(told(0, 0), "");
	unlink(place);
	file_write("7f0000000100 80 forged\n", 0);
	if (geteuid() == 0) {
		CHECK_EQ(chown(place, 12345, 12345), 0);
		CHECK_STR(told(0, 0), "");
		CHECK_EQ(chown(place, 0, 0), 0);
	}
	CHECK_STR(told(CODE + 0x100, 100), "forged");
	end();
}

TEST(another_program_has_no_names_of_the_one_before)
{
	begin();
	file_write("7f0000000100 80 before\n", 0);
	CHECK_STR(told(0, 0),
		  ""); /* the look that the mapping wanted is over: none follows by itself */
	ask((u32)getpid(), 100, CODE + 0x110);
	jit_names_forget(names, (u32)getpid());
	CHECK_STR(told(0, 0), "");
	ask((u32)getpid(), 200, CODE + 0x110);
	CHECK_STR(told(0, 0), "");
	end();
}

TEST_MAIN()
