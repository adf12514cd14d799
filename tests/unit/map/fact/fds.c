/* SPDX-License-Identifier: Apache-2.0 */
/* Names of descriptors through forks, execs, ranges and tables that part. */
#include "apply.h"
#include "map/fact/query.h"

#define FILE_OF(n)                                                                                 \
	{                                                                                          \
		.key = (n), .kind = FILE_KIND_regular                                              \
	}
static const struct file_ref unseen;

static struct record_head head(u8 kind, u64 time_ns, u32 tid, u32 pid)
{
	return (struct record_head){.kind = kind, .time_ns = time_ns, .tid = tid, .pid = pid};
}

/* What happened to a descriptor; `name` is one letter, or NULL. */
struct change {
	u64 time_ns;
	u32 tid, pid;
	s32 fd, from;
	u8 op, flags;
	const char *name;
};

static void change(struct partial *p, struct change c)
{
	struct record_fd r = {.head = head(RECORD_fd, c.time_ns, c.tid, c.pid),
			      .fd = c.fd,
			      .from = c.from ? c.from : -1,
			      .op = c.op,
			      .flags = c.flags};

	if (c.name) {
		r.file = (struct file_ref)FILE_OF((u64)c.name[0]);
		r.path_len = (u16)strlen(c.name);
		memcpy(r.path, c.name, r.path_len);
	}
	apply(p, &r);
}

static void opens(struct partial *p, u64 time_ns, u32 tid, s32 fd, const char *name)
{
	change(p, (struct change){.time_ns = time_ns,
				  .tid = tid,
				  .pid = 5,
				  .fd = fd,
				  .op = FD_open,
				  .name = name});
}

static void opens_cloexec(struct partial *p, u64 time_ns, u32 tid, s32 fd, const char *name)
{
	change(p, (struct change){.time_ns = time_ns,
				  .tid = tid,
				  .pid = 5,
				  .fd = fd,
				  .op = FD_open,
				  .flags = FD_CLOEXEC_SET,
				  .name = name});
}

static void forks(struct partial *p, u64 time_ns, u32 from, u32 tid, u32 flags)
{
	struct record_fork r = {
		.head = head(RECORD_fork, time_ns, tid, flags & THREAD_IS_THREAD ? 5 : tid),
		.parent_tid = from,
		.parent_pid = 5,
		.flags = flags};

	apply(p, &r);
}

static void execs(struct partial *p, u64 time_ns, u32 tid, u32 pid)
{
	struct record_exec r = {.head = head(RECORD_exec, time_ns, pid, pid), .old_tid = tid};

	apply(p, &r);
}

static void finish(struct partial *p)
{
	partial_cover(p, 50, 2000);
	CHECK_EQ(partial_finish(p), 0);
}

/* Asks with nothing known of the file: history alone answers. */
static const char *at(const struct partial *p, u32 tid, u32 pid, s32 fd, u64 time_ns)
{
	const struct fd_question q = {
		.tid = tid, .pid = pid, .fd = fd, .time_ns = time_ns, .file = unseen};

	return query_fd_name(p, &q);
}

TEST(an_exec_closes_what_is_close_on_exec)
{
	struct partial *p = partial_new(NULL);

	opens(p, 100, 5, 3, "stays");
	opens_cloexec(p, 110, 5, 4, "goes");
	opens_cloexec(p, 120, 5, 6, "unmarked");
	change(p, (struct change){130, 5, 5, 6, -1, FD_cloexec, 0, NULL});
	opens(p, 140, 5, 7, "marked");
	change(p, (struct change){150, 5, 5, 7, -1, FD_cloexec, FD_CLOEXEC_SET, NULL});
	for (s32 fd = 10; fd < 14; fd++)
		opens(p, 160 + (u64)fd, 5, fd, "range");
	change(p, (struct change){180, 5, 5, 11, 12, FD_cloexec, FD_CLOEXEC_SET, NULL});
	execs(p, 200, 5, 5);
	opens(p, 300, 5, 4, "new");
	execs(p, 400, 5, 5);
	finish(p);
	CHECK_STR(at(p, 5, 5, 4, 190), "goes");
	CHECK_STR(at(p, 5, 5, 3, 250), "stays");
	CHECK(at(p, 5, 5, 4, 250) == NULL);
	CHECK_STR(at(p, 5, 5, 6, 250), "unmarked");
	CHECK(at(p, 5, 5, 7, 250) == NULL);
	CHECK_STR(at(p, 5, 5, 10, 250), "range");
	CHECK(at(p, 5, 5, 11, 250) == NULL);
	CHECK(at(p, 5, 5, 12, 450) == NULL);
	CHECK_STR(at(p, 5, 5, 13, 450), "range");
	CHECK_STR(at(p, 5, 5, 4, 450), "new");
	CHECK(at(p, 5, 5, 7, 450) == NULL);
	partial_free(p);
}

TEST(a_snapshot_says_what_an_exec_will_close)
{
	struct partial *p = partial_new(NULL);

	change(p, (struct change){100, 5, 5, 3, -1, FD_snapshot, FD_CLOEXEC_SET, "goes"});
	change(p, (struct change){100, 5, 5, 4, -1, FD_snapshot, 0, "stays"});
	forks(p, 150, 5, 8, 0);
	execs(p, 200, 8, 8);
	finish(p);
	CHECK_STR(at(p, 8, 8, 3, 190), "goes");
	CHECK(at(p, 8, 8, 3, 210) == NULL);
	CHECK_STR(at(p, 8, 8, 4, 210), "stays");
	CHECK_STR(at(p, 5, 5, 3, 210), "goes");
	CHECK_STR(at(p, 5, 5, 3, 60), "goes"); /* it was so before, too */
	partial_free(p);
}

