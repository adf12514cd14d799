/* SPDX-License-Identifier: Apache-2.0 */
/* What a call was asked for. */
#include "map/fact/query.h"
#include "one_thread.h"

static const struct partial_options with_spans = {.spans = true};

/* Told at `time_ns` of a call that began at `call_ns`; of two the second with PATH_SECOND. */
static void path_told(struct partial *p, u64 time_ns, u64 call_ns, const char *path, u16 flags)
{
	struct record_path r = {.head = head(RECORD_path, time_ns),
				.call_ns = call_ns,
				.nr = 59,
				.flags = flags,
				.path_len = (u16)strlen(path)};

	memcpy(r.path, path, r.path_len);
	apply(p, &r);
}

static void call_ends(struct partial *p, u64 begin_ns, u64 end_ns)
{
	struct record_syscall r = {
		.head = head(RECORD_syscall, end_ns), .nr = 59, .duration_ns = end_ns - begin_ns};

	apply(p, &r);
}

static const char *path_of(const struct partial *p, u64 begin_ns, bool second)
{
	const struct kspan call = {.tid = 5, .nr = 59, .begin_ns = begin_ns};
	const struct fact_path *path = query_call_path(p, &call, second);

	return path ? path->path : "";
}

TEST(each_call_has_its_own)
{
	struct partial *p = partial_new(&with_spans);

	call_ends(p, 100, 110);
	path_told(p, 111, 100, "/one", 0);
	path_told(p, 112, 100, "/two", PATH_SECOND);
	call_ends(p, 120, 130); /* of which none is told */
	call_ends(p, 140, 150);
	path_told(p, 151, 140, "/three", 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_STR(path_of(p, 100, false), "/one");
	CHECK_STR(path_of(p, 100, true), "/two");
	CHECK_STR(path_of(p, 120, false), "");
	CHECK_STR(path_of(p, 140, false), "/three");
	CHECK_STR(path_of(p, 140, true), "");
	CHECK_STR(path_of(p, 90, false), "");
	partial_free(p);
}

/* With it the thread comes into scope, in the middle of the call: there its span begins. */
TEST(the_first_exec_has_what_was_told_of_its_begin)
{
	struct partial *p = partial_new(&with_spans);
	struct record_exec exec = {
		.head = head(RECORD_exec, 200), .old_tid = 5, .flags = EXEC_BEGINS};
	struct kspan call;

	apply(p, &exec);
	path_told(p, 201, 180, "/work/./program", 0);
	call_ends(p, 180, 220);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(kspans_count(&p->kspans), 1);
	kspans_get(&p->kspans, 0, &call);
	CHECK_EQ(call.begin_ns, 200);
	CHECK_STR(path_of(p, call.begin_ns, false), "/work/program");
	CHECK_STR(path_of(p, 230, false), "");
	partial_free(p);
}

TEST_MAIN()
