/* SPDX-License-Identifier: Apache-2.0 */
/* The records of spans: parents, attributes, events, levels and sampling. */
#include "unit/lib/listener.h"

#include <sys/syscall.h>

static struct listener l;

static bool is_context(const struct context *c, const struct fathom_span *s)
{
	return memcmp(c->trace, s->trace_id, 16) == 0 && memcmp(c->span, s->span_id, 8) == 0;
}

static bool is_text(const char *text, u16 length, const char *should)
{
	return length == strlen(should) && memcmp(text, should, length) == 0;
}

TEST(nobody_listens_nothing_is_written)
{
	struct fathom_span s;
	u64 head;

	listener_start(&l);
	listener_stop(&l);
	head = l.ring->lane[0].control.head;
	s = fathom_span_begin("quiet");
	fathom_span_integer(&s, "a", 1);
	fathom_span_event(&s, FATHOM_ERROR, "e");
	CHECK(!fathom_listening());
	CHECK(!fathom_span_recorded(&s));
	fathom_span_end(&s);
	CHECK_EQ(l.ring->lane[0].control.head, head);
}

TEST(a_root_and_its_child)
{
	struct fathom_span root, child, root_was, child_was;
	struct record_kept *r;

	listener_start(&l);
	root_was = root = fathom_span_begin("root");
	child_was = child = fathom_span_begin("child");
	fathom_span_status(&child, FATHOM_FAILED);
	fathom_span_end(&child);
	fathom_span_end_status(&root, FATHOM_OK, "all well");
	fathom_span_end(&root); /* again: nothing */
	listener_stop(&l);

	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(l.count, 5);
	CHECK_EQ(l.kept[0].head.kind, RECORD_service);
	r = listener_nth(&l, RECORD_span_begin, 0);
	CHECK_EQ(r->head.tid, syscall(SYS_gettid));
	CHECK_EQ(r->head.pid, getpid());
	CHECK_EQ(r->head.cpu, 0xffff);
	CHECK_EQ(r->head.slots, 2);
	CHECK_EQ(r->begin.level, FATHOM_INFO);
	CHECK_EQ(r->begin.flags, 1);
	CHECK_EQ(r->begin.parent, 0);
	CHECK(is_context(&r->begin.ctx, &root_was));
	CHECK(is_text(r->begin.name, r->begin.name_len, "root"));
	r = listener_nth(&l, RECORD_span_begin, 1);
	CHECK_MEM(&r->begin.parent, root_was.span_id, 8);
	CHECK_MEM(child_was.trace_id, root_was.trace_id, 16);
	CHECK(is_context(&r->begin.ctx, &child_was));
	r = listener_nth(&l, RECORD_span_end, 0);
	CHECK_EQ(r->end.flags, 1);
	CHECK_EQ(r->end.status, 2);
	CHECK(is_context(&r->end.ctx, &child_was));
	CHECK(is_context(&r->end.next, &root_was));
	CHECK_EQ(r->end.message_len, 0);
	r = listener_nth(&l, RECORD_span_end, 1);
	CHECK(is_text(r->end.message, r->end.message_len, "all well"));
	CHECK_EQ(r->end.status, 1);
	CHECK_EQ(r->end.next.span[0] | r->end.next.span[7], 0);
	for (u32 i = 1; i < l.count; i++)
		CHECK(l.kept[i].head.time_ns >= l.kept[i - 1].head.time_ns);
}

TEST(an_end_with_nothing_below_is_one_slot)
{
	struct fathom_span s;
	struct record_kept *r;

	listener_start(&l);
	s = fathom_span_begin("root");
	fathom_span_end(&s);
	listener_stop(&l);
	r = listener_nth(&l, RECORD_span_end, 0);
	CHECK_EQ(r->head.slots, 1);
	for (size_t i = 0; i < 24; i++)
		CHECK_EQ(((u8 *)&r->end.next)[i], 0);
}

