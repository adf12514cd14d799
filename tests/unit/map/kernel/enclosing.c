/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in a call or fault stands where that does, also where the records know different
 * contexts: that of a program is found while its threads sleep.
 */
#include "map/kernel/enclosing.h"
#include "map/tree/tree.h"
#include "one_thread.h"

#define TIMES 4 /* records of a story, at [1000, 9000) */

static const struct context nobody;
static const struct tree_options with_threads = {.boot = 42, .threads = true};

struct story {
	const struct record_head *records[TIMES]; /* in the order of time, NULL behind the last */
};

static void tell(struct partial *p, const struct story *s, u64 from_ns, u64 to_ns)
{
	for (int i = 0; i < TIMES && s->records[i]; i++)
		if (s->records[i]->time_ns >= from_ns && s->records[i]->time_ns < to_ns)
			apply(p, s->records[i]);
	partial_cover(p, from_ns, to_ns);
}

/* Finished; mapped in two pieces that were merged, if there is a cut. `only`: NULL: all. */
static struct partial *told(const struct story *s, u64 cut_ns, const struct kspan_filter *only)
{
	const struct partial_options all = {.spans = true, .only = only};
	struct partial *p = partial_new(&all), *right;

	tell(p, s, 1000, cut_ns ? cut_ns : 9000);
	if (cut_ns) {
		right = partial_new(&all);
		tell(right, s, cut_ns, 9000);
		CHECK_EQ(partial_merge(p, right), 0);
	}
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

static const struct node *find(const struct tree *tree, enum node_kind kind)
{
	const struct node *found = NULL;

	for (size_t i = 0; i < tree->nodes.count; i++)
		if (tree->nodes.data[i].kind == kind) {
			CHECK(!found);
			found = &tree->nodes.data[i];
		}
	CHECK(found != NULL);
	return found;
}

/* `kind` is in `in`, in the trace of that, under `above`; and nothing has two roots. */
static void check_stands(const struct tree *tree, enum node_kind kind, enum node_kind in,
			 enum node_kind above)
{
	const struct node *inner = find(tree, kind), *visit = find(tree, in);
	size_t roots = 0, contexts = 0;

	CHECK_EQ(inner->parent, visit->id);
	CHECK_MEM(inner->trace, visit->trace, sizeof(visit->trace));
	CHECK_EQ(visit->parent, find(tree, above)->id);
	for (size_t i = 0; i < tree->nodes.count; i++) {
		contexts += tree->nodes.data[i].kind == NODE_CONTEXT;
		if (tree->nodes.data[i].parent)
			continue;
		CHECK(!node_is_kernel(&tree->nodes.data[i]));
		roots++;
	}
	CHECK_EQ(roots, contexts + 1);
}

struct shape {
	enum node_kind kind, in, above;
};

static void check_story_in(const struct story *s, u64 cut_ns, const struct kspan_filter *only,
			   const struct shape *shape)
{
	struct partial *p = told(s, cut_ns, only);
	struct tree tree;

	CHECK_EQ(tree_build(p, &with_threads, &tree), 0);
	check_stands(&tree, shape->kind, shape->in, shape->above);
	tree_free(&tree);
	partial_free(p);
}

/* Cut before each of its records, and not at all; a traced wait is there if only such are asked
 * for. */
static void check_story(const struct story *s, enum node_kind kind, enum node_kind in,
			enum node_kind above)
{
	static const struct kspan_filter traced = {.traced = true};
	const struct kspan_filter of_trace = {
		.traced = true, .traces = &outer.trace, .traces_count = 1};
	const struct shape shape = {kind, in, above};

	for (int i = 0; i < TIMES && (i == 0 || s->records[i]); i++) {
		u64 cut_ns = i ? s->records[i]->time_ns : 0;

		check_story_in(s, cut_ns, NULL, &shape);
		if (kind != NODE_WAIT || above != NODE_CONTEXT)
			continue;
		check_story_in(s, cut_ns, &traced, &shape);
		check_story_in(s, cut_ns, &of_trace, &shape);
	}
}

static struct record_switch leaves(u8 mode, u64 since_ns, const struct context *ctx)
{
	return (struct record_switch){.head = head(RECORD_switch, 3500),
				      .state = LEAVE_sleep,
				      .mode = mode,
				      .since_ns = since_ns,
				      .ctx = *ctx};
}

static struct record_switch enters(void)
{
	return (struct record_switch){.head = {.kind = RECORD_switch, .time_ns = 4500},
				      .next_tid = 5};
}

static void check_fault(const struct context *of_wait, const struct context *of_fault,
			enum node_kind above)
{
	struct record_switch out = leaves(MODE_fault, 500, of_wait), back = enters();
	struct record_fault fault = {.head = head(RECORD_fault, 5000),
				     .flags = FAULT_USER | FAULT_MAJOR,
				     .duration_ns = 2000,
				     .ctx = *of_fault};
	struct story s = {{&out.head, &back.head, &fault.head}};

	check_story(&s, NODE_WAIT, NODE_FAULT, above);
}

static void check_call(const struct context *of_wait, const struct context *of_call,
		       enum node_kind above)
{
	struct record_switch out = leaves(MODE_syscall, 500, of_wait), back = enters();
	struct record_syscall call = {
		.head = head(RECORD_syscall, 5000), .duration_ns = 2000, .ctx = *of_call};
	struct story s = {{&out.head, &back.head, &call.head}};

