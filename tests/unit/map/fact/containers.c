/* SPDX-License-Identifier: Apache-2.0 */
#include "apply.h"
#include "map/fact/query.h"

#define ONE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TWO "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void named(struct partial *p, u32 hierarchy, u64 id, const char *path)
{
	struct record_cgroup r = {.head = {.kind = RECORD_cgroup, .time_ns = 1},
				  .hierarchy = hierarchy,
				  .id = id,
				  .path_len = (u16)strlen(path)};

	memcpy(r.path, path, r.path_len);
	apply(p, &r);
}

static void moves(struct partial *p, struct fact_move m)
{
	struct record_cgroup_attach r = {.head = {.kind = RECORD_cgroup_attach,
						  .time_ns = m.time_ns,
						  .tid = m.pid,
						  .pid = m.pid},
					 .hierarchy = m.hierarchy,
					 .cgroup = m.cgroup,
					 .flags = m.found ? CGROUP_FOUND : 0};

	apply(p, &r);
}

static void forks(struct partial *p, u64 time_ns, u32 pid, u32 parent, u64 id)
{
	struct record_fork r = {
		.head = {.kind = RECORD_fork, .time_ns = time_ns, .tid = pid, .pid = pid},
		.parent_tid = parent,
		.parent_pid = parent,
		.cgroup = id};

	apply(p, &r);
}

static void found(struct partial *p, u64 time_ns, u32 pid, u64 id)
{
	struct record_process r = {
		.head = {.kind = RECORD_process, .time_ns = time_ns, .tid = pid, .pid = pid},
		.cgroup = id};

	apply(p, &r);
}

static struct partial *known(void)
{
	struct partial *p = partial_new(NULL);

	named(p, 0, 10, "/docker/" ONE);
	named(p, 0, 11, "/system.slice/cron.service");
	named(p, 0, 12, "/docker/" TWO);
	named(p, 4, 10, "/kubepods/burstable/pod1/" TWO);
	return p;
}

static void finish(struct partial *p)
{
	partial_cover(p, 1, 10000);
	CHECK_EQ(partial_finish(p), 0);
}

TEST(a_process_is_where_it_was_put_last)
{
	struct partial *p = known();

	found(p, 100, 5, 10);
	moves(p, (struct fact_move){200, 12, 5, 0, false});
	moves(p, (struct fact_move){300, 11, 5, 0, false});
	finish(p);
	CHECK_STR(query_container(p, 5, 50), ONE); /* the snapshot found it there */
	CHECK_STR(query_container(p, 5, 150), ONE);
	CHECK_STR(query_container(p, 5, 200), TWO);
	CHECK(query_container(p, 5, 300) == NULL);
	CHECK(query_container(p, 6, 300) == NULL);
	partial_free(p);
}

TEST(a_move_says_nothing_of_before)
{
	struct partial *p = known();

	moves(p, (struct fact_move){200, 12, 5, 0, false});
	finish(p);
	CHECK(query_container(p, 5, 100) == NULL);
	CHECK_STR(query_container(p, 5, 250), TWO);
	partial_free(p);
}

TEST(a_child_is_where_its_parent_was)
{
	struct partial *p = known();

	moves(p, (struct fact_move){100, 10, 5, 4, true});
	forks(p, 200, 6, 5, 0);
	forks(p, 300, 7, 6, 0);
	moves(p, (struct fact_move){400, 99, 5, 4, false}); /* and leaves it; they stay */
	forks(p, 500, 8, 5, 0);
	forks(p, 600, 9, 5, 10); /* put into one as it was made */
	finish(p);
	CHECK_STR(query_container(p, 5, 300), TWO);
	CHECK(query_container(p, 5, 450) == NULL);
	CHECK_STR(query_container(p, 6, 900), TWO);
	CHECK_STR(query_container(p, 7, 900), TWO);
	CHECK(query_container(p, 8, 900) == NULL);
	CHECK_STR(query_container(p, 9, 900), ONE);
	partial_free(p);
}

TEST(a_number_that_is_used_again_begins_anew)
{
	struct partial *p = known();

	found(p, 100, 5, 10);
	forks(p, 500, 5, 1, 11);
	finish(p);
	CHECK_STR(query_container(p, 5, 400), ONE);
	CHECK(query_container(p, 5, 600) == NULL);
	partial_free(p);
}

TEST(the_longest_path_of_all_hierarchies_counts)
{
	struct partial *p = known();

	moves(p, (struct fact_move){100, 10, 5, 0, false});
	moves(p, (struct fact_move){200, 10, 5, 4, false});
	finish(p);
	CHECK_STR(query_container(p, 5, 150), ONE);
	CHECK_STR(query_container(p, 5, 250), TWO);
	partial_free(p);
}

/* Damaged records can make a process its own ancestor. */
TEST(a_circle_of_forks_ends)
{
	struct partial *p = known();

	forks(p, 100, 5, 6, 0);
	forks(p, 100, 6, 5, 0);
	forks(p, 100, 7, 7, 0);
	finish(p);
	CHECK(query_container(p, 5, 200) == NULL);
	CHECK(query_container(p, 7, 200) == NULL);
	partial_free(p);
}

TEST_MAIN()