TEST(attributes_of_every_type_and_length)
{
	char key[11] = "0123456789", value[1300];
	struct fathom_span s;
	u32 n = 0;

	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	listener_start(&l);
	s = fathom_span_begin("root");
	fathom_span_integer(&s, "i", -5);
	fathom_span_real(&s, "r", 2.5);
	fathom_span_boolean(&s, "b", true);
	for (size_t length = 1; length < sizeof(value); length += 61) {
		struct fathom_attribute a = {
			.key = key, .type = FATHOM_STRING, .bytes = length, .value.string = value};

		fathom_span_attributes(&s, &a, 1);
		n++;
	}
	fathom_span_end(&s);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(listener_count(&l, RECORD_span_attribute), 3 + n);
	CHECK_EQ((s64)listener_nth(&l, RECORD_span_attribute, 0)->attribute.value, -5);
	CHECK_EQ(listener_nth(&l, RECORD_span_attribute, 1)->attribute.value, 0x4004000000000000);
	CHECK_EQ(listener_nth(&l, RECORD_span_attribute, 2)->attribute.value, 1);
	for (u32 i = 0; i < n; i++) {
		struct record_span_attribute *a =
			&listener_nth(&l, RECORD_span_attribute, 3 + i)->attribute;
		size_t length = 1 + i * 61;

		CHECK_EQ(a->type, ATTRIBUTE_string);
		CHECK_EQ(a->key_len, 10);
		CHECK_EQ(a->text_len, length + 10 < 1024 ? length + 10 : 1024);
		CHECK_MEM(a->text, key, 10);
		CHECK_MEM(a->text + 10, value, a->text_len - 10u);
	}
}

TEST(events_with_attributes_and_endpoints)
{
	struct fathom_attribute a = {.key = "k", .type = FATHOM_INTEGER, .value.integer = 7};
	struct fathom_endpoint here = {"me", "192.0.2.1", 80}, there = {"you", NULL, 443};
	struct fathom_event event = {.name = "retry",
				     .level = FATHOM_WARNING,
				     .attributes = &a,
				     .count = 1,
				     .endpoint = &here};
	struct fathom_span s;

	listener_start(&l);
	s = fathom_span_begin("root");
	fathom_span_peer(&s, &there);
	fathom_span_tell(&s, &event);
	fathom_span_end(&s);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_event), 1);
	CHECK_EQ(listener_nth(&l, RECORD_span_event, 0)->event.level, FATHOM_WARNING);
	CHECK_EQ(listener_count(&l, RECORD_span_attribute), 2 + 4);
	for (u32 i = 0; i < 6; i++)
		CHECK_EQ(listener_nth(&l, RECORD_span_attribute, i)->attribute.of_event, i >= 2);
	CHECK_MEM(listener_nth(&l, RECORD_span_attribute, 4)->attribute.text,
		  "network.local.address192.0.2.1", 30);
}

TEST(the_level_leaves_out_events_and_spans)
{
	struct fathom_span root, left_out, child;

	listener_start(&l);
	root = fathom_span_begin("root");
	left_out = fathom_span_open(
		&(struct fathom_span_options){.name = "detail", .level = FATHOM_DEBUG});
	child = fathom_span_child(&left_out, "child");
	fathom_span_event(&root, FATHOM_DEBUG, "no");
	fathom_level_set(FATHOM_DEBUG);
	CHECK_EQ(fathom_level_get(), FATHOM_DEBUG);
	fathom_span_event(&root, FATHOM_DEBUG, "yes");
	fathom_level_set(FATHOM_INFO);
	fathom_level_set(8);
	CHECK_EQ(fathom_level_get(), FATHOM_INFO);
	CHECK_MEM(child.parent_id, root.span_id, 8);
	fathom_span_end(&child);
	fathom_span_end(&left_out);
	fathom_span_end(&root);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 2);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 2);
	CHECK_EQ(listener_count(&l, RECORD_span_event), 1);
	CHECK_EQ(fathom_level_parse("err"), FATHOM_ERROR);
	CHECK(fathom_level_parse("loud") < 0);
}

TEST(spans_that_end_out_of_order)
{
	struct fathom_span a, b, c;

	listener_start(&l);
	for (int i = 0; i < 200; i++) { /* more often than frames that could leak */
		a = fathom_span_begin("a");
		b = fathom_span_begin("b");
		c = fathom_span_begin("c");
		fathom_span_end(&a);
		fathom_span_end(&b);
		CHECK_MEM(fathom_span_current().span_id, c.span_id, 8);
		fathom_span_end(&c);
		CHECK_EQ(fathom_span_current().state, 0);
		listener_drain(&l);
	}
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 600);
	/* the one on top stays active */
	CHECK_EQ(listener_nth(&l, RECORD_span_end, 597)->end.flags, 1);
	CHECK_MEM(listener_nth(&l, RECORD_span_end, 597)->end.next.span, c.span_id, 8);
	CHECK_EQ(listener_nth(&l, RECORD_span_end, 599)->end.flags, 1);
	CHECK(listener_nth(&l, RECORD_span_end, 599)->end.next.span[0] == 0);
}