	check_story(&s, NODE_WAIT, NODE_SYSCALL, above);
}

TEST(a_wait_stands_where_its_fault_does)
{
	check_fault(&nobody, &nobody, NODE_THREAD);
	check_fault(&nobody, &outer, NODE_CONTEXT);
}

TEST(a_wait_stands_where_its_call_does)
{
	check_call(&nobody, &nobody, NODE_THREAD);
	check_call(&nobody, &outer, NODE_CONTEXT);
}

/* The context that only the wait has is left without anything in it. */
static void check_mirrored(const struct record_head *visit, u8 mode, enum node_kind kind)
{
	struct record_switch out = leaves(mode, 500, &outer), back = enters();
	struct story s = {{&out.head, &back.head, visit}};

	check_story(&s, NODE_WAIT, kind, NODE_THREAD);
}

TEST(a_wait_with_a_context_stands_where_its_call_or_fault_without_one_does)
{
	struct record_fault fault = {
		.head = head(RECORD_fault, 5000), .flags = FAULT_USER, .duration_ns = 2000};
	struct record_syscall call = {.head = head(RECORD_syscall, 5000), .duration_ns = 2000};

	check_mirrored(&fault.head, MODE_fault, NODE_FAULT);
	check_mirrored(&call.head, MODE_syscall, NODE_SYSCALL);
}

/* Its record has the context of then, that of the call one of before, or later. */
TEST(a_fault_in_a_call_stands_where_the_call_does)
{
	struct record_fault fault = {
		.head = head(RECORD_fault, 4000), .duration_ns = 200, .ctx = nobody};
	struct record_syscall call = {
		.head = head(RECORD_syscall, 5000), .duration_ns = 2000, .ctx = outer};
	struct story s = {{&fault.head, &call.head}};

	check_story(&s, NODE_FAULT, NODE_SYSCALL, NODE_CONTEXT);
	fault.ctx = outer;
	call.ctx = nobody;
	check_story(&s, NODE_FAULT, NODE_SYSCALL, NODE_THREAD);
}

static struct kspan made(enum kspan_kind kind, u64 begin_ns, u64 end_ns)
{
	return (struct kspan){.kind = kind, .begin_ns = begin_ns, .end_ns = end_ns};
}

TEST(the_innermost_is_found)
{
	struct enclosing in = {0};
	struct kspan call = made(KSPAN_SYSCALL, 100, 900), nested = made(KSPAN_FAULT, 200, 300),
		     block = made(KSPAN_BLOCK, 250, 2000), wait = made(KSPAN_WAIT, 400, 500);

	wait.mode = MODE_syscall;
	CHECK(!enclosing_of(&in, &wait) && !enclosing_of(&in, &block));
	enclosing_follow(&in, &call, &outer, false);
	CHECK(enclosing_of(&in, &nested) == &in.call);
	CHECK(enclosing_of(&in, &block) == &in.call);
	enclosing_follow(&in, &nested, &outer, false);
	CHECK(enclosing_of(&in, &block) == &in.nested);
	CHECK(enclosing_of(&in, &wait) == &in.call);
	block.begin_ns = 350;
	CHECK(enclosing_of(&in, &block) == &in.call);
	wait.mode = MODE_user;
	CHECK(!enclosing_of(&in, &wait));
	wait.mode = MODE_fault; /* of user code, which no call encloses */
	CHECK(!enclosing_of(&in, &wait));
	wait.mode = MODE_fault | MODE_IN_SYSCALL;
	CHECK(enclosing_of(&in, &wait) == &in.call);
	wait.begin_ns = 210;
	wait.end_ns = 300;
	CHECK(enclosing_of(&in, &wait) == &in.nested);
	wait.mode = MODE_syscall;
	CHECK(enclosing_of(&in, &wait) == &in.call);
	wait.mode = MODE_fault; /* of the kernel, outside of a call */
	CHECK(enclosing_of(&in, &wait) == &in.nested);
	wait.mode = MODE_syscall; /* it is in another, of which the end is not known */
	wait.begin_ns = wait.visit_ns = 950;
	wait.end_ns = 990;
	CHECK(!enclosing_of(&in, &wait));
}

/* Of a thread that a tracer kills at the entry: no call returns, and nothing is counted. */
TEST(an_exit_is_no_span)
{
	for (int compat = 0; compat < 2; compat++) {
		struct record_syscall call = {.head = head(RECORD_syscall, 5000),
					      .nr = compat ? 1 : 60,
					      .flags = compat ? SYSCALL_COMPAT : 0,
					      .duration_ns = 2000,
					      .result = -38};
		struct story s = {{&call.head}};
		struct partial *p = told(&s, 0, NULL);
		struct tree tree;

		CHECK_EQ(tree_build(p, &with_threads, &tree), 0);
		for (size_t i = 0; i < tree.nodes.count; i++)
			CHECK(tree.nodes.data[i].kind != NODE_SYSCALL);
		CHECK_EQ(p->calls.list.count, 0);
		tree_free(&tree);
		partial_free(p);
	}
}

TEST_MAIN()
