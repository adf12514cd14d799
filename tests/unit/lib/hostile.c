/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as they should not be made: nothing crashes, nothing is recorded that is not so. */
#include "unit/lib/listener.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct listener l;

/* Every function with nothing. */
static void call_with_null(void)
{
	struct fathom_span none = {0}, s;
	struct fathom_context c;
	struct fathom_endpoint nowhere = {0};
	struct fathom_event nothing = {0};

	CHECK(fathom_endpoint_set(NULL) < 0);
	CHECK(fathom_resource_set(NULL, "v") < 0);
	CHECK(fathom_resource_set("k", NULL) < 0);
	CHECK(fathom_init("") < 0);
	CHECK_EQ(fathom_init(NULL), 0);
	CHECK(fathom_sampling_set(NULL) < 0);
	CHECK(fathom_level_parse(NULL) < 0);
	s = fathom_span_open(NULL);
	CHECK_EQ(s.state, 0);
	for (int i = 0; i < 2; i++) {
		struct fathom_span *span = i ? &none : NULL;

		fathom_span_end(span);
		fathom_span_end_status(span, FATHOM_FAILED, "no");
		fathom_span_status(span, FATHOM_OK);
		fathom_span_string(span, "k", "v");
		fathom_span_integer(span, "k", 1);
		fathom_span_real(span, "k", 1);
		fathom_span_boolean(span, "k", true);
		fathom_span_attributes(span, NULL, 5);
		fathom_span_endpoint(span, &nowhere);
		fathom_span_peer(span, NULL);
		fathom_span_event(span, FATHOM_ERROR, "e");
		fathom_span_tell(span, i ? &nothing : NULL);
		fathom_span_attach(span);
		fathom_span_detach(span);
		CHECK(!fathom_span_recorded(span));
		c = fathom_span_context(span);
		CHECK_EQ(c.span_id[0] | c.trace_id[0] | c.flags, 0);
	}
}

TEST(nothing_instead_of_something)
{
	struct fathom_attribute null_key = {.type = FATHOM_INTEGER};
	struct fathom_attribute null_value = {.key = "k", .type = FATHOM_STRING};
	struct fathom_event null_event = {.attributes = NULL, .count = 3};
	struct fathom_span s;

	listener_start(&l);
	(void)fathom_listening();
	listener_drain(&l);
	l.count = 0;
	call_with_null();
	listener_drain(&l);
	CHECK_EQ(l.count, 0);
	s = fathom_span_begin(NULL);
	fathom_span_string(&s, NULL, "v");
	fathom_span_string(&s, "k", NULL);
	fathom_span_integer(&s, "", 1);
	fathom_span_attributes(&s, &null_key, 1);
	fathom_span_attributes(&s, &null_value, 1);
	fathom_span_event(&s, FATHOM_ERROR, NULL);
	fathom_span_tell(&s, &null_event);
	fathom_span_end_status(&s, FATHOM_OK, NULL);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 0)->begin.name_len, 0);
	CHECK_EQ(listener_count(&l, RECORD_span_attribute), 2); /* keys without a value */
	CHECK_EQ(listener_count(&l, RECORD_span_event), 2);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 1);
}

/* Numbers that no word stands for: a reader would throw the record away. */
TEST(words_that_are_none)
{
	struct fathom_attribute unknown = {.key = "k", .type = (enum fathom_type)77};
	struct fathom_span s = fathom_span_begin("quiet"), t;
	struct fathom_span_options odd = {
		.name = "odd", .kind = (enum fathom_kind)200, .level = FATHOM_INFO};

	fathom_span_end(&s);
	listener_start(&l);
	s = fathom_span_open(&odd);
	odd.level = (enum fathom_level) - 1;
	t = fathom_span_open(&odd);
	fathom_span_attributes(&s, &unknown, 1);
	unknown.type = 0;
	fathom_span_attributes(&s, &unknown, 1);
	fathom_span_event(&s, (enum fathom_level) - 1, "e");
	fathom_span_event(&s, (enum fathom_level)99, "e");
	fathom_span_status(&s, (enum fathom_status)3);
	fathom_span_status(&s, (enum fathom_status) - 1);
	fathom_span_end(&t);
	fathom_span_end_status(&s, (enum fathom_status)INT_MAX, "m");
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 1);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 0)->begin.span_kind, FATHOM_INTERNAL);
	CHECK_EQ(listener_count(&l, RECORD_span_attribute), 0);
	CHECK_EQ(listener_count(&l, RECORD_span_event), 0);
	CHECK_EQ(listener_nth(&l, RECORD_span_end, 0)->end.status, FATHOM_UNSET);
}