TEST(deeper_than_there_is_room)
{
	struct fathom_span s[100];

	listener_start(&l);
	for (int i = 0; i < 100; i++)
		s[i] = fathom_span_begin("deep");
	CHECK_MEM(fathom_span_current().span_id, s[63].span_id, 8);
	CHECK_MEM(s[99].parent_id, s[63].span_id, 8);
	for (int i = 99; i >= 0; i--)
		fathom_span_end(&s[i]);
	listener_stop(&l);
	CHECK_EQ(fathom_span_current().state, 0);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 63)->begin.flags, 1);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 64)->begin.flags, SPAN_TOO_DEEP);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 100);
}

TEST(attach_and_detach)
{
	struct fathom_span s, other;

	listener_start(&l);
	s = fathom_span_open(&(struct fathom_span_options){
		.name = "queued", .level = FATHOM_INFO, .inactive = true});
	CHECK_EQ(fathom_span_current().state, 0);
	other = fathom_span_begin("other");
	fathom_span_attach(&s);
	CHECK_MEM(fathom_span_current().span_id, s.span_id, 8);
	fathom_span_detach(&s);
	CHECK_MEM(fathom_span_current().span_id, other.span_id, 8);
	fathom_span_detach(&other);
	CHECK_EQ(fathom_span_current().state, 0);
	fathom_span_end(&other);
	fathom_span_end(&s);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_attach), 2);
	CHECK_EQ(listener_count(&l, RECORD_span_detach), 1);
	CHECK_EQ(listener_nth(&l, RECORD_span_end, 0)->end.flags, 0);
}

TEST(one_in_n_is_exact)
{
	u32 sampled = 0;

	CHECK_EQ(fathom_sampling_set("1/10"), 0);
	listener_start(&l);
	for (int i = 0; i < 500; i++) {
		struct fathom_span s = fathom_span_begin("root"),
				   child = fathom_span_begin("child");

		CHECK_EQ(s.flags & FATHOM_SAMPLED, child.flags & FATHOM_SAMPLED);
		sampled += s.flags & FATHOM_SAMPLED;
		fathom_span_end(&child);
		fathom_span_end(&s);
	}
	listener_stop(&l);
	CHECK_EQ(fathom_sampling_set("always"), 0);
	CHECK_EQ(sampled, 50);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 100);
	CHECK_EQ(listener_count(&l, RECORD_span_attach), 0);
}

/* A change of the sampling takes effect at once, without the rest of the old interval. */
TEST(a_new_one_in_n_holds_at_once)
{
	u32 sampled = 0;

	CHECK_EQ(fathom_sampling_set("1/4000000000"), 0);
	listener_start(&l);
	for (int i = 0; i < 101; i++) {
		struct fathom_span s = fathom_span_begin("root");

		if (i == 0)
			CHECK_EQ(fathom_sampling_set("1/2"), 0);
		else
			sampled += s.flags & FATHOM_SAMPLED;
		fathom_span_end(&s);
	}
	listener_stop(&l);
	CHECK_EQ(fathom_sampling_set("always"), 0);
	CHECK_EQ(sampled, 50);
}

/* Also where idle time lies before: it is not made up for. */
TEST(at_most_n_per_second)
{
	u64 begin = listener_now();
	u32 sampled = 0;

	CHECK_EQ(fathom_sampling_set("20/s"), 0);
	usleep(400000);
	while (listener_now() - begin < 1400000000) {
		struct fathom_span s = fathom_span_begin("root");

		sampled += s.flags & FATHOM_SAMPLED;
		fathom_span_end(&s);
	}
	CHECK_EQ(fathom_sampling_set("always"), 0);
	CHECK(sampled >= 1);
	CHECK(sampled <= 20);
	CHECK(fathom_sampling_set("0/s") < 0);
	CHECK(fathom_sampling_set("1/") < 0);
	CHECK(fathom_sampling_set("4294967296/s") < 0);
}

TEST(what_does_not_fit_is_counted)
{
	u64 lost;
	u32 begun = 0;

	listener_start(&l);
	lost = app_ring_lost(l.ring);
	for (int i = 0; i < 3000; i++) {
		struct fathom_span s = fathom_span_begin("burst");

		fathom_span_end(&s);
		begun += 2;
	}
	listener_stop(&l);
	lost = app_ring_lost(l.ring) - lost;
	CHECK(lost > 0);
	CHECK_EQ(l.count - 1 + lost, begun);
	CHECK_EQ(l.damaged, 0);
}

TEST(a_listener_that_died_is_not_waited_for)
{
	u64 lost;

	listener_start(&l);
	lost = app_ring_lost(l.ring);
	app_ring_listen(l.ring, l.session, listener_now() - 1);
	for (int i = 0; i < 3000; i++) {
		struct fathom_span s = fathom_span_begin("burst");

		fathom_span_end(&s);
	}
	CHECK_EQ(l.ring->listening, 0);
	CHECK_EQ(app_ring_lost(l.ring), lost);
	listener_drain(&l);
}

