/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of the hand-over become spans of the store. */
#include "up/spans.h"

#include <string.h>

#include "record/syscalls.h"
#include "tests/unit/check.h"

static const struct chunk_info chunk = {
	.seq = 7, .host = "web-1", .clock = {.monotonic_ns = 1000, .unix_ns = 5000000}};

static const struct context context = {
	.trace = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	.span = {0xa1, 2, 3, 4, 5, 6, 7, 8}};

/* A span of 100 ns, of which 60 ns are a wait for a lock. */
static struct handed_span handed_make(const struct app_span *span, const struct partial *partial)
{
	struct handed_span handed = {.span = span,
				     .partial = partial,
				     .time = {.begin_ns = 2000, .end_ns = 2100, .threads = 1}};

	handed.time.split.ns[SPLIT_user] = 40;
	handed.time.split.ns[SPLIT_lock] = 60;
	return handed;
}

static struct partial *partial_make(void)
{
	struct partial_options options = {0};
	struct partial *p = partial_new(&options);

	CHECK(p != NULL);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

static const struct attribute *found(const struct received_span *span, const char *key)
{
	for (size_t i = 0; i < span->attributes.count; i++) {
		if (strcmp(span->attributes.data[i].key, key) == 0)
			return &span->attributes.data[i];
	}
	return NULL;
}

static int64_t number(const struct received_span *span, const char *key)
{
	const struct attribute *a = found(span, key);

	return a && a->type == VALUE_INTEGER ? a->integer : -1;
}

static const char *text(const struct received_span *span, const char *key)
{
	const struct attribute *a = found(span, key);

	return a && a->type == VALUE_STRING ? a->string : "";
}

TEST(a_span_keeps_its_fields_and_gets_its_split)
{
	struct app_span span = {.ctx = context,
				.begun = true,
				.ended = true,
				.kind = 1,
				.status = 2,
				.pid = 12,
				.tid = 13,
				.name = "GET /",
				.message = "no luck"};
	struct partial *p = partial_make();
	const struct handed_span handed = handed_make(&span, p);
	const struct received_span *got;
	struct spans spans = {0};

	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(spans.batch.count, 1);
	got = &spans.batch.data[0];
	CHECK(got->trace.high == 0x0102030405060708u && got->trace.low == 0x090a0b0c0d0e0f10u);
	CHECK(got->span_id == 0xa102030405060708u && got->parent_id == 0);
	CHECK_EQ(got->begin_ns, 5001000);
	CHECK_EQ(got->end_ns, 5001100);
	CHECK_STR(got->name, "GET /");
	CHECK_STR(got->status_text, "no luck");
	CHECK_EQ(got->kind, RECEIVED_SERVER);
	CHECK_EQ(got->status, RECEIVED_ERROR);
	CHECK_EQ(number(got, "fathom.time.user_ns"), 40);
	CHECK_EQ(number(got, "fathom.time.lock_ns"), 60);
	CHECK(!found(got, "fathom.time.disk_ns"));
	CHECK_EQ(number(got, "fathom.version"), 8);
	CHECK_EQ(number(got, "thread.id"), 13);
	CHECK(!found(got, "fathom.kind") && !found(got, "fathom.threads"));
	CHECK_STR(got->resource->service, SERVICE_UNKNOWN);
	spans_end(&spans);
	partial_free(p);
}

TEST(a_span_of_which_only_the_context_was_seen_says_so)
{
	struct app_span span = {.ctx = context};
	struct partial *p = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct spans spans = {0};

	handed.time.begin_soft = handed.time.end_soft = true;
	handed.time.threads = 2;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_STR(text(&spans.batch.data[0], "fathom.kind"), "context");
	CHECK_STR(text(&spans.batch.data[0], "fathom.begin"), "soft");
	CHECK_STR(text(&spans.batch.data[0], "fathom.end"), "soft");
	CHECK_EQ(number(&spans.batch.data[0], "fathom.threads"), 2);
	CHECK_STR(spans.batch.data[0].name, "context");
	spans_end(&spans);
	partial_free(p);
}

TEST(a_span_that_goes_on_is_passed_over)
{
	struct app_span span = {.ctx = context, .begun = true};
	struct partial *p = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct spans spans = {0};

	handed.open = true;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(spans.batch.count, 0);
	spans_end(&spans);
	partial_free(p);
}

#define CALLS 20 /* more than there are rows */

TEST(kernel_work_is_summed_up_in_rows_the_longest_first)
{
	struct app_span span = {.ctx = context, .begun = true, .ended = true, .name = "work"};
	struct partial *p = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct kspan children[CALLS + 2] = {0};
	const struct attribute *rows;
	struct spans spans = {0};

	for (u16 i = 0; i < CALLS; i++)
		children[i] = (struct kspan){.kind = KSPAN_SYSCALL, .nr = i, .end_ns = 1};
	for (u16 i = CALLS; i < CALLS + 2; i++)
		children[i] = (struct kspan){.kind = KSPAN_WAIT, .part = SPLIT_lock, .end_ns = 30};
	handed.children = children;
	handed.children_count = CALLS + 2;
	handed.more_count = 5;
	handed.more_ns = 9;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	rows = found(&spans.batch.data[0], "fathom.kernel");
	CHECK(rows && rows->type == VALUE_ARRAY && rows->count == 16);
	CHECK_STR(rows->items[0].items[0].string, "wait");
	CHECK_STR(rows->items[0].items[1].string, "lock");
	CHECK_EQ(rows->items[0].items[2].integer, 2);
	CHECK_EQ(rows->items[0].items[3].integer, 60);
	/* 20 calls of different names, of which 15 have a row */
	CHECK_EQ(number(&spans.batch.data[0], "fathom.kernel.more_count"), 5 + 5);
	CHECK_EQ(number(&spans.batch.data[0], "fathom.kernel.more_ns"), 9 + 5);
	spans_end(&spans);
	partial_free(p);
}

TEST(an_attribute_that_is_given_again_replaces_the_one_before)
{
	struct span_attribute attributes[] = {
		{.text = "itemtea", .text_bytes = 7, .key_bytes = 4, .type = 0},
		{.text = "item",
		 .text_bytes = 4,
		 .key_bytes = 4,
		 .type = ATTRIBUTE_integer,
		 .value = 3}};
	struct app_span span = {.ctx = context, .begun = true, .ended = true, .name = "work"};
	struct partial *p = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct spans spans = {0};

	span.attributes.data = attributes;
	span.attributes.count = 2;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(number(&spans.batch.data[0], "item"), 3);
	/* a batch of the next chunk has nothing of this one */
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans.batch.count, 0);
	spans_end(&spans);
	partial_free(p);
}

