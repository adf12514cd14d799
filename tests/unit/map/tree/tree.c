/* SPDX-License-Identifier: Apache-2.0 */
#include "map/tree/tree.h"
#include "map/fact/query.h"
#include "model/syscall_format.h"
#include "one_thread.h"
#include "simulate.h"

static const struct partial_options all = {.spans = true};
static const struct context foreign = {{9}, {0, 0, 0, 0, 0, 0, 0, 3}};

static void span_begins(struct partial *p, u64 time_ns, const struct context *ctx,
			const struct context *parent, const char *name)
{
	struct record_span_begin r = {.head = head(RECORD_span_begin, time_ns),
				      .ctx = *ctx,
				      .flags = 1,
				      .name_len = (u16)strlen(name)};

	if (parent)
		memcpy(&r.parent, parent->span, 8);
	memcpy(r.name, name, r.name_len);
	apply(p, &r);
}

static void call(struct partial *p, u64 end_ns, u64 duration_ns, u16 nr, const struct context *ctx)
{
	struct record_syscall r = {
		.head = head(RECORD_syscall, end_ns), .nr = nr, .duration_ns = duration_ns};

	if (ctx)
		r.ctx = *ctx;
	apply(p, &r);
}

static void leaves(struct partial *p, u64 time_ns, u64 since_ns, u16 nr)
{
	struct record_switch r = {.head = head(RECORD_switch, time_ns),
				  .state = LEAVE_sleep,
				  .mode = MODE_syscall,
				  .since_ns = since_ns,
				  .nr = nr,
				  .ctx = inner};

	apply(p, &r);
}

static void enters(struct partial *p, u64 time_ns)
{
	struct record_switch r = {.head = {.kind = RECORD_switch, .time_ns = time_ns},
				  .next_tid = 5};

	apply(p, &r);
}

/*
 * outer [1000, 9000) with inner [2000, 6000); inner calls nanosleep [3000,
 * 5000), off the CPU [3500, 4500). Before outer a getpid under no span, and
 * after it one under a context that nobody tells a record of.
 */
static struct partial *story(void)
{
	struct partial *p = partial_new(&all);

