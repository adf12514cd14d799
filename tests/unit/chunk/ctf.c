/* SPDX-License-Identifier: Apache-2.0 */
/* babeltrace2 reads a chunk without a complaint, and counts what we count. */
#include <ctype.h>
#include <sys/wait.h>

#include "make.h"
#include "tests/unit/check.h"

/* The output of a shell command; its status. */
static int run(const char *command, char *output, size_t size)
{
	FILE *f = popen(command, "r");
	size_t n = 0;
	int c;

	CHECK(f != NULL);
	while ((c = fgetc(f)) != EOF) {
		if (n + 1 < size)
			output[n++] = (char)c;
	}
	output[n] = '\0';
	return pclose(f);
}

static void need_babeltrace(void)
{
	if (system("command -v babeltrace2 >/dev/null 2>&1") != 0)
		SKIP("babeltrace2 is not installed");
}

/* The sum of all "discarded <n> event" in the complaints. */
static uint64_t sum_discarded(const char *text)
{
	uint64_t sum = 0;

	while ((text = strstr(text, "racer discarded "))) {
		text += strlen("racer discarded ");
		CHECK(isdigit((unsigned char)*text));
		sum += strtoull(text, NULL, 10);
	}
	return sum;
}

static char output[1 << 20];

static uint64_t count_events(const char *path)
{
	char command[8192];
	const char *end;

	snprintf(command, sizeof(command), "babeltrace2 '%s' -c sink.utils.counter 2>&1", path);
	CHECK_EQ(run(command, output, sizeof(output)), 0);
	/* it prints what it has so far now and then: the last is all */
	end = NULL;
	for (const char *at = output; (at = strstr(at, " Event message")); at++)
		end = at;
	if (!end)
		CHECK_FAIL("babeltrace2 says: %s", output);
	while (end > output && isdigit((unsigned char)end[-1]))
		end--;
	return strtoull(end, NULL, 10);
}

/* stderr must be empty except for discarded events. */
static uint64_t read_complaints(const char *path)
{
	char command[8192];
	uint64_t sum;

	snprintf(command, sizeof(command), "babeltrace2 '%s' 2>&1 >/dev/null", path);
	CHECK_EQ(run(command, output, sizeof(output)), 0);
	sum = sum_discarded(output);
	for (char *line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strstr(line, "racer discarded "))
			CHECK_FAIL("babeltrace2 complains: %s", line);
	}
	return sum;
}

/* Everything at once: all kinds, losses, late records, silence, more than one packet. */
static void make_rich(const char *dir, struct chunk_info *info)
{
	const struct chunk_writer_options options = {
		.dir = dir, .begin_ns = 5000000000, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_stream *cpu, *late, *only_lost;
	union make_record r;
	uint64_t state = 11, time_ns = options.begin_ns;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	late = chunk_writer_stream(w, CHUNK_STREAM_LATE, 0);
	only_lost = chunk_writer_stream(w, CHUNK_STREAM_CPU, 7);
	for (unsigned int i = 0; i < 12000; i++) {
		unsigned int kind = 1 + i % 28;

		time_ns += i == 6000 ? 20000000000u : make_random(&state) % 1000;
		if (kind == RECORD_lost)
			continue;
		make_any(&r, kind, time_ns, &state);
		CHECK_EQ(chunk_writer_add(i % 7 ? cpu : chunk_writer_stream(w, CHUNK_STREAM_APP, 5),
					  &r.head),
			 0);
		if (i % 1000 == 0)
			CHECK_EQ(make_lost(cpu, LOST_buffer, 3, time_ns, time_ns), 0);
		if (i % 100 == 0) {
			r.head.cpu = i % 3;
			CHECK_EQ(chunk_writer_add(late, &r.head), 0);
		}
		if (i % 3000 == 1)
			CHECK_EQ(chunk_writer_flush(w, time_ns, NULL), 0);
	}
	CHECK_EQ(make_lost(only_lost, LOST_recursion, 9, time_ns, time_ns), 0);
	CHECK_EQ(make_lost(only_lost, LOST_damaged, 100, time_ns, time_ns), 0);
	CHECK_EQ(chunk_writer_cut(w, time_ns + 1, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, info, NULL), 0);
	chunk_writer_close(w);
}

TEST(babeltrace2_agrees)
{
	struct chunk_info info;

	need_babeltrace();
	make_rich(make_directory(), &info);
	CHECK_EQ(count_events(info.path), info.records);
	CHECK_EQ(info.lost.buffer, 36);
	CHECK_EQ(read_complaints(info.path),
		 info.lost.buffer + info.lost.recursion + info.lost.application);
}

/* Name, tid and fields of one record, as another reader understands them. */
TEST(babeltrace2_sees_the_fields)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 100, .no_sync = true};
	struct record_exec exec = {.head = {.kind = RECORD_exec,
					    .cpu = 0xffff,
					    .time_ns = 150,
					    .tid = 321,
					    .pid = 321},
				   .old_tid = 5,
				   .start_ns = 99,
				   .command_len = 5,
				   .command = "hello"};
	struct chunk_writer *w;
	struct chunk_info info;
	union make_record r;
	char command[8192];

	need_babeltrace();
	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	make_syscall(&r, 200, 1, (uint64_t)-2);
	((struct record_syscall *)&r)->arg1 = 0x7fff12345678;
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 1), &r.head), 0);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_LIFE, 0), &exec.head), 0);
	CHECK_EQ(chunk_writer_cut(w, 300, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, &info, NULL), 0);
	chunk_writer_close(w);
	snprintf(command, sizeof(command), "babeltrace2 --clock-cycles '%s' 2>&1", info.path);
	CHECK_EQ(run(command, output, sizeof(output)), 0);
	CHECK(strstr(output, "[00000000000000000200]") != NULL);
	CHECK(strstr(output, " syscall: ") != NULL);
	CHECK(strstr(output, "{ tid = 7 }") != NULL);
	CHECK(strstr(output, "result = { -2 }") != NULL);
	CHECK(strstr(output, "arg1 = { 140733498807928 }") != NULL);
	CHECK(strstr(output, "arg2 = { { } }") != NULL);
	CHECK(strstr(output, " exec: ") != NULL);
	CHECK(strstr(output, "old_tid = 5") != NULL);
	CHECK(strstr(output, "command = \"hello\"") != NULL);
	CHECK(strstr(output, "process = 6") != NULL);
}

TEST_MAIN()