/* A call of 50 ns, in which 30 ns are a wait, and a wait in a call that is not there. */
static void children_make(struct kspan children[3])
{
	children[0] = (struct kspan){.kind = KSPAN_SYSCALL,
				     .nr = SYSCALL_NR_read,
				     .begin_ns = 2010,
				     .end_ns = 2060,
				     .tid = 13,
				     .result = -11};
	children[1] = (struct kspan){.kind = KSPAN_WAIT,
				     .part = SPLIT_lock,
				     .begin_ns = 2020,
				     .end_ns = 2050,
				     .tid = 13,
				     .visit_ns = 2010,
				     .reason = "futex"};
	children[2] = (struct kspan){.kind = KSPAN_WAIT,
				     .part = SPLIT_disk,
				     .begin_ns = 2070,
				     .end_ns = 2080,
				     .tid = 13,
				     .visit_ns = 2065};
	children[1].split.ns[SPLIT_lock] = 30;
	children[1].wake = (struct life_wake){
		.has = true, .context = WAKE_task, .waker_tid = 4112, .time_ns = 2045};
	children[2].wake = (struct life_wake){.has = true, .context = WAKE_softirq};
}

TEST(kernel_spans_of_a_span_in_error_stand_behind_it)
{
	struct app_span span = {
		.ctx = context, .begun = true, .ended = true, .status = 2, .name = "work"};
	struct partial *p = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct spans spans = {.chooser = chooser_new()};
	const struct received_span *got;
	struct kspan children[3];

	children_make(children);
	handed.children = children;
	handed.children_count = 3;
	handed.more_count = 4;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(spans_finish(&spans), 0);
	CHECK_EQ(spans.batch.count, 4);
	CHECK_EQ(spans.kernel, 3);
	CHECK_EQ(spans.kernel_left_out, 4);
	got = spans.batch.data;
	CHECK_STR(text(&got[0], "fathom.kernel.why"), "error");
	CHECK(!spans_is_kernel(&got[0]) && spans_is_kernel(&got[1]));
	CHECK(got[1].trace.low == got[0].trace.low && got[1].resource == got[0].resource);
	CHECK_STR(got[1].name, "read");
	CHECK_STR(text(&got[1], "fathom.kind"), "syscall");
	CHECK_STR(text(&got[1], "error.type"), "EAGAIN");
	CHECK_EQ(number(&got[1], "result"), -11);
	CHECK_EQ(number(&got[1], "fathom.version"), 8);
	CHECK_EQ(number(&got[1], "thread.id"), 13);
	CHECK_EQ(got[1].begin_ns, 5001010);
	CHECK(got[1].parent_id == got[0].span_id);
	CHECK_STR(got[2].name, "lock");
	CHECK_STR(text(&got[2], "cause.reason"), "futex");
	CHECK_EQ(number(&got[2], "fathom.time.lock_ns"), 30);
	CHECK_STR(text(&got[2], "waker"), "4112"); /* no record has its name */
	CHECK_EQ(number(&got[2], "waker.tid"), 4112);
	CHECK_STR(text(&got[3], "waker"), "softirq");
	CHECK(!found(&got[3], "waker.tid") && !found(&got[1], "waker"));
	CHECK(got[2].parent_id == got[1].span_id);
	CHECK_STR(got[3].name, "disk");
	CHECK(got[3].parent_id == got[0].span_id);
	CHECK(got[1].span_id != got[2].span_id && got[2].span_id != got[3].span_id);
	chooser_free(spans.chooser);
	spans_end(&spans);
	partial_free(p);
}