	call(p, 600, 100, 39, NULL);
	span_begins(p, 1000, &outer, NULL, "outer");
	span_begins(p, 2000, &inner, &outer, "inner");
	leaves(p, 3500, 500, 35);
	enters(p, 4500);
	call(p, 5000, 2000, 35, &inner);
	span_ends(p, 6000, &inner, &outer);
	span_ends(p, 9000, &outer, NULL);
	call(p, 9600, 100, 39, &foreign);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

static const struct node *find(const struct tree *tree, enum node_kind kind, u64 begin_ns)
{
	for (size_t i = 0; i < tree->nodes.count; i++)
		if (tree->nodes.data[i].kind == kind && tree->nodes.data[i].begin_ns == begin_ns)
			return &tree->nodes.data[i];
	return NULL;
}

TEST(each_node_stands_under_what_it_ran_in)
{
	struct partial *p = story();
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *sleep, *wait, *in, *out, *before, *thread, *context;
	struct tree tree;

	CHECK_EQ(tree_build(p, &options, &tree), 0);
	out = find(&tree, NODE_APP, 1000);
	in = find(&tree, NODE_APP, 2000);
	sleep = find(&tree, NODE_SYSCALL, 3000);
	wait = find(&tree, NODE_WAIT, 3500);
	before = find(&tree, NODE_SYSCALL, 500);
	thread = find(&tree, NODE_THREAD, 500);
	context = find(&tree, NODE_CONTEXT, 9500);
	CHECK(out && in && sleep && wait && before && thread && context);
	CHECK_EQ(out->parent, 0);
	CHECK_EQ(in->parent, out->id);
	CHECK_EQ(sleep->parent, in->id);
	CHECK_EQ(wait->parent, sleep->id);
	CHECK_EQ(before->parent, thread->id);
	CHECK_EQ(thread->parent, 0);
	CHECK_EQ(out->id, 1);
	CHECK(context->begin_soft && context->end_soft);
	CHECK(tree_node(&tree, 0)->kind == NODE_APP && tree_node(&tree, 0)->id == 1);
	tree_free(&tree);
	partial_free(p);
}

/*
 * The leader, 5, sleeps in a call; another thread makes one between its begin and the sleep, and
 * has the leader's number in the end, by an exec.
 */
TEST(two_threads_that_end_as_one_number)
{
	struct partial *p = partial_new(&all);
	struct tree_options options = {.boot = 42, .threads = true};
	struct record_head second = {.time_ns = 1000, .tid = 6, .pid = 5};
	struct record_fork fork = {.head = second, .parent_tid = 5, .parent_pid = 5};
	struct record_syscall other = {.head = second, .nr = 39, .duration_ns = 200};
	struct record_switch sleeps = {.head = head(RECORD_switch, 3500),
				       .state = LEAVE_sleep,
				       .mode = MODE_syscall,
				       .since_ns = 500,
				       .nr = 34};
	struct record_switch dies = {.head = head(RECORD_switch, 5300), .state = LEAVE_dead};
	struct record_exit exit = {.head = head(RECORD_exit, 5200)};
	struct record_exec exec = {.head = head(RECORD_exec, 5500), .old_tid = 6};
	const struct node *pause, *wait;
	struct tree tree;

	call(p, 600, 100, 39, NULL);
	fork.head.kind = RECORD_fork;
	fork.flags = THREAD_IS_THREAD;
	apply(p, &fork);
	other.head.kind = RECORD_syscall;
	other.head.time_ns = 3400;
	apply(p, &other);
	apply(p, &sleeps);
	enters(p, 4500);
	call(p, 5000, 2000, 34, NULL);
	apply(p, &exit);
	apply(p, &dies);
	apply(p, &exec);
	call(p, 6000, 100, 39, NULL);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	pause = find(&tree, NODE_SYSCALL, 3000);
	wait = find(&tree, NODE_WAIT, 3500);
	CHECK(pause && wait && find(&tree, NODE_SYSCALL, 3200));
	CHECK(pause->tid == wait->tid);
	CHECK_EQ(wait->parent, pause->id);
	tree_free(&tree);
	partial_free(p);
}

/* An id is unique in its trace only. Of the third trace nothing but a call is told. */
TEST(the_same_id_in_three_traces)
{
	const struct context second = {{2}, {0, 0, 0, 0, 0, 0, 0, 1}};
	const struct context third = {{3}, {0, 0, 0, 0, 0, 0, 0, 1}};
	const struct context *traces[] = {&outer, &second, &third};
	struct tree_options options = {.boot = 77};
	struct partial *p = partial_new(&all);
	struct tree tree;

	for (u64 i = 0; i < 3; i++) {
		if (i < 2)
			span_begins(p, 2000 + 2000 * i, traces[i], NULL, "same");
		call(p, 3000 + 2000 * i, 100, 39, traces[i]);
		if (i < 2)
			span_ends(p, 3500 + 2000 * i, traces[i], NULL);
	}
	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	CHECK_EQ(tree.nodes.count, 6);
	for (size_t i = 0; i < 6; i += 2) {
		const struct node *span = tree_node(&tree, i), *below = tree_node(&tree, i + 1);

		CHECK_EQ(span->kind, i < 4 ? NODE_APP : NODE_CONTEXT);
		CHECK_EQ(span->id, 1);
		CHECK_EQ(below->kind, NODE_SYSCALL);
		CHECK_EQ(below->parent, 1);
		CHECK(memcmp(span->trace, traces[i / 2]->trace, 16) == 0);
		CHECK(memcmp(below->trace, traces[i / 2]->trace, 16) == 0);
	}
	tree_free(&tree);
	partial_free(p);
}

/* A program that calls itself a thousand times, with a span for each call. */
TEST(split_of_a_span_includes_what_lies_deep_below)
{
	enum { DEPTH = 1000 };
	struct partial *p = partial_new(&all);
	struct context at[DEPTH];
	struct span_time *times = calloc(DEPTH, sizeof(*times));

	call(p, 600, 100, 39, NULL);
	for (u32 i = 0; i < DEPTH; i++) {
		at[i] = (struct context){{1}, {1, 0, 0, 0, 0, 0, (u8)(i >> 8), (u8)i}};
		span_begins(p, 1000 + i, &at[i], i ? &at[i - 1] : NULL, "deep");
	}
	for (u32 i = DEPTH; i > 0; i--)
		span_ends(p, 1000000 - i, &at[i - 1], i > 1 ? &at[i - 2] : NULL);
	partial_cover(p, 500, 2000000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, DEPTH);
	CHECK_EQ(span_times(p, times), 0);
	for (u32 i = 0; i < DEPTH; i++) {
		CHECK_EQ(times[i].end_ns - times[i].begin_ns, 1000000 - 1000 - 1 - 2 * i);
		CHECK_EQ(times[i].split.ns[SPLIT_user], 1000000 - 1000 - 1 - 2 * i);
	}
	free(times);
	partial_free(p);
}

/*
 * Parents that go round, as no program means it: each is told once, with what is under it, and it
 * ends. The first of the circle is told first, not a span under it that began before.
 */
TEST(spans_in_a_circle_end)
{
	static const struct context under = {{1}, {0, 0, 0, 0, 0, 0, 0, 7}};
	static const u64 begins[] = {1000, 1500, 2000, 800};
	struct partial *p = partial_new(&all);
	struct tree_options options = {.boot = 42};
	struct span_time times[3];
	struct tree tree;

	call(p, 600, 100, 39, NULL);
	span_begins(p, 800, &under, &inner, "under");
	span_ends(p, 900, &under, NULL);
	span_begins(p, 1000, &outer, &inner, "outer");
	call(p, 1600, 100, 39, &outer);
	span_begins(p, 2000, &inner, &outer, "inner");
	span_ends(p, 6000, &inner, &outer);
	span_ends(p, 9000, &outer, NULL);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 3);
	CHECK_EQ(span_times(p, times), 0);
	CHECK_EQ(split_total(&times[0].split), 8000);
	CHECK_EQ(split_total(&times[1].split), 4000);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	CHECK_EQ(tree.nodes.count, 4);
	for (size_t i = 0; i < tree.nodes.count && i < 4; i++)
		CHECK_EQ(tree_node(&tree, i)->begin_ns, begins[i]);
	tree_free(&tree);
	partial_free(p);
}