TEST(after_the_end)
{
	struct fathom_span s, parent, copy, child;

	listener_start(&l);
	parent = fathom_span_begin("parent");
	copy = s = fathom_span_begin("s");
	fathom_span_end(&s);
	for (int i = 0; i < 100; i++) {
		fathom_span_end(&s);
		fathom_span_end_status(&s, FATHOM_FAILED, "again");
		fathom_span_string(&s, "k", "v");
		fathom_span_event(&s, FATHOM_ERROR, "e");
		fathom_span_attach(&s);
		fathom_span_detach(&s);
	}
	CHECK(!fathom_span_recorded(&s));
	CHECK_MEM(fathom_span_current().span_id, parent.span_id, 8);
	child = fathom_span_child(&s, "a parent that ended is a parent still");
	CHECK_MEM(child.parent_id, copy.span_id, 8);
	fathom_span_end(&child);
	fathom_span_end(&parent);
	fathom_span_end(&copy); /* the end of a copy is told again, and changes no active span */
	CHECK_EQ(fathom_span_current().state, 0);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 4);
	CHECK_EQ(listener_count(&l, RECORD_span_attribute), 0);
	CHECK_EQ(listener_count(&l, RECORD_span_event), 0);
}

/* A text that ends where its memory does, so that reading on would be seen. */
static char *text_at_edge(size_t bytes, bool with_nul)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page) / page * page + page;
	char *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *text = map + room - page - bytes - with_nul;

	CHECK(map != MAP_FAILED);
	CHECK_EQ(mprotect(map + room - page, page, PROT_NONE), 0);
	memset(text, 0xff, bytes); /* no UTF-8 */
	return text;
}

static void say_long(size_t bytes)
{
	char *ended = text_at_edge(bytes, true), *bare = text_at_edge(bytes, false);
	struct fathom_attribute a = {
		.key = ended, .type = FATHOM_STRING, .bytes = bytes, .value.string = bare};
	struct fathom_endpoint e = {.name = ended, .address = ended, .port = 65535};
	struct fathom_event event = {
		.name = bare, .name_bytes = bytes, .attributes = &a, .count = 1, .endpoint = &e};
	struct fathom_span_options options = {
		.name = bare, .name_bytes = bytes, .level = FATHOM_INFO};
	struct fathom_span s = fathom_span_open(&options), t = fathom_span_begin(ended);

	fathom_span_attributes(&s, &a, 1);
	a.key = "k";
	fathom_span_attributes(&s, &a, 1);
	a.bytes = 0;
	a.value.string = ended;
	fathom_span_attributes(&s, &a, 1);
	fathom_span_tell(&s, &event);
	fathom_span_peer(&s, &e);
	fathom_span_end_status(&t, FATHOM_FAILED, ended);
	fathom_span_end(&s);
	if (bytes > 1024) {
		CHECK(fathom_init(ended) < 0);
		CHECK(fathom_resource_set(ended, ended) < 0);
		CHECK(fathom_endpoint_set(&e) < 0);
	}
}

TEST(texts_without_end)
{
	static const size_t lengths[] = {511, 512, 513, 1023, 1024, 1025, 5000, 1000000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct record_span_end *end;

		listener_start(&l);
		say_long(lengths[i]);
		listener_stop(&l);
		CHECK_EQ(l.damaged, 0);
		CHECK_EQ(listener_count(&l, RECORD_span_begin), 2);
		end = &listener_nth(&l, RECORD_span_end, 0)->end;
		CHECK_EQ(end->message_len, lengths[i] < 512 ? lengths[i] : 512);
		for (u32 k = 0; k < 2; k++)
			CHECK_EQ(listener_nth(&l, RECORD_span_begin, k)->begin.name_len,
				 end->message_len);
	}
}

/* More parts than fit: what does not is counted, and the next span is whole. */
TEST(more_than_fits)
{
	struct fathom_attribute many[300];
	struct fathom_span s;
	u64 lost;

	for (int i = 0; i < 300; i++)
		many[i] = (struct fathom_attribute){.key = "key", .type = FATHOM_INTEGER};
	listener_start(&l);
	lost = app_ring_lost(l.ring);
	s = fathom_span_begin("s");
	for (int i = 0; i < 20; i++)
		fathom_span_attributes(&s, many, 300);
	listener_drain(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_attribute) + app_ring_lost(l.ring) - lost, 6000);
	fathom_span_end(&s);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 1);
}