/* A file that two processes opened by different names, a connection, and the end of it. */
static void facts_make(struct facts *f)
{
	const struct fact_fd fds[] = {
		{.time_ns = 1, .pid = 40, .file = {.key = 9, .dev = 8}, .path = "/theirs"},
		{.time_ns = 2, .pid = 12, .file = {.key = 9, .dev = 8}, .path = "/ours"}};
	struct fact_socket made = {.pid = 12}, accepted = {.pid = 40};

	for (size_t i = 0; i < 2; i++) {
		struct fact_fd fd = fds[i];

		fd.file.kind = FILE_KIND_regular;
		CHECK_EQ(vec_push(&f->fds, fd), 0);
	}
	made.socket = (struct record_socket){.family = 2,
					     .local_port = 40000,
					     .remote_port = 5432,
					     .remote_lo = 0x0100007fffff0000,
					     .file = {.key = 70, .kind = FILE_KIND_tcp}};
	accepted.socket = (struct record_socket){
		.family = 2,
		.local_port = 5432,
		.remote_port = 40000,
		.local_lo = 0x0100007fffff0000,
		.file = {.key = 71, .kind = FILE_KIND_tcp, .flags = FILE_ACCEPTED}};
	CHECK_EQ(vec_push(&f->sockets, made), 0);
	CHECK_EQ(vec_push(&f->sockets, accepted), 0);
}