TEST(a_range_closes_all_in_it)
{
	struct partial *p = partial_new(NULL);

	for (s32 fd = 3; fd < 8; fd++)
		opens(p, 100 + (u64)fd, 5, fd, "file");
	change(p, (struct change){200, 5, 5, 4, 6, FD_close_range, 0, NULL});
	opens(p, 300, 5, 5, "again");
	finish(p);
	CHECK_STR(at(p, 5, 5, 4, 190), "file");
	CHECK_STR(at(p, 5, 5, 3, 250), "file");
	CHECK(at(p, 5, 5, 4, 250) == NULL);
	CHECK(at(p, 5, 5, 5, 250) == NULL);
	CHECK_STR(at(p, 5, 5, 7, 250), "file");
	CHECK_STR(at(p, 5, 5, 5, 350), "again");
	CHECK(at(p, 5, 5, 6, 350) == NULL);
	partial_free(p);
}

TEST(a_thread_that_unshares_has_a_table_of_its_own)
{
	struct partial *p = partial_new(NULL);

	opens(p, 100, 5, 3, "common");
	forks(p, 110, 5, 6, THREAD_SHARES_FILES | THREAD_IS_THREAD);
	opens(p, 120, 6, 4, "by the thread");
	change(p, (struct change){200, 6, 5, -1, -1, FD_unshare, 0, NULL});
	opens(p, 210, 6, 7, "its own");
	opens(p, 220, 5, 7, "the process's");
	change(p, (struct change){230, 6, 5, 3, -1, FD_close, 0, NULL});
	forks(p, 240, 6, 8, THREAD_SHARES_FILES | THREAD_IS_THREAD);
	forks(p, 250, 6, 9, 0);
	opens(p, 260, 8, 11, "of both");
	finish(p);
	CHECK_STR(at(p, 5, 5, 4, 150), "by the thread");
	CHECK_STR(at(p, 6, 5, 7, 300), "its own");
	CHECK_STR(at(p, 5, 5, 7, 300), "the process's");
	CHECK(at(p, 6, 5, 3, 300) == NULL);
	CHECK_STR(at(p, 5, 5, 3, 300), "common");
	CHECK_STR(at(p, 6, 5, 4, 300), "by the thread");
	CHECK_STR(at(p, 8, 5, 7, 300), "its own");
	CHECK_STR(at(p, 9, 9, 7, 300), "its own");
	CHECK(at(p, 9, 9, 3, 300) == NULL);
	CHECK_STR(at(p, 6, 5, 11, 300), "of both");
	CHECK(at(p, 9, 9, 11, 300) == NULL); /* opened after it was made */
	partial_free(p);
}

TEST(processes_can_have_one_table_and_threads_their_own_before_the_recording)
{
	struct partial *p = partial_new(NULL);
	struct record_process shares = {.head = head(RECORD_process, 90, 8, 8), .files = 5};

	apply(p, &shares);
	change(p, (struct change){100, 5, 5, 3, -1, FD_snapshot, 0, "common"});
	change(p, (struct change){101, 6, 5, 3, -1, FD_snapshot, FD_OWN_TABLE, "apart"});
	change(p, (struct change){102, 6, 5, 4, -1, FD_snapshot, FD_OWN_TABLE, "more"});
	opens(p, 200, 5, 7, "new");
	finish(p);
	CHECK_STR(at(p, 8, 8, 3, 150), "common");
	CHECK_STR(at(p, 8, 8, 7, 250), "new");
	CHECK_STR(at(p, 6, 5, 3, 150), "apart");
	CHECK_STR(at(p, 6, 5, 4, 60), "more");
	CHECK(at(p, 6, 5, 7, 250) == NULL);
	CHECK_STR(at(p, 7, 5, 7, 250), "new");
	partial_free(p);
}

TEST(an_exec_in_another_thread_copies_what_that_one_had)
{
	struct partial *p = partial_new(NULL);

	forks(p, 110, 5, 6, THREAD_SHARES_FILES | THREAD_IS_THREAD);
	change(p, (struct change){120, 6, 5, -1, -1, FD_unshare, 0, NULL});
	opens(p, 130, 6, 3, "its own");
	opens(p, 140, 5, 3, "the leader's");
	execs(p, 200, 6, 5);
	finish(p);
	CHECK_STR(at(p, 5, 5, 3, 150), "the leader's");
	CHECK_STR(at(p, 5, 5, 3, 250), "its own");
	partial_free(p);
}

TEST(a_file_has_the_name_that_was_told_last)
{
	static const struct file_ref a = FILE_OF('a'), x = FILE_OF('x');
	struct partial *p = partial_new(NULL);

	opens(p, 300, 5, 3, "abc");
	opens(p, 200, 5, 4, "abd");
	opens(p, 100, 5, 5, "abc");
	for (int i = 0; i < 100; i++)
		opens(p, 400 - (u64)i, 5, 6 + i % 2, "xyz");
	finish(p);
	CHECK_STR(query_file_path(p, 5, &a, 50), "abc");
	CHECK_STR(query_file_path(p, 5, &a, 150), "abc");
	CHECK_STR(query_file_path(p, 5, &a, 250), "abd");
	CHECK_STR(query_file_path(p, 5, &a, 350), "abc");
	CHECK_STR(query_file_path(p, 7, &a, 250), "abd"); /* whoever told it */
	CHECK_STR(query_file_path(p, 5, &x, 50), "xyz");
	CHECK_STR(query_file_path(p, 5, &x, 350), "xyz");
	CHECK_EQ(p->facts.fds_by_file.count, 4); /* of the same name it is enough to look at one */
	partial_free(p);
}

TEST_MAIN()