static s64 total_of(const struct partial *p, const struct tree *tree, const struct node *n)
{
	const struct split split = node_split(p, tree, n);

	return split_total(&split);
}

TEST(split_of_a_span_includes_its_children)
{
	struct partial *p = story();
	struct tree_options options = {.boot = 42};
	struct tree tree;
	const struct node *out, *in;

	CHECK_EQ(tree_build(p, &options, &tree), 0);
	out = find(&tree, NODE_APP, 1000);
	in = find(&tree, NODE_APP, 2000);
	CHECK_EQ(node_split(p, &tree, in).ns[SPLIT_timer], 1000);
	CHECK_EQ(node_split(p, &tree, in).ns[SPLIT_kernel], 1000);
	CHECK_EQ(node_split(p, &tree, in).ns[SPLIT_user], 2000);
	CHECK_EQ(total_of(p, &tree, in), 4000);
	CHECK_EQ(node_split(p, &tree, out).ns[SPLIT_timer], 1000);
	CHECK_EQ(node_split(p, &tree, out).ns[SPLIT_user], 6000);
	CHECK_EQ(total_of(p, &tree, out), 8000);
	CHECK_EQ(node_threads(&tree, out), 1);
	tree_free(&tree);
	partial_free(p);
}

/* A request stands under its submitter's span and takes nothing from it, nor from the thread. */
TEST(a_request_is_a_span_that_no_thread_has)
{
	struct partial *p = partial_new(&all);
	struct record_uring r = {.head = head(RECORD_uring, 8000),
				 .opcode = 22,
				 .fd = 3,
				 .duration_ns = 6500,
				 .result = -5,
				 .file = {.key = 11, .kind = FILE_KIND_regular},
				 .ctx = outer};
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *out, *under, *free;
	struct tree tree;
	s64 off_thread = 0;

	span_begins(p, 1000, &outer, NULL, "outer");
	span_ends(p, 9000, &outer, NULL);
	apply(p, &r);
	r.ctx = (struct context){0};
	r.flags = URING_END_UNKNOWN;
	r.duration_ns = 7000;
	r.result = 0;
	apply(p, &r);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	out = find(&tree, NODE_APP, 1000);
	under = find(&tree, NODE_URING, 1500);
	free = find(&tree, NODE_URING, 1000);
	CHECK(out && under && free);
	CHECK_EQ(under->parent, out->id);
	CHECK_EQ(node_threads(&tree, under), 0);
	CHECK_EQ(node_split(p, &tree, under).ns[SPLIT_off_thread], 6500);
	CHECK_EQ(total_of(p, &tree, under), 6500);
	CHECK(!under->end_soft && free->end_soft);
	CHECK_EQ(free->parent, find(&tree, NODE_THREAD, 500)->id);
	CHECK_EQ(node_split(p, &tree, out).ns[SPLIT_off_thread], 0);
	CHECK_EQ(total_of(p, &tree, out), 8000);
	CHECK_EQ(p->calls.list.count, 2); /* one that failed, and one that did not */
	for (size_t i = 0; i < 2; i++)
		off_thread += p->calls.list.data[i].split.ns[SPLIT_off_thread];
	CHECK_EQ(p->calls.list.data[0].count + p->calls.list.data[1].count, 2);
	CHECK_EQ(p->calls.list.data[0].errors + p->calls.list.data[1].errors, 1);
	CHECK_EQ(off_thread, 6500);
	tree_free(&tree);
	partial_free(p);
}

