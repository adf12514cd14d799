/* SPDX-License-Identifier: Apache-2.0 */
/* Whose an event is that fired in no span: numbers of threads are used again. */
#include "apply.h"
#include "map/fact/query.h"
#include "map/tree/tree.h"

enum what { BORN, DIES, EXECS, EVENT };

/* A record of thread `tid` of process `pid`; `more` is the number before an EXECS. */
struct told {
	u64 time_ns;
	enum what what;
	u32 tid, pid, more;
};

/*
 * 7 lives twice; the second time thread 8 of it runs a program, and takes its number. Of 20
 * nothing is known, and 0 is no thread.
 */
static const struct told story[] = {
	{1000, EVENT, 7, 7, 0}, /* as when the kernel makes it */
	{1100, BORN, 7, 7, 0},	 {1500, EVENT, 7, 7, 0}, {2000, DIES, 7, 7, 0},
	{2500, EVENT, 7, 7, 0}, /* as when the kernel frees it */
	{3000, EVENT, 20, 0, 0}, {3100, EVENT, 0, 0, 0}, {3500, EVENT, 20, 0, 0},
	{5000, BORN, 7, 7, 0},	 {5500, EVENT, 7, 7, 0}, {6000, BORN, 8, 7, 0},
	{6500, EVENT, 8, 7, 0},	 {6800, DIES, 7, 7, 0},	 {6900, EVENT, 7, 7, 0},
	{7000, EXECS, 7, 7, 8},	 {7500, EVENT, 7, 7, 0}, {7600, EVENT, 8, 7, 0},
};
#define STORY (sizeof(story) / sizeof(story[0]))

static void tell(struct partial *p, const struct told *t)
{
	struct record_head head = {.time_ns = t->time_ns, .tid = t->tid, .pid = t->pid};
	struct record_fork fork = {.head = head, .parent_tid = 5};
	struct record_exec exec = {.head = head, .old_tid = t->more};
	struct record_switch dies = {.head = head, .state = LEAVE_dead};
	struct record_event event = {.head = head, .format = 1, .payload_len = 4};

	fork.head.kind = RECORD_fork;
	exec.head.kind = RECORD_exec;
	dies.head.kind = RECORD_switch;
	event.head.kind = RECORD_event;
	apply(p, t->what == BORN    ? (const void *)&fork
		 : t->what == EXECS ? (const void *)&exec
		 : t->what == DIES  ? (const void *)&dies
				    : (const void *)&event);
}

/* When the piece that ends before a record does; the last one ends behind all. */
static u64 end_before(size_t record)
{
	return record < STORY ? story[record].time_ns : 9000;
}

/* Records [first, end), which lie in a chunk of their own. */
static struct partial *piece(size_t first, size_t end)
{
	static const struct partial_options all = {.spans = true};
	struct partial *p = partial_new(&all);

	for (size_t i = first; i < end; i++)
		tell(p, &story[i]);
	partial_cover(p, first ? end_before(first) : 500, end_before(end));
	return p;
}

/* "TID@BEGIN: TIMES OF EVENTS", a line for each thread that a tree shows. */
static const char *shown(const struct partial *p, const struct tree_options *options)
{
	static char text[1024];
	struct tree tree;
	size_t at = 0;

	CHECK_EQ(tree_build(p, options, &tree), 0);
	text[0] = '\0';
	for (size_t i = 0; i < tree.nodes.count; i++) {
		const struct node *n = tree_node(&tree, i);
		size_t count;
		const struct kevent *k;

		if (n->kind != NODE_THREAD)
			continue;
		k = query_thread_events(p, n->of, n->tid, &count);
		at += (size_t)sprintf(text + at, "%u@%llu:", n->tid,
				      (unsigned long long)n->begin_ns);
		for (size_t j = 0; j < count; j++)
			at += (size_t)sprintf(text + at, " %llu", (unsigned long long)k[j].time_ns);
		at += (size_t)sprintf(text + at, "\n");
	}
	tree_free(&tree);
	return text;
}

/* The events of all processes. */
static u64 counted(const struct sums *sums)
{
	u64 count = 0;

	for (size_t i = 0; i < sums->list.count; i++)
		count += sums->list.data[i].count;
	return count;
}

TEST(an_event_is_of_who_had_the_number_last)
{
	static const struct tree_options threads = {.threads = true};

	for (size_t cut = 0; cut <= STORY; cut++) {
		struct partial *p = piece(0, cut);

		CHECK_EQ(partial_merge(p, piece(cut, STORY)), 0);
		CHECK_EQ(partial_finish(p), 0);
		CHECK_STR(shown(p, &threads), "7@1100: 1000 1500 2500\n"
					      "20@3000: 3000 3500\n"
					      "7@5000: 5500 6900\n"
					      "7@6000: 6500 7500 7600\n");
		CHECK_EQ(counted(&p->events.counts), 11);
		partial_free(p);
	}
}

TEST(nothing_stands_in_for_a_thread_that_is_not_asked_for)
{
	struct partial *p = piece(0, STORY);
	size_t count;

	CHECK_EQ(partial_finish(p), 0);
	CHECK_STR(shown(p, &(struct tree_options){.threads = true, .tid = 8}), "");
	CHECK_STR(shown(p, &(struct tree_options){.threads = true, .tid = 20}),
		  "20@3000: 3000 3500\n");
	CHECK_STR(shown(p, &(struct tree_options){.tid = 20}), "");
	CHECK(!query_thread_events(p, 0, 0, &count));
	CHECK_EQ(count, 0);
	partial_free(p);
}

TEST_MAIN()
