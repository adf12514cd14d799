/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces of a tree are shown, and which of their spans. */
#include "answer/traces.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* The spans that a sink got: a letter for each, and a space behind each trace. */
static char shown_text[64];

static size_t left_out; /* of the last trace that was given */
static u64 left_out_ns;

static int trace_take(void *arg, const struct trace *trace)
{
	size_t at = strlen(shown_text);

	for (size_t i = 0; i < trace->spans_count; i++)
		shown_text[at++] = (char)('a' + trace->position(trace, i).id - 1);
	shown_text[at++] = ' ';
	shown_text[at] = '\0';
	left_out = trace->left_out;
	left_out_ns = trace->left_out_ns;
	return 0;
}

/*
 * Trace 1: a (process 10), under it b (process 20) with the call c. Trace 2: d
 * (process 10, thread 11), which was inherited by process 30 for its call e.
 * Trace 3: f and g of process 10. Thread 20 under no span: h with the call i.
 */
static char names[][8] = {"GET a", "b", "GET d", "f", "g"};
static struct app_span apps[] = {{.name = names[0]},
				 {.name = names[1]},
				 {.name = names[2]},
				 {.name = names[3]},
				 {.name = names[4]}};

#define NODE(trace, id, up, what, ...)                                                             \
	{                                                                                          \
		{trace}, id, up, .kind = what, __VA_ARGS__                                         \
	}

static struct node nodes[] = {
	NODE(1, 1, 0, NODE_APP, .pid = 10, .tid = 10, .begin_ns = 0, .end_ns = 100, .of = 1),
	NODE(1, 2, 1, NODE_APP, .pid = 20, .tid = 20, .begin_ns = 10, .end_ns = 90, .of = 2),
	NODE(1, 3, 2, NODE_SYSCALL, .pid = 20, .tid = 20, .begin_ns = 20, .end_ns = 30),
	NODE(2, 4, 0, NODE_APP, .pid = 10, .tid = 11, .begin_ns = 0, .end_ns = 300, .of = 3),
	NODE(2, 5, 4, NODE_SYSCALL, .pid = 30, .tid = 30, .begin_ns = 20, .end_ns = 30),
	NODE(3, 6, 0, NODE_APP, .pid = 10, .tid = 10, .begin_ns = 0, .end_ns = 200, .of = 4),
	NODE(3, 7, 6, NODE_CONTEXT, .pid = 10, .tid = 10, .begin_ns = 0, .end_ns = 20, .of = 5),
	NODE(0, 8, 0, NODE_THREAD, .pid = 20, .tid = 20, .begin_ns = 0, .end_ns = 900),
	NODE(0, 9, 8, NODE_SYSCALL, .pid = 20, .tid = 20, .begin_ns = 0, .end_ns = 9),
};

/* The tree leaves out spans of the kernel that were not asked for, and threads where a trace was.
 */
static struct tree tree_of(const struct trace_choice *c, bool threads)
{
	struct tree tree = {0};

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		const struct node *n = &nodes[i];
		const struct filter *f = &c->filter;
		bool wanted = (!f->pids_count || n->pid == f->pids[0]) &&
			      (!f->tid || n->tid == f->tid);

		if ((n->of || wanted) && (n->trace[0] || threads))
			CHECK_EQ(vec_push(&tree.nodes, *n), 0);
	}
	tree.order = calloc(tree.nodes.count, sizeof(*tree.order));
	for (u32 i = 0; i < tree.nodes.count; i++)
		tree.order[i] = i;
	return tree;
}

