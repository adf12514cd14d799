/* SPDX-License-Identifier: Apache-2.0 */
/* Which stack belongs to a wait, and in what its addresses lay. */
#include "check.h"
#include "map/checkpoint/checkpoint.h"
#include "map/fact/query.h"

#define PID 5

static struct record_head head(u8 kind, u64 time_ns)
{
	return (struct record_head){.kind = kind, .time_ns = time_ns, .tid = PID, .pid = PID};
}

static void stack(struct partial *p, u32 flags, u64 since_ns, u64 time_ns)
{
	struct record_stack r = {
		.head = head(RECORD_stack, time_ns), .flags = flags, .since_ns = since_ns};

	r.frames_len = 8;
	memcpy(r.frames, &time_ns, 8);
	CHECK_EQ(partial_apply(p, &r.head), 0);
}

static void mapping(struct partial *p, u64 since_ns, u64 begin, u64 end, const char *path)
{
	struct record_mapping r = {.head = head(RECORD_mapping, 9999),
				   .since_ns = since_ns,
				   .begin = begin,
				   .end = end,
				   .path_len = (u16)strlen(path)};

	memcpy(r.path, path, r.path_len);
	CHECK_EQ(partial_apply(p, &r.head), 0);
}

static struct partial *begin(void)
{
	static const struct partial_options all = {.spans = true};
	struct partial *p = partial_new(&all);

	CHECK(p);
	partial_cover(p, 1, 10000);
	return p;
}

static u64 told(const struct partial *p, u32 flags, u64 from, u64 to)
{
	const struct fact_stack *s = query_stack(p, flags, PID, from, to);

	return s ? s->addresses[0] : 0;
}

TEST(a_stack_belongs_to_the_wait_in_which_it_was)
{
	struct partial *p = begin();

	stack(p, STACK_KERNEL, 100, 201); /* told when it got the CPU again at 200 */
	stack(p, STACK_KERNEL, 300, 350); /* told in its middle: it ends at 400 */
	stack(p, STACK_USER, 290, 420);	  /* of a call with two waits, 300 to 400 and 405 to 410 */
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(told(p, STACK_KERNEL, 100, 200), 201);
	CHECK_EQ(told(p, STACK_KERNEL, 50, 90), 0);
	CHECK_EQ(told(p, STACK_KERNEL, 210, 290), 0);
	CHECK_EQ(told(p, STACK_KERNEL, 300, 400), 350);
	CHECK_EQ(told(p, STACK_KERNEL, 120, 200), 201); /* its begin was cut off */
	CHECK_EQ(told(p, STACK_USER, 300, 400), 420);
	CHECK_EQ(told(p, STACK_USER, 405, 410), 420);
	CHECK_EQ(told(p, STACK_USER, 100, 200), 0);
	CHECK_EQ(told(p, STACK_USER, 430, 440), 0);
	CHECK(!query_stack(p, STACK_KERNEL, PID + 1, 100, 200));
	partial_free(p);
}

static const char *mapped(const struct partial *p, u64 time_ns, u64 address)
{
	struct fact_stack s = {.pid = PID, .flags = STACK_USER, .time_ns = time_ns};
	const struct fact_mapping *m = query_mapping(p, &s, address);

	return m ? m->path : "none";
}

TEST(an_address_lies_in_what_was_mapped_then)
{
	struct partial *p = begin();

	mapping(p, 100, 0x1000, 0x3000, "/one");
	mapping(p, 500, 0x1000, 0x3000, "/two");
	mapping(p, 700, 0x2000, 0x4000, "/three");
	CHECK_EQ(partial_finish(p), 0);
	/* a sample can come before its mapping is looked up */
	CHECK_STR(mapped(p, 90, 0x1000), "/one");
	CHECK_STR(mapped(p, 200, 0x1000), "/one");
	CHECK_STR(mapped(p, 200, 0x2fff), "/one");
	CHECK_STR(mapped(p, 200, 0x3000), "/three");
	CHECK_STR(mapped(p, 200, 0x4000), "none");
	CHECK_STR(mapped(p, 600, 0x2fff), "/two");
	/* two that lap over: either may be there */
	CHECK_STR(mapped(p, 800, 0x2fff), "none");
	CHECK_STR(mapped(p, 800, 0x1fff), "/two");
	CHECK_STR(mapped(p, 800, 0x3fff), "/three");
	partial_free(p);
}