/* Handles that nobody made. */
TEST(spans_out_of_thin_air)
{
	struct fathom_span real = fathom_span_begin("real");
	u32 random = 1;

	for (int i = 0; i < 20000; i++) {
		struct fathom_span s = real;
		u8 *bytes = (u8 *)&s;

		for (size_t at = 0; at < sizeof(s); at++) {
			random = random * 1103515245 + 12345;
			if (i % 3 || at >= 32) /* also the right ids with a wrong rest */
				bytes[at] = (u8)(random >> 16);
		}
		if (memcmp(s.span_id, real.span_id, 8) == 0)
			s.state = 2; /* not an end of the real one */
		fathom_span_integer(&s, "k", i);
		fathom_span_attach(&s);
		fathom_span_end(&s);
		fathom_span_detach(&s);
	}
	CHECK_MEM(fathom_span_current().span_id, real.span_id, 8);
	fathom_span_end(&real);
	CHECK_EQ(fathom_span_current().state, 0);
}

static int child_exits(void (*in_child)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		in_child();
		exit(99);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static struct fathom_span inherited;

static void use_inherited(void)
{
	struct fathom_span s;

	fathom_span_integer(&inherited, "k", 1);
	fathom_span_attach(&inherited);
	s = fathom_span_begin("under it");
	if (memcmp(s.trace_id, inherited.trace_id, 16) != 0)
		_exit(1);
	fathom_span_end(&s);
	fathom_span_detach(&inherited);
	fathom_span_end(&inherited);
	_exit(fathom_span_current().state != 0);
}

TEST(a_span_of_the_parent_process)
{
	inherited = fathom_span_begin("inherited");
	CHECK_EQ(child_exits(use_inherited), 0);
	CHECK_MEM(fathom_span_current().span_id, inherited.span_id, 8);
	fathom_span_end(&inherited);
}

static void span_at_exit(void)
{
	struct fathom_span s = fathom_span_begin("at exit"), inner = fathom_span_begin("inner");

	if (!s.state || memcmp(inner.trace_id, s.trace_id, 16) != 0)
		_exit(1);
	fathom_span_end(&inner);
	fathom_span_end(&s);
	_exit(fathom_span_current().state ? 2 : 42);
}

static void exit_with_handler(void)
{
	atexit(span_at_exit);
}

static void *thread_at_exit(void *arg)
{
	span_at_exit();
	return NULL;
}

/* The library's own destructor has run by then. */
__attribute__((destructor(101))) static void last_of_all(void)
{
	pthread_t thread;

	if (!getenv("SPANS_LAST_OF_ALL"))
		return;
	if (pthread_create(&thread, NULL, thread_at_exit, NULL) == 0)
		pthread_join(thread, NULL);
}

static void exit_with_destructor(void)
{
	setenv("SPANS_LAST_OF_ALL", "1", 1);
}

TEST(while_the_process_ends)
{
	int status = child_exits(exit_with_handler);

	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 42);
	status = child_exits(exit_with_destructor);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 42);
}

static volatile sig_atomic_t handled;
static struct fathom_span from_handler;

static void handler_first(int signal)
{
	from_handler = fathom_span_begin("first of its thread");
	fathom_span_end(&from_handler);
	handled = 1;
}

static void *thread_interrupted(void *arg)
{
	raise(SIGUSR1);
	return fathom_span_current().state ? "still active" : NULL;
}

TEST(a_first_call_in_a_handler)
{
	struct sigaction action = {.sa_handler = handler_first};
	pthread_t thread;
	void *result;

	sigaction(SIGUSR1, &action, NULL);
	listener_start(&l);
	CHECK_EQ(pthread_create(&thread, NULL, thread_interrupted, NULL), 0);
	pthread_join(thread, &result);
	listener_stop(&l);
	CHECK_STR(result, NULL);
	CHECK_EQ(handled, 1);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 1);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 1);
}

static volatile sig_atomic_t crossed;
static struct fathom_span open_span;

static void handler_ends(int signal)
{
	fathom_span_end(&open_span); /* of what it has interrupted */
	crossed++;
}

TEST(a_handler_that_ends_what_it_interrupts)
{
	struct sigaction action = {.sa_handler = handler_ends, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
	u64 begin = listener_now();
	timer_t timer;

	sigaction(SIGUSR2, &action, NULL);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &often, NULL);
	while (crossed < 5000 && listener_now() - begin < 10000000000ull) {
		struct fathom_span outer = fathom_span_begin("outer"), inner;

		open_span = fathom_span_begin("open");
		inner = fathom_span_begin("inner");
		fathom_span_end(&inner);
		fathom_span_end(&open_span);
		fathom_span_end(&outer);
	}
	timer_settime(timer, 0, &never, NULL);
	timer_delete(timer);
	CHECK(crossed > 0);
	CHECK_EQ(fathom_span_current().state, 0);
}

TEST_MAIN()
