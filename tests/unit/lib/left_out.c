/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that the level leaves out: what is active in their place, and what they hand on. */
#include "unit/lib/active.h"

#include <pthread.h>

static struct listener l;

TEST(a_span_that_the_level_leaves_out)
{
	struct fathom_span_options detail = {.name = "detail", .level = FATHOM_DEBUG};
	struct fathom_span parent = fathom_span_begin("parent"), s = fathom_span_open(&detail);

	fathom_span_attach(&s);
	fathom_span_end(&s);
	CHECK(same_span(fathom_span_current(), &parent));
	fathom_span_end(&parent);
	CHECK_EQ(fathom_span_current().state, 0);
}

/* Its ids are those of its parent, whose place it must not give away. */
TEST(one_left_out_is_detached_and_its_parent_not)
{
	struct fathom_span_options detail = {.name = "detail", .level = FATHOM_DEBUG};
	struct fathom_span parent = fathom_span_begin("parent"), s = fathom_span_open(&detail);

	fathom_span_detach(&s);
	CHECK(same_span(fathom_span_current(), &parent));
	fathom_span_attach(&s);
	fathom_span_detach(&s);
	fathom_span_detach(&s);
	CHECK(same_span(fathom_span_current(), &parent));
	fathom_span_attach(&s);
	fathom_span_detach(&parent); /* below the other */
	CHECK(same_span(fathom_span_current(), &parent));
	fathom_span_end(&s);
	CHECK_EQ(fathom_span_current().state, 0);
	fathom_span_attach(&parent);
	fathom_span_detach(&s);
	CHECK(same_span(fathom_span_current(), &parent));
	fathom_span_end(&parent);
	CHECK_EQ(fathom_span_current().state, 0);
}

/* Whoever its parent is: what begins below it belongs to that, and goes by its decision. */
static void left_out_stands_for(struct fathom_span_options options, const u8 *trace, u8 flags)
{
	struct fathom_span active = fathom_span_begin("active"), s, child;
	struct fathom_span_options aside = options;

	options.level = aside.level = FATHOM_DEBUG;
	aside.inactive = true;
	s = fathom_span_open(&options);
	child = fathom_span_begin("child");
	CHECK_MEM(child.trace_id, trace, 16);
	CHECK_MEM(child.parent_id, s.span_id, 8);
	CHECK_EQ(child.flags & FATHOM_SAMPLED, flags & FATHOM_SAMPLED);
	fathom_span_end(&child);
	fathom_span_end(&s);
	CHECK(same_span(fathom_span_current(), &active));
	s = fathom_span_open(&options);
	fathom_span_detach(&s);
	CHECK(same_span(fathom_span_current(), &active));
	fathom_span_attach(&s);
	CHECK(!same_span(fathom_span_current(), &active));
	fathom_span_attach(&s);
	fathom_span_end(&s);
	CHECK(same_span(fathom_span_current(), &active));
	s = fathom_span_open(&options);
	end_elsewhere(&s);
	CHECK(same_span(fathom_span_current(), &active));
	s = fathom_span_open(&aside);
	CHECK(same_span(fathom_span_current(), &active));
	fathom_span_end(&s);
	CHECK(same_span(fathom_span_current(), &active));
	fathom_span_end(&active);
	CHECK_EQ(fathom_span_current().state, 0);
}

TEST(one_left_out_stands_for_its_parent)
{
	static const char unsampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
	struct fathom_span_options aside = {.name = "parent", .inactive = true};
	struct fathom_span_options of_remote = {.name = "detail"}, of_span = {.name = "detail"};
	struct fathom_span parent = fathom_span_open(&aside);
	struct fathom_context remote;

	CHECK_EQ(fathom_extract_traceparent(unsampled, &remote), 0);
	of_remote.remote = &remote;
	of_span.parent = &parent;
	left_out_stands_for(of_remote, remote.trace_id, 0);
	left_out_stands_for(of_span, parent.trace_id, FATHOM_SAMPLED);
	fathom_span_end(&parent);
}

/* Two of one parent, each with a frame or without one: the end of one is not that of the other. */
TEST(others_left_out_of_the_same_parent_stay)
{
	struct fathom_span_options aside = {.name = "parent", .inactive = true};
	struct fathom_span parent = fathom_span_open(&aside), active, one, other;
	struct fathom_span_options detail = {.level = FATHOM_DEBUG, .parent = &parent};
	bool inactive = true;

	active = fathom_span_begin("active");
	for (int i = 0; i < 2; i++, inactive = !inactive) {
		detail.inactive = inactive;
		one = fathom_span_open(&detail);
		fathom_span_detach(&one); /* of where it began, which is free for others then */
		other = fathom_span_open(&detail);
		if (inactive)
			fathom_span_attach(&other);
		CHECK(same_span(fathom_span_current(), &parent));
		fathom_span_detach(&one);
		CHECK(same_span(fathom_span_current(), &parent));
		if (i)
			end_elsewhere(&one);
		else
			fathom_span_end(&one);
		CHECK(same_span(fathom_span_current(), &parent));
		fathom_span_end(&other);
		CHECK(same_span(fathom_span_current(), &active));
	}
	fathom_span_end(&active);
	fathom_span_end(&parent);
	CHECK_EQ(fathom_span_current().state, 0);
}

/* Its own number is nobody's parent. */
TEST(one_left_out_has_no_parent_to_tell)
{
	static const u8 none[8];
	struct fathom_span_options detail = {.name = "detail", .level = FATHOM_DEBUG};
	struct fathom_span parent = fathom_span_begin("parent"), s = fathom_span_open(&detail);
	struct fathom_context c = fathom_span_context(&s);

	CHECK_MEM(c.parent_id, none, 8);
	fathom_span_attach(&s);
	CHECK_MEM(fathom_span_current().parent_id, none, 8);
	fathom_span_end(&s);
	c = fathom_span_context(&s);
	CHECK_MEM(c.parent_id, none, 8);
	fathom_span_end(&parent);
}