TEST(an_exec_takes_all_mappings_away)
{
	struct partial *p = begin();
	struct record_exec exec = {
		.head = head(RECORD_exec, 300), .command_len = 4, .command = "new"};

	mapping(p, 100, 0x1000, 0x3000, "/one");
	CHECK_EQ(partial_apply(p, &exec.head), 0);
	mapping(p, 400, 0x8000, 0x9000, "/two");
	CHECK_EQ(partial_finish(p), 0);
	CHECK_STR(mapped(p, 200, 0x1000), "/one");
	CHECK_STR(mapped(p, 200, 0x8000), "none");
	CHECK_STR(mapped(p, 500, 0x1000), "none");
	CHECK_STR(mapped(p, 500, 0x8000), "/two");
	partial_free(p);
}

/* A compiler in the program puts other code where it had some. */
TEST(of_code_made_at_run_time_the_last_holds)
{
	struct partial *p = begin();

	mapping(p, 100, 0x1000, 0x2000, "[jit]");
	mapping(p, 500, 0x1800, 0x2800, "[jit]");
	CHECK_EQ(partial_finish(p), 0);
	CHECK_STR(mapped(p, 200, 0x1900), "[jit]");
	CHECK_STR(mapped(p, 600, 0x1900), "[jit]");
	partial_free(p);
}

/* A checkpoint keeps of each range the last, and what a stack needs that was told before. */
TEST(a_checkpoint_keeps_what_its_stacks_lie_in)
{
	static const struct partial_options state = {.state_only = true}, all = {.spans = true};
	struct record_waking there = {.head = head(RECORD_waking, 200)};
	struct partial *p = partial_new(&state);
	struct bytes bytes = {0};

	partial_cover(p, 1, 20000);
	CHECK_EQ(partial_apply(p, &there.head), 0);
	mapping(p, 100, 0, 0x3000, "/one");
	mapping(p, 500, 0, 0x3000, "/two");
	mapping(p, 9000, 0, 0x3000, "/three");
	mapping(p, 9500, 0, 0x3000, "/four");
	stack(p, STACK_USER, 7000, 8000); /* its address is its time */
	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	partial_free(p);
	CHECK_EQ(checkpoint_read(&p, bytes.data, bytes.count, &all), 0);
	bytes_free(&bytes);
	CHECK_EQ(p->facts.mappings.count, 2);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(told(p, STACK_USER, 6000, 20000), 8000);
	CHECK_STR(mapped(p, 8000, 8000), "/two");
	CHECK_STR(mapped(p, 15000, 8000), "/four");
	partial_free(p);
}

TEST(a_mapping_has_all_its_texts)
{
	struct partial *p = begin();
	struct fact_stack s = {.pid = PID, .flags = STACK_KERNEL, .time_ns = 500};
	const struct fact_mapping *m;
	struct record_mapping r = {.head = {.kind = RECORD_mapping, .time_ns = 9},
				   .begin = 0xffffffff81000000,
				   .end = 0xffffffff81000040,
				   .path_len = 12};

	memcpy(r.path, "[kernel]\0\0fu", 12);
	CHECK_EQ(partial_apply(p, &r.head), 0);
	mapping(p, 1, 0x1000, 0x2000, "/without/id");
	CHECK_EQ(partial_finish(p), 0);
	m = query_mapping(p, &s, 0xffffffff8100003f);
	CHECK(m);
	CHECK_STR(m->path, "[kernel]");
	CHECK_STR(m->path + 9, "");
	CHECK_STR(m->path + 10, "fu");
	CHECK(!query_mapping(p, &s, 0xffffffff81000040));
	CHECK(!query_mapping(p, &s, 0x1000)); /* that is the program's */
	s.flags = STACK_USER;
	m = query_mapping(p, &s, 0x1000);
	CHECK(m);
	CHECK_STR(m->path + strlen(m->path) + 1, "");
	partial_free(p);
}

TEST_MAIN()