static const char *shown_of(struct trace_choice choice, bool threads)
{
	static const struct partial_options none;
	struct partial *p = partial_new(&none);
	struct tree tree = tree_of(&choice, threads);
	const struct trace_sink to = {trace_take, NULL};
	size_t written = 0, spaces = 0;

	shown_text[0] = '\0';
	for (size_t i = 0; i < sizeof(apps) / sizeof(apps[0]); i++)
		CHECK_EQ(vec_push(&p->spans, &apps[i]), 0);
	CHECK_EQ(trace_build(&(struct forest){.p = p, .tree = &tree}, &choice, &to, &written), 0);
	for (const char *at = shown_text; *at; at++)
		spaces += *at == ' ';
	CHECK_EQ(written, spaces);
	tree_free(&tree);
	p->spans.count = 0; /* they are not its own */
	partial_free(p);
	return shown_text;
}

#define SHOWN(threads, ...) shown_of((struct trace_choice){__VA_ARGS__}, threads)

TEST(all)
{
	CHECK_STR(SHOWN(true, .slowest = 0), "abc de fg hi ");
	CHECK_STR(SHOWN(false, .slowest = 9), "de fg abc ");
	CHECK_STR(SHOWN(false, .slowest = 1), "de ");
}

TEST(of_one_process_also_the_spans_of_applications)
{
	CHECK_STR(SHOWN(true, .filter.pids = (u32[]){20}, .filter.pids_count = 1), "bc hi ");
	CHECK_STR(SHOWN(true, .filter.pids = (u32[]){10}, .filter.pids_count = 1), "a d fg ");
	CHECK_STR(SHOWN(true, .filter.pids = (u32[]){30}, .filter.pids_count = 1), "e ");
	CHECK_STR(SHOWN(true, .filter.pids = (u32[]){40}, .filter.pids_count = 1), "");
	CHECK_STR(SHOWN(true, .filter.tid = 11), "d ");
	CHECK_STR(SHOWN(true, .filter.tid = 10), "a fg ");
	CHECK_STR(SHOWN(true, .filter.tid = 10, .filter.pids = (u32[]){20}, .filter.pids_count = 1),
		  "");
}

TEST(the_slowest_of_one_process)
{
	CHECK_STR(SHOWN(false, .filter.pids = (u32[]){20}, .filter.pids_count = 1, .slowest = 2),
		  "bc ");
	CHECK_STR(SHOWN(false, .filter.pids = (u32[]){10}, .filter.pids_count = 1, .slowest = 2),
		  "d fg ");
	CHECK_STR(SHOWN(false, .filter.pids = (u32[]){30}, .filter.pids_count = 1, .slowest = 2),
		  "e ");
}

TEST(by_name_and_the_slowest_of_these)
{
	CHECK_STR(SHOWN(false, .name = "GET *"), "abc de ");
	CHECK_STR(SHOWN(false, .name = "GET *", .slowest = 1), "de ");
	CHECK_STR(SHOWN(false, .name = "GET *", .slowest = 1, .filter.pids = (u32[]){20},
			.filter.pids_count = 1),
		  "bc ");
	CHECK_STR(SHOWN(false, .name = "b", .slowest = 3, .filter.pids = (u32[]){10},
			.filter.pids_count = 1),
		  "a ");
	CHECK_STR(SHOWN(false, .name = "b", .slowest = 3, .filter.pids = (u32[]){30},
			.filter.pids_count = 1),
		  "");
	CHECK_STR(SHOWN(false, .service = "none"), "");
	CHECK_STR(SHOWN(false, .trace_id = "03000000000000000000000000000000"), "fg ");
	CHECK_STR(SHOWN(false, .trace_id = "03000000000000000000000000000000",
			.filter.pids = (u32[]){20}, .filter.pids_count = 1),
		  "");
}

TEST(short_spans_are_left_out)
{
	CHECK_STR(SHOWN(true, .min_ns = 50), "ab d f h ");
	CHECK_EQ(left_out, 1); /* the call of the thread */
	CHECK_EQ(left_out_ns, 9);
	CHECK_STR(SHOWN(false, .min_ns = 250), "d ");
	CHECK_EQ(left_out_ns, 10);
	CHECK_STR(SHOWN(true, .min_ns = 1000), "");
	CHECK_STR(SHOWN(false, .limit = 1), "abc ");
}

TEST_MAIN()