TEST(the_service_is_told_to_each_listener)
{
	struct record_kept *r;
	struct fathom_span s;

	CHECK_EQ(fathom_init("shop"), 0);
	CHECK_EQ(fathom_resource_set("service.version", "1.2"), 0);
	CHECK(fathom_resource_set("", "x") < 0);
	listener_start(&l);
	s = fathom_span_begin("root");
	fathom_span_end(&s);
	CHECK_EQ(fathom_init("shop-2"), 0);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_service), 2);
	r = listener_nth(&l, RECORD_service, 0);
	CHECK_STR(r->service.resource, "service.name");
	CHECK_STR(r->service.resource + 13, "shop");
	r = listener_nth(&l, RECORD_service, 1);
	CHECK_STR(r->service.resource + 13, "shop-2");
	CHECK(memmem(r->service.resource, r->service.resource_len, "service.version\0001.2\0", 20));
}

TEST(contexts_from_elsewhere)
{
	struct fathom_context c = {0};
	struct fathom_span s;

	listener_start(&l);
	CHECK_EQ(fathom_extract_traceparent(
			 "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", &c),
		 0);
	s = fathom_span_remote(&c, "GET");
	CHECK_MEM(s.trace_id, c.trace_id, 16);
	CHECK_MEM(s.parent_id, c.span_id, 8);
	CHECK(s.flags & FATHOM_SAMPLED);
	fathom_span_end(&s);
	CHECK_EQ(fathom_extract_b3("0", &c), 0);
	s = fathom_span_remote(&c, "GET");
	CHECK(!(s.flags & FATHOM_SAMPLED));
	fathom_span_end(&s);
	memset(&c, 0, sizeof(c));
	s = fathom_span_remote(&c, "GET");
	CHECK(s.flags & FATHOM_SAMPLED);
	fathom_span_end(&s);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 2);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 0)->begin.flags, 3);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 0)->begin.span_kind, FATHOM_SERVER);
}

/* ---- what does not fit into a record ---- */

static u32 whole_and_cut(struct listener *l, u8 kind)
{
	const struct record_kept *whole = listener_nth(l, kind, 0);
	const struct record_kept *cut = listener_nth(l, kind, 1);

	return whole && cut && whole->head.cpu == APP_RECORD_WHOLE &&
	       cut->head.cpu == (APP_RECORD_WHOLE ^ APP_RECORD_CUT) && listener_count(l, kind) == 2;
}

TEST(what_is_cut_is_marked)
{
	static char text[1100];
	struct fathom_span s;

	memset(text, 'x', sizeof(text) - 1);
	listener_start(&l);
	for (u32 more = 0; more < 2; more++) {
		const char *name = text + sizeof(text) - 1 - 512 - more;

		s = fathom_span_begin(name);
		fathom_span_event(&s, FATHOM_INFO, name);
		fathom_span_string(&s, "key", text + sizeof(text) - 1 - 1021 - more);
		fathom_span_end_status(&s, FATHOM_FAILED, name);
	}
	listener_stop(&l);
	CHECK(whole_and_cut(&l, RECORD_span_begin));
	CHECK(whole_and_cut(&l, RECORD_span_event));
	CHECK(whole_and_cut(&l, RECORD_span_attribute));
	CHECK(whole_and_cut(&l, RECORD_span_end));
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 1)->begin.name_len, 512);
	CHECK_EQ(listener_nth(&l, RECORD_span_attribute, 1)->attribute.text_len, 1024);
}

TEST(what_is_cut_is_marked_where_lengths_are_given)
{
	static char text[1100];
	struct fathom_span_options options = {.name = text, .level = FATHOM_INFO};
	struct fathom_event event = {.name = text, .level = FATHOM_INFO};
	struct fathom_attribute value = {
		.key = text + sizeof(text) - 1 - 24, .type = FATHOM_STRING, .value.string = text};
	struct fathom_span s;

	memset(text, 'x', sizeof(text) - 1);
	listener_start(&l);
	for (u32 more = 0; more < 2; more++) {
		options.name_bytes = event.name_bytes = 512 + more;
		value.bytes = 1000 + more;
		s = fathom_span_open(&options);
		fathom_span_tell(&s, &event);
		fathom_span_attributes(&s, &value, 1);
		fathom_span_end(&s);
	}
	listener_stop(&l);
	CHECK(whole_and_cut(&l, RECORD_span_begin));
	CHECK(whole_and_cut(&l, RECORD_span_event));
	CHECK(whole_and_cut(&l, RECORD_span_attribute));
}

TEST_MAIN()
