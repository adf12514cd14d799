/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a choice, from the chunks of a recording to its spans. */
#include "answer/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "chunk/format.h"
#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

#define MS 1000000ull
#define TRACE_A "0a000000000000000000000000000000"
#define TRACE_B "0b000000000000000000000000000000"

static struct record_head head(u8 kind, u32 tid, u64 time_ns)
{
	return (struct record_head){.kind = kind, .tid = tid, .pid = tid, .time_ns = time_ns};
}

static void add(struct chunk_stream *stream, const struct record_head *record)
{
	CHECK_EQ(chunk_writer_add(stream, record), 0);
}

/* The thread is in a span [begin, end) of this trace; in the middle it makes a call of 10 ns. */
static void request(struct chunk_writer *w, u32 tid, u8 trace, u64 begin_ns, u64 end_ns)
{
	struct chunk_stream *app = chunk_writer_stream(w, CHUNK_STREAM_APP, tid);
	struct chunk_stream *cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	struct record_span_begin begins = {.head = head(RECORD_span_begin, tid, begin_ns),
					   .flags = 1,
					   .ctx = {{trace}, {trace, 1}},
					   .name_len = 5,
					   .name = "GET a"};
	struct record_span_end ends = {.head = head(RECORD_span_end, tid, end_ns),
				       .flags = 1,
				       .ctx = {{trace}, {trace, 1}}};
	struct record_syscall call = {.head = head(RECORD_syscall, tid, (begin_ns + end_ns) / 2),
				      .nr = 39,
				      .duration_ns = 10,
				      .ctx = {{trace}, {trace, 1}}};

	begins.head.cpu = ends.head.cpu = PACKET_NO_CPU;
	begins.name[4] = (char)('a' + trace - 0xa);
	add(app, &begins.head);
	add(cpu, &call.head);
	add(app, &ends.head);
}

/* Trace A of process 7 lasts 10 ms, trace B of process 8 20 ms; thread 9 has no span. */
static const char *requests_record_on(const char *host, const char *boot_id)
{
	const struct chunk_clock clock = {.monotonic_ns = 1000 * MS, .unix_ns = 1};
	const char *dir = make_directory();
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = 1000 * MS,
						     .host = host,
						     .boot_id = boot_id,
						     .clock = &clock,
						     .no_sync = true};
	struct record_syscall call = {
		.head = head(RECORD_syscall, 9, 1100 * MS), .nr = 39, .duration_ns = 10};
	struct chunk_writer *w;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	request(w, 7, 0xa, 1010 * MS, 1020 * MS);
	request(w, 8, 0xb, 1030 * MS, 1050 * MS);
	add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &call.head);
	CHECK_EQ(chunk_writer_cut(w, 1200 * MS, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
	return dir;
}

static const char *requests_record(void)
{
	return requests_record_on("here", "00000000-0000-0000-0000-000000000001");
}

static char shown[512];

static int hosts_told; /* traces that name their host */

/* "name@host" of each span, a slash between, and a blank behind each trace. */
static int trace_take(void *arg, const struct trace *trace)
{
	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span *span = trace->span(trace, i, false);
		size_t at = strlen(shown);

		CHECK(span);
		CHECK_STR(span->trace_id, trace->trace_id);
		CHECK(!trace->host || strcmp(trace->host, span->host) == 0);
		hosts_told += !i && trace->host;
		snprintf(shown + at, sizeof(shown) - at, "%s%s@%s", i ? "/" : "", span->name,
			 span->host);
	}
	strcat(shown, " ");
	return 0;
}

static int given_of(const char *const *dirs, size_t dirs_count, struct trace_choice choice)
{
	const struct source_options from = {.dirs = dirs, .dirs_count = dirs_count};
	struct traces traces;
	size_t count = 0;
	struct error e = {0};

	shown[0] = '\0';
	hosts_told = 0;
	CHECK_EQ(traces_load(&from, &choice, &traces, &e), 0);
	CHECK_EQ(traces_give(&traces, &(struct trace_sink){trace_take, NULL}, &count), 0);
	traces_free(&traces);
	return (int)count;
}

static int given(const char *dir, struct trace_choice choice)
{
	int count = given_of(&dir, 1, choice);

	CHECK_EQ(hosts_told, 0);
	return count;
}