TEST(kernel_spans_name_their_files_and_peers)
{
	struct app_span span = {.ctx = context,
				.begun = true,
				.ended = true,
				.status = 2,
				.name = "work",
				.pid = 12};
	struct partial *p = partial_make(), *running = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct spans spans = {.chooser = chooser_new()};
	struct kspan children[3];
	const struct received_span *got;

	children_make(children);
	children[0].file = (struct file_ref){.key = 9, .dev = 8, .kind = FILE_KIND_regular};
	children[1].visit_ns = 0;
	children[1].file = (struct file_ref){.key = 70, .kind = FILE_KIND_tcp};
	children[2].file = (struct file_ref){.key = 71, .kind = FILE_KIND_tcp};
	for (size_t i = 0; i < 3; i++)
		children[i].pid = 12;
	facts_make(&running->facts);
	handed.children = children;
	handed.children_count = 3;
	handed.running = running;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(spans_finish(&spans), 0);
	got = spans.batch.data;
	CHECK_EQ(spans.batch.count, 4);
	CHECK_STR(text(&got[1], "fd.name"), "/ours");
	CHECK_STR(text(&got[2], "fd.name"), "socket:[70]");
	CHECK_STR(text(&got[2], "network.peer.address"), "127.0.0.1");
	CHECK_EQ(number(&got[2], "network.peer.port"), 5432);
	/* the port of a client says nothing */
	CHECK(!found(&got[3], "network.peer.address") && !found(&got[3], "peer.program"));
	chooser_free(spans.chooser);
	spans_end(&spans);
	partial_free(p);
	partial_free(running);
}

TEST(ids_of_kernel_spans_do_not_depend_on_the_batch)
{
	struct app_span span = {
		.ctx = context, .begun = true, .ended = true, .status = 2, .name = "work"};
	struct partial *p = partial_make();
	struct handed_span handed = handed_make(&span, p);
	struct spans spans = {.chooser = chooser_new()};
	struct kspan children[3];
	uint64_t id;

	children_make(children);
	handed.children = children;
	handed.children_count = 3;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(spans_finish(&spans), 0);
	id = spans.batch.data[3].span_id;
	handed.children = &children[2];
	handed.children_count = 1;
	spans_begin(&spans, &chunk);
	CHECK_EQ(spans_add_handed(&spans, &handed), 0);
	CHECK_EQ(spans_finish(&spans), 0);
	CHECK_EQ(spans.batch.count, 2);
	CHECK(spans.batch.data[1].span_id == id);
	chooser_free(spans.chooser);
	spans_end(&spans);
	partial_free(p);
}

TEST(other_spans_of_the_trace_of_one_in_error_have_theirs_too)
{
	struct context other = context, elsewhere = context;
	static struct chunk_info later;
	struct app_span spans_of[] = {
		{.ctx = context, .begun = true, .ended = true, .name = "part"},
		{.ctx = other, .begun = true, .ended = true, .status = 2, .name = "whole"},
		{.ctx = elsewhere, .begun = true, .ended = true, .name = "part"}};
	struct partial *p = partial_make();
	struct spans spans = {.chooser = chooser_new()};
	struct kspan children[3];
	size_t whys = 0;

	children_make(children);
	spans_of[1].ctx.span[0]++;
	spans_of[2].ctx.trace[0]++;
	later = chunk;
	later.end_ns = 5000;
	for (size_t round = 0; round < 2; round++) { /* samples are taken in the first one */
		spans_begin(&spans, &later);
		for (size_t i = 0; i < 3; i++) {
			struct handed_span handed = handed_make(&spans_of[i], p);

			handed.children = children;
			handed.children_count = 3;
			CHECK_EQ(spans_add_handed(&spans, &handed), 0);
		}
		CHECK_EQ(spans_finish(&spans), 0);
	}
	CHECK_EQ(spans.batch.count, 3 + 2 * 3);
	CHECK_STR(text(&spans.batch.data[0], "fathom.kernel.why"), "trace");
	CHECK_STR(text(&spans.batch.data[1], "fathom.kernel.why"), "error");
	CHECK(spans.batch.data[2].parent_id == spans.batch.data[0].span_id);
	for (size_t i = 0; i < spans.batch.count; i++)
		whys += found(&spans.batch.data[i], "fathom.kernel.why") != NULL;
	CHECK_EQ(whys, 2);
	CHECK_EQ(spans.kernel, 6);
	chooser_free(spans.chooser);
	spans_end(&spans);
	partial_free(p);
}

TEST_MAIN()