static struct record_block request(u64 end_ns, u64 queued_ns, u64 duration_ns, u64 sector)
{
	return (struct record_block){.head = head(RECORD_block, end_ns),
				     .dev = 8 << 20 | 1,
				     .bytes = 4096,
				     .queued_ns = queued_ns,
				     .duration_ns = duration_ns,
				     .sector = sector};
}

/* It was over at some time before the next call: what is not known is no time in the kernel. */
TEST(a_fault_whose_end_was_not_seen_has_unknown_time)
{
	struct partial *p = partial_new(&all);
	struct record_fault fault = {.head = head(RECORD_fault, 7500),
				     .flags = FAULT_USER | FAULT_SOFT_END,
				     .duration_ns = 700};
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *thread, *ended;
	struct tree tree;

	call(p, 5000, 2000, 0, &outer);
	apply(p, &fault);
	call(p, 9000, 1500, 0, &outer);
	partial_cover(p, 3000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	ended = find(&tree, NODE_FAULT, 6800);
	thread = find(&tree, NODE_THREAD, 3000);
	CHECK(ended && thread);
	CHECK_EQ(ended->end_ns, 7500);
	CHECK(ended->end_soft);
	CHECK(!ended->begin_soft);
	CHECK_EQ(node_split(p, &tree, ended).ns[SPLIT_unknown], 700);
	CHECK_EQ(node_split(p, &tree, thread).ns[SPLIT_kernel], 3500);
	CHECK_EQ(node_split(p, &tree, thread).ns[SPLIT_user], 1800);
	CHECK_EQ(node_split(p, &tree, thread).ns[SPLIT_unknown], 700);
	tree_free(&tree);
	partial_free(p);
}

/* It stands under the call or fault that submitted it, where that stands, however long it took. */
TEST(a_block_request_stands_under_what_submitted_it)
{
	struct partial *p = partial_new(&all);
	struct record_fault fault = {
		.head = head(RECORD_fault, 7500), .flags = FAULT_USER, .duration_ns = 500};
	struct record_block one = request(5500, 100, 1900, 1), two = request(5500, 100, 1900, 2),
			    faulted = request(7400, 0, 300, 3), late = request(8600, 0, 500, 4),
			    own = request(9800, 0, 300, 5);
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *in, *thread, *read, *out;
	size_t count = 0;
	struct tree tree;

	span_begins(p, 1000, &outer, NULL, "outer");
	call(p, 5000, 2000, 0, &outer);
	apply(p, &one); /* both of one bio */
	apply(p, &two);
	apply(p, &faulted);
	apply(p, &fault);
	apply(p, &late); /* of a call that is left out */
	span_ends(p, 9000, &outer, NULL);
	own.ctx = foreign;
	apply(p, &own);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	out = find(&tree, NODE_APP, 1000);
	read = find(&tree, NODE_SYSCALL, 3000);
	thread = find(&tree, NODE_THREAD, 500);
	CHECK(out && read && thread);
	for (size_t i = 0; i < tree.nodes.count; i++) {
		const struct node *n = tree_node(&tree, i);

		if (n->kind != NODE_BLOCK || n->begin_ns != 3500)
			continue;
		count++;
		CHECK_EQ(n->parent, read->id);
		CHECK_EQ(n->end_ns, 5500);
		CHECK_EQ(node_threads(&tree, n), 0);
		CHECK_EQ(node_split(p, &tree, n).ns[SPLIT_off_thread], 2000);
		CHECK_EQ(total_of(p, &tree, n), 2000);
		CHECK(memcmp(n->trace, outer.trace, 16) == 0);
		CHECK(count == 1 || n->id != tree_node(&tree, i - 1)->id);
	}
	CHECK_EQ(count, 2);
	in = find(&tree, NODE_BLOCK, 7100);
	CHECK(in && in->parent == find(&tree, NODE_FAULT, 7000)->id);
	in = find(&tree, NODE_BLOCK, 8100);
	CHECK(in && in->parent == thread->id);
	in = find(&tree, NODE_BLOCK, 9500);
	CHECK(in && memcmp(in->trace, foreign.trace, 16) == 0);
	CHECK(in->parent == span_number(foreign.span));
	CHECK_EQ(node_split(p, &tree, out).ns[SPLIT_off_thread], 0);
	CHECK_EQ(total_of(p, &tree, out), 8000);
	tree_free(&tree);
	partial_free(p);
}

/* Of a thread, and of a span, of which nothing else is told. */
TEST(a_request_alone_has_something_above_it)
{
	struct partial *p = partial_new(&all);
	struct record_block r[] = {request(2000, 0, 500, 1), request(3000, 0, 2500, 2),
				   request(5000, 0, 500, 3), request(7000, 0, 600, 4)};
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *thread, *context;
	struct tree tree;

	r[2].ctx = r[3].ctx = foreign;
	for (size_t i = 0; i < 4; i++)
		apply(p, &r[i]);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	CHECK_EQ(tree.nodes.count, 6);
	thread = find(&tree, NODE_THREAD, 500);
	context = find(&tree, NODE_CONTEXT, 4500);
	CHECK(thread && context);
	CHECK_EQ(thread->end_ns, 3000);
	CHECK_EQ(thread->tid, 5);
	CHECK_EQ(context->end_ns, 6400);
	CHECK_EQ(node_threads(&tree, context), 1);
	CHECK_EQ(node_split(p, &tree, context).ns[SPLIT_unknown], 1900);
	CHECK(context->begin_soft && context->end_soft && !thread->of);
	CHECK_EQ(context->id, span_number(foreign.span));
	CHECK_EQ(thread->parent | context->parent, 0);
	for (size_t i = 0; i < tree.nodes.count; i++) {
		const struct node *n = tree_node(&tree, i);

		if (n->kind == NODE_BLOCK)
			CHECK_EQ(n->parent, n->begin_ns < 4000 ? thread->id : context->id);
	}
	tree_free(&tree);
	partial_free(p);
}

/* Of a context, not of a span whose bounds were heard; what its thread did meanwhile is unknown. */
TEST(a_request_tells_that_its_span_was_there)
{
	struct partial *p = partial_new(&all);
	struct record_block r[] = {request(9400, 0, 400, 1), request(9990, 0, 190, 2),
				   request(8900, 0, 300, 3)};
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *context, *app;
	struct split split;
	struct tree tree;

	span_begins(p, 1000, &outer, NULL, "outer");
	span_ends(p, 8500, &outer, NULL);
	call(p, 9600, 100, 39, &foreign);
	r[0].ctx = r[1].ctx = foreign;
	r[2].ctx = outer;
	for (size_t i = 0; i < 3; i++)
		apply(p, &r[i]);
	partial_cover(p, 500, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	context = find(&tree, NODE_CONTEXT, 9000);
	app = find(&tree, NODE_APP, 1000);
	CHECK(context && app);
	CHECK_EQ(context->end_ns, 9800);
	CHECK_EQ(app->end_ns, 8500);
	split = node_split(p, &tree, context);
	CHECK_EQ(split.ns[SPLIT_kernel], 100);
	CHECK_EQ(split.ns[SPLIT_unknown], 700);
	CHECK_EQ(total_of(p, &tree, context), 800);
	CHECK_EQ(total_of(p, &tree, app), 7500);
	tree_free(&tree);
	partial_free(p);
}

/* Those inside of calls, which are told behind them, and those of a ring that needs no call. */
TEST(requests_of_one_span_need_no_memory)
{
	for (int calls = 0; calls < 2; calls++) {
		struct partial *p = partial_new(&all);
		u64 at = 1000;

		for (u64 i = 0; i < 1000; i++, at += 300) {
			struct record_block r = request(at + 240, 0, 20, i);

			r.ctx = foreign;
			apply(p, &r);
			if (calls)
				call(p, at + 300, 100, 39, &foreign);
		}
		CHECK_EQ(p->spans.count, 1);
		CHECK_EQ(p->spans.data[0]->seen.list.count, 1);
		CHECK(p->spans.data[0]->seen.list.data[0].holds.count <= 2);
		CHECK_EQ(p->spans.data[0]->seen.list.data[0].begin_ns, 1220);
		partial_free(p);
	}
}

/* Of a thread that began to end the last switch was lost: it ends, with what it did last. */
TEST(a_thread_that_exits_ends)
{
	struct partial *p = partial_new(&all);
	struct record_exit exit = {.head = head(RECORD_exit, 6000), .code = 9};
	const struct life *l;

	call(p, 2000, 100, 39, NULL);
	leaves(p, 3500, 500, 35);
	enters(p, 4500);
	apply(p, &exit);
	partial_cover(p, 1900, 50000);
	CHECK_EQ(partial_finish(p), 0);
	l = p->lives.data[0];
	CHECK_EQ(l->exit_ns, 6000);
	CHECK_EQ(l->exit_code, 9);
	CHECK_EQ(l->state.last_ns, 6000);
	CHECK_EQ(split_total(&l->total), 4100);
	partial_free(p);
}

/* A number that is used again is another process: a span that was not ended ends with its own. */
TEST(an_open_span_ends_with_its_process)
{
	struct partial *p = partial_new(&all);
	struct span_time time;

	for (u64 at = 100; at <= 500; at += 400) {
		struct record_fork born = {.head = head(RECORD_fork, at), .parent_tid = 3};
		struct record_switch dies = {.head = head(RECORD_switch, at + 200),
					     .state = LEAVE_dead};

		apply(p, &born);
		enters(p, at + 10);
		if (at == 100)
			span_begins(p, at + 20, &outer, NULL, "open");
		apply(p, &dies);
	}
	partial_cover(p, 1, 1000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	CHECK_EQ(span_times(p, &time), 0);
	CHECK_EQ(time.begin_ns, 120);
	CHECK_EQ(time.end_ns, 300);
	CHECK(time.end_soft);
	partial_free(p);
}

/* One that sleeps while it ends is there, until it is seen dead. */
TEST(a_thread_may_wait_while_it_exits)
{
	struct partial *p = partial_new(&all);
	struct record_exit exit = {.head = head(RECORD_exit, 3000)};

	call(p, 2000, 100, 39, NULL);
	apply(p, &exit);
	leaves(p, 3500, 1000, 231);
	partial_cover(p, 1900, 50000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.data[0]->state.last_ns, 50000);
	CHECK_EQ(split_total(&p->lives.data[0]->total), 48100);
	partial_free(p);
}

TEST(ids_are_derived)
{
	struct partial *p = story(), *q = story();
	struct tree_options options = {.boot = 42, .threads = true}, other = {.boot = 43};
	struct tree a, b, c;

	CHECK_EQ(tree_build(p, &options, &a), 0);
	CHECK_EQ(tree_build(q, &options, &b), 0);
	CHECK_EQ(tree_build(q, &other, &c), 0);
	CHECK_EQ(a.nodes.count, b.nodes.count);
	for (size_t i = 0; i < a.nodes.count; i++)
		CHECK_EQ(tree_node(&a, i)->id, tree_node(&b, i)->id);
	CHECK(find(&c, NODE_SYSCALL, 3000)->id != find(&a, NODE_SYSCALL, 3000)->id);
	tree_free(&a);
	tree_free(&b);
	tree_free(&c);
	partial_free(p);
	partial_free(q);
}

/* Where the switch back to it was lost, a thread slept until it was woken; the rest is unknown. */
TEST(a_lost_switch_is_unknown_only_after_the_waking)
{
	struct partial *p = partial_new(&all);
	struct record_waking w = {.head = head(RECORD_waking, 4000), .context = WAKE_timer};
	const struct life *l;

	call(p, 2000, 100, 39, NULL);
	leaves(p, 3500, 500, 35);
	apply(p, &w);
	call(p, 5000, 2000, 35, &inner);
	partial_cover(p, 1900, 5000);
	CHECK_EQ(partial_finish(p), 0);
	l = p->lives.data[0];
	CHECK_EQ(l->total.ns[SPLIT_user], 1000);
	CHECK_EQ(l->total.ns[SPLIT_kernel], 600);
	CHECK_EQ(l->total.ns[SPLIT_timer], 500);
	CHECK_EQ(l->total.ns[SPLIT_unknown], 1000);
	CHECK_EQ(split_total(&l->total), 3100);
	CHECK_EQ(p->calls.list.data[0].split.ns[SPLIT_unknown], 1000);
	partial_free(p);
}

/*
 * A sleep from 3500 to 4500, and its split: whether its bounds are soft. Behind it ends a call of
 * that length, at 5000.
 */
static bool is_soft(struct partial *p, u8 context, u64 call_ns, struct split *split)
{
	struct record_waking w = {.head = head(RECORD_waking, 4000), .context = context};
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *wait;
	struct tree tree;
	bool soft;

	apply(p, &w);
	enters(p, 4500);
	call(p, 5000, call_ns, 232, NULL);
	partial_cover(p, 1900, 5000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	wait = find(&tree, NODE_WAIT, 3500);
	CHECK(wait && wait->end_ns == 4500);
	CHECK_EQ(wait->begin_soft, wait->end_soft);
	soft = wait->begin_soft;
	*split = node_split(p, &tree, wait);
	tree_free(&tree);
	partial_free(p);
	return soft;
}

/* Records were lost while it slept, and the call in which it wakes is another. */
TEST(what_may_have_been_several_waits_has_no_hard_bounds)
{
	struct record_lost lost = {.head = {.kind = RECORD_lost, .time_ns = 3800},
				   .why = LOST_buffer,
				   .lost_kind = RECORD_switch,
				   .count = 1,
				   .begin_ns = 3700};
	struct partial *p = partial_new(&all);
	struct split split;

	call(p, 2000, 100, 39, NULL);
	leaves(p, 3500, 500, 35);
	apply(p, &lost);
	CHECK(is_soft(p, WAKE_timer, 1100, &split));
	CHECK_EQ(split.ns[SPLIT_timer], 200);
	CHECK_EQ(split.ns[SPLIT_unknown], 300);
	CHECK_EQ(split.ns[SPLIT_runnable], 500);
}

/* What woke it is not known, but when it slept is. */
TEST(a_wait_of_unknown_cause_has_hard_bounds)
{
	struct partial *p = partial_new(&all);
	struct split split;

	call(p, 2000, 100, 39, NULL);
	leaves(p, 3500, 500, 232);
	CHECK(!is_soft(p, WAKE_unknown, 2000, &split));
	CHECK_EQ(split.ns[SPLIT_unknown], 500);
}

static void call_ends(struct partial *p, u64 begin_ns, u64 end_ns, u16 nr, s64 result)
{
	struct record_syscall r = {.head = head(RECORD_syscall, end_ns),
				   .nr = nr,
				   .duration_ns = end_ns - begin_ns,
				   .arg0 = nr == SYSCALL_NR_read ? 7 : 0,
				   .result = result};

	apply(p, &r);
}

/*
 * A read [1000, 2000), behind which a handler runs that makes a getpid [2300, 2400) and returns
 * [2600, 2700); the read begins again [2800, 4000), asleep [3000, 3500).
 */
static struct partial *read_again(s64 result)
{
	struct partial *p = partial_new(&all);

	call_ends(p, 500, 600, SYSCALL_NR_getpid, 5);
	call_ends(p, 1000, 2000, SYSCALL_NR_read, -512);
	call_ends(p, 2300, 2400, SYSCALL_NR_getpid, 5);
	call_ends(p, 2600, 2700, SYSCALL_NR_rt_sigreturn, 0);
	leaves(p, 3000, 200, SYSCALL_NR_read);
	enters(p, 3500);
	call_ends(p, 2800, 4000, SYSCALL_NR_read, result);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

TEST(a_call_that_begins_again_is_one_node)
{
	struct partial *p = read_again(1);
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *call, *handler, *wait, *before;
	struct split split;
	struct tree tree;

	CHECK_EQ(tree_build(p, &options, &tree), 0);
	call = find(&tree, NODE_SYSCALL, 1000);
	before = find(&tree, NODE_SYSCALL, 500);
	handler = find(&tree, NODE_SYSCALL, 2300);
	wait = find(&tree, NODE_WAIT, 3000);
	CHECK(call && before && handler && wait && !find(&tree, NODE_SYSCALL, 2800));
	CHECK(call->restarted && !call->end_soft);
	CHECK_EQ(call->end_ns, 4000);
	CHECK_EQ(handler->parent, call->id);
	CHECK_EQ(wait->parent, call->id);
	CHECK_EQ(before->parent, call->parent);
	split = node_split(p, &tree, call);
	CHECK_EQ(split.ns[SPLIT_user], 300 + 200 + 100);
	CHECK_EQ(split.ns[SPLIT_kernel], 1000 + 100 + 100 + 1200 - 500);
	CHECK_EQ(split_total(&split), 3000);
	tree_free(&tree);
	partial_free(p);
}

/* The handler does not return: it jumps, and the thread reads the same again later. */
TEST(a_call_that_does_not_begin_again)
{
	struct partial *p = partial_new(&all);
	struct tree_options options = {.boot = 42, .threads = true};
	const struct node *call;
	struct tree tree;

	call_ends(p, 1000, 2000, SYSCALL_NR_read, -512);
	call_ends(p, 2300, 2400, SYSCALL_NR_getpid, 5);
	call_ends(p, 2600, 2700, SYSCALL_NR_read, 1);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(tree_build(p, &options, &tree), 0);
	call = find(&tree, NODE_SYSCALL, 1000);
	CHECK(call && call->end_ns == 2000 && call->end_soft);
	CHECK(find(&tree, NODE_SYSCALL, 2600));
	tree_free(&tree);
	partial_free(p);
}

static const char *name_at(const struct partial *p, u32 pid, s32 fd, u64 time_ns,
			   struct file_ref file)
{
	const struct fd_question q = {
		.tid = pid, .pid = pid, .fd = fd, .time_ns = time_ns, .file = file};

	return query_fd_name(p, &q);
}

/* fd names come through opens, duplicates and forks, and never from another file. */
TEST(fd_names_are_those_of_the_moment)
{
	struct partial *p = partial_new(&all);
	struct record_fd open = {.head = head(RECORD_fd, 100),
				 .fd = 3,
				 .from = -1,
				 .op = FD_open,
				 .file = {.key = 11, .kind = FILE_KIND_regular},
				 .path_len = 4,
				 .path = "/one"};
	struct record_fd again = {.head = head(RECORD_fd, 300),
				  .fd = 3,
				  .from = -1,
				  .op = FD_open,
				  .file = {.key = 12, .kind = FILE_KIND_regular},
				  .path_len = 4,
				  .path = "/two"};
	struct record_fd dup = {.head = head(RECORD_fd, 350), .fd = 9, .from = 3, .op = FD_dup};
	struct record_fork fork = {
		.head = {.kind = RECORD_fork, .time_ns = 200, .tid = 6, .pid = 6},
		.parent_tid = 5,
		.parent_pid = 5};
	struct file_ref one = {.key = 11, .kind = FILE_KIND_regular},
			two = {.key = 12, .kind = FILE_KIND_regular},
			three = {.key = 13, .kind = FILE_KIND_regular};

	apply(p, &open);
	apply(p, &fork);
	apply(p, &again);
	apply(p, &dup);
	partial_cover(p, 50, 1000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_STR(name_at(p, 5, 3, 150, one), "/one");
	CHECK_STR(name_at(p, 5, 3, 400, two), "/two");
	CHECK_STR(name_at(p, 6, 3, 400, one), "/one");
	CHECK_STR(name_at(p, 5, 9, 400, two), "/two");
	CHECK(name_at(p, 5, 3, 400, three) == NULL);
	partial_free(p);
}

TEST_MAIN()