#define GIVEN(dir, ...) given(dir, (struct trace_choice){__VA_ARGS__})

#define A "GET a@here/getpid@here "
#define B "GET b@here/getpid@here "

TEST(a_choice_has_its_traces_with_what_they_did_in_the_kernel)
{
	const char *dir = requests_record();

	CHECK_EQ(GIVEN(dir, .slowest = 1), 1);
	CHECK_STR(shown, B);
	CHECK_EQ(GIVEN(dir, .slowest = 5), 2);
	CHECK_STR(shown, B A);
	CHECK_EQ(GIVEN(dir, .name = "* a"), 1);
	CHECK_STR(shown, A);
	CHECK_EQ(GIVEN(dir, .trace_id = TRACE_A), 1);
	CHECK_STR(shown, A);
	CHECK_EQ(GIVEN(dir, .filter.pids = (u32[]){8}, .filter.pids_count = 1), 1);
	CHECK_STR(shown, B);
	CHECK_EQ(GIVEN(dir, .filter.pids = (u32[]){7}, .filter.pids_count = 1, .trace_id = TRACE_A),
		 1);
	CHECK_STR(shown, A);
}

#define OTHER_A "GET a@there/getpid@there "
#define OTHER_B "GET b@there/getpid@there "

/* Host by host; a trace that both have a part in is one on each. */
TEST(each_host_has_its_own_traces)
{
	const char *const dirs[] = {
		requests_record_on("there", "00000000-0000-0000-0000-000000000002"),
		requests_record()};

	CHECK_EQ(given_of(dirs, 2, (struct trace_choice){.slowest = 1}), 2);
	CHECK_STR(shown, B OTHER_B);
	CHECK_EQ(hosts_told, 2);
	CHECK_EQ(given_of(dirs, 2, (struct trace_choice){.trace_id = TRACE_A}), 2);
	CHECK_STR(shown, A OTHER_A);
	CHECK_EQ(given_of(dirs, 2, (struct trace_choice){.filter.tid = 8}), 2);
	CHECK_STR(shown, B OTHER_B);
	CHECK_EQ(given_of(dirs, 2, (struct trace_choice){.threads = true}), 10);
}

TEST(threads_come_behind_the_traces)
{
	const char *dir = requests_record();

	CHECK_EQ(GIVEN(dir, .threads = true), 5);
	CHECK(strncmp(shown, A B, strlen(A B)) == 0);
	CHECK_EQ(GIVEN(dir, .threads = true, .filter.tid = 9), 1);
	CHECK_STR(shown, "?@here/getpid@here ");
}

TEST(no_trace_is_an_answer)
{
	const char *dir = requests_record();

	CHECK_EQ(GIVEN(dir, .slowest = 1, .name = "none"), 0);
	CHECK_EQ(GIVEN(dir, .trace_id = "0c000000000000000000000000000000"), 0);
	CHECK_EQ(GIVEN(dir, .filter.pids = (u32[]){7}, .filter.pids_count = 1, .trace_id = TRACE_B),
		 0);
}

static int refuse(void *arg, const struct trace *trace)
{
	++*(int *)arg;
	return -EPIPE;
}

TEST(a_sink_that_refuses_ends_the_answer)
{
	const char *dir = requests_record();
	const struct source_options from = {.dirs = &dir, .dirs_count = 1};
	const struct trace_choice all = {.threads = true};
	struct traces traces;
	size_t count = 0;
	int calls = 0;
	struct error e = {0};

	CHECK_EQ(traces_load(&from, &all, &traces, &e), 0);
	CHECK_EQ(traces_give(&traces, &(struct trace_sink){refuse, &calls}, &count), -EPIPE);
	CHECK_EQ(calls, 1);
	traces_free(&traces);
}

TEST(a_recording_that_is_not_there_is_an_error)
{
	const char *dir = "/nowhere";
	const struct source_options from = {.dirs = &dir, .dirs_count = 1};
	const struct trace_choice longest = {.slowest = 1};
	struct traces traces;
	struct error e = {0};

	CHECK_EQ(traces_load(&from, &longest, &traces, &e), -ENOENT);
	CHECK(error_is_set(&e));
	traces_free(&traces);
}

TEST_MAIN()