static bool is_root(const struct fathom_span *s)
{
	static const u8 none[8];

	return s->trace_id[0] | s->trace_id[15] && memcmp(s->parent_id, none, 8) == 0;
}

static const struct fathom_span_options root_left_out = {.level = FATHOM_DEBUG, .root = true};

TEST(what_begins_below_a_root_left_out_is_a_root)
{
	struct fathom_span active = fathom_span_begin("active"), below[4], child;
	struct fathom_span root = fathom_span_open(&root_left_out);
	struct fathom_context c = fathom_span_context(&root);

	CHECK_EQ(fathom_span_current().state, 0);
	below[0] = fathom_span_begin("by being active");
	fathom_span_end(&below[0]);
	below[1] = fathom_span_child(&root, "named");
	fathom_span_end(&below[1]);
	below[2] = fathom_span_remote(&c, "by its context");
	fathom_span_end(&below[2]);
	fathom_span_end(&root);
	below[3] = fathom_span_child(&root, "after its end");
	fathom_span_end(&below[3]);
	for (int i = 0; i < 4; i++)
		CHECK(is_root(&below[i]) && below[i].flags & FATHOM_SAMPLED);
	CHECK(same_span(fathom_span_current(), &active));
	child = fathom_span_begin("child");
	CHECK_MEM(child.parent_id, active.span_id, 8);
	fathom_span_end(&child);
	fathom_span_end(&active);
	CHECK_EQ(fathom_span_current().state, 0);
}

/* With "1/2" every other root is sampled. */
TEST(a_root_left_out_takes_no_place_of_those_that_are_not)
{
	struct fathom_span left_out, root;
	int sampled = 0;

	CHECK_EQ(fathom_sampling_set("1/2"), 0);
	for (int i = 0; i < 20; i++) {
		left_out = fathom_span_open(&root_left_out);
		fathom_span_end(&left_out);
		root = fathom_span_begin("root");
		sampled += root.flags & FATHOM_SAMPLED ? 1 : 0;
		fathom_span_end(&root);
	}
	CHECK_EQ(fathom_sampling_set("always"), 0);
	CHECK_EQ(sampled, 10);
}

/* Outside observers see that nothing is active then. */
TEST(a_root_left_out_is_told)
{
	struct fathom_span_options left_out = {.level = FATHOM_DEBUG, .root = true};
	struct fathom_span active, root, trace, inner;
	static const u8 none[28];

	listener_start(&l);
	active = fathom_span_begin("active");
	root = fathom_span_open(&left_out);
	CHECK(otel_thread_ctx_v1 != NULL);
	CHECK_MEM(otel_thread_ctx_v1, none, 24);
	CHECK_EQ(((u8 *)otel_thread_ctx_v1)[25], 0);
	trace = fathom_span_begin("trace");
	inner = fathom_span_open(&(struct fathom_span_options){.level = FATHOM_DEBUG});
	fathom_span_end(&inner);
	fathom_span_end(&trace);
	inner = fathom_span_open(&(struct fathom_span_options){.level = FATHOM_DEBUG});
	fathom_span_end(&inner);
	fathom_span_end(&root);
	CHECK(same_span(fathom_span_current(), &active));
	fathom_span_end(&active);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 2);
	CHECK_EQ(listener_count(&l, RECORD_span_detach), 1);
	CHECK_EQ(listener_count(&l, RECORD_span_attach), 1);
	CHECK_MEM(listener_nth(&l, RECORD_span_attach, 0)->attach.ctx.span,
		  listener_nth(&l, RECORD_span_begin, 0)->begin.ctx.span, 8);
	CHECK_MEM(listener_nth(&l, RECORD_span_end, 0)->end.next.span, none, 8);
}

/* Nobody has decided yet: what is left out does it, for all that follow it. */
TEST(a_deferred_decision_is_made_once)
{
	struct fathom_context c = {.flags = FATHOM_DEFERRED}, on;
	struct fathom_span_options detail = {.name = "detail", .level = FATHOM_DEBUG, .remote = &c};
	struct fathom_span s, child;

	memset(c.trace_id, 1, sizeof(c.trace_id));
	memset(c.span_id, 2, sizeof(c.span_id));
	s = fathom_span_open(&detail);
	on = fathom_span_context(&s);
	CHECK_EQ(on.flags, FATHOM_SAMPLED);
	child = fathom_span_child(&s, "child");
	CHECK(child.flags & FATHOM_SAMPLED);
	fathom_span_end(&child);
	fathom_span_end(&s);
	CHECK_EQ(fathom_sampling_set("1/2"), 0);
	for (int i = 0; i < 20; i++) {
		s = fathom_span_open(&detail);
		child = fathom_span_child(&s, "child");
		CHECK_EQ(child.flags & FATHOM_SAMPLED, s.flags & FATHOM_SAMPLED);
		fathom_span_end(&child);
		child = fathom_span_begin("child");
		CHECK_EQ(child.flags & FATHOM_SAMPLED, s.flags & FATHOM_SAMPLED);
		fathom_span_end(&child);
		fathom_span_end(&s);
	}
	CHECK_EQ(fathom_sampling_set("always"), 0);
	c = (struct fathom_context){0};
	CHECK_EQ(fathom_extract_b3("0", &c), 0);
	s = fathom_span_open(&detail);
	child = fathom_span_child(&s, "child");
	CHECK(!(child.flags & FATHOM_SAMPLED));
	fathom_span_end(&child);
}

TEST_MAIN()
