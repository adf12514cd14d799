/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal handler between any two instructions of a begin and of an end: the CPU is asked to
 * trap after each, and at one of them, another in each round, the handler does something
 * with spans. Whatever that is, no frame may be used twice, and none be lost.
 */
#include "unit/lib/listener.h"

#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__)

#define TRAP_FLAG 0x100ul
#define DEPTH_MAX 64 /* spans that are active on a thread at once */

static volatile sig_atomic_t steps, at_step, acted;
static void (*action)(void);

static struct fathom_span left[8]; /* open */
static volatile sig_atomic_t left_count;

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	if (steps++ != at_step)
		return;
	at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG; /* enough for this round */
	acted = 1;
	action();
}

static inline void __attribute__((always_inline)) trap_begin(void)
{
	steps = 0;
	acted = 0;
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; "
			 "lea 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
}

static inline void __attribute__((always_inline)) trap_end(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; "
			 "lea 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
}

static void traps_catch(void)
{
	struct sigaction catch = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	CHECK_EQ(sigaction(SIGTRAP, &catch, NULL), 0);
}

/* ---- what handlers do ---- */

static void begin_and_end(void)
{
	struct fathom_span outer = fathom_span_begin("outer"), inner = fathom_span_begin("inner");

	fathom_span_end(&inner);
	fathom_span_end(&outer);
}

static void attach_and_detach(void)
{
	struct fathom_span now = fathom_span_current();

	fathom_span_attach(&now);
	begin_and_end();
	fathom_span_detach(&now);
}

static void leave_open(void)
{
	left[0] = fathom_span_begin("left");
	left[1] = fathom_span_begin("left, too");
	left_count = 2;
}

static void end_what_is_active(void)
{
	struct fathom_span now = fathom_span_current();

	fathom_span_end(&now);
}

static void end_and_leave_open(void)
{
	end_what_is_active();
	begin_and_end();
	leave_open();
}

#define ACTIONS 5

static void (*const actions[ACTIONS])(void) = {begin_and_end, end_what_is_active,
					       end_and_leave_open, attach_and_detach, leave_open};

/* ---- what must hold ---- */

/* As many as there is room for, each active after its begin; then all ended: nothing is active. */
static const char *room_problem(void)
{
	struct fathom_span spans[DEPTH_MAX + 1];
	const char *problem = NULL;

	for (int i = 0; i < DEPTH_MAX; i++) {
		struct fathom_span now;

		spans[i] = fathom_span_begin("deep");
		now = fathom_span_current();
		if (memcmp(now.span_id, spans[i].span_id, 8) != 0)
			problem = "a frame was lost: fewer can be active";
	}
	spans[DEPTH_MAX] = fathom_span_begin("too deep");
	if (memcmp(fathom_span_current().span_id, spans[DEPTH_MAX - 1].span_id, 8) != 0)
		problem = "there are more frames than there were";
	for (int i = DEPTH_MAX; i >= 0; i--)
		fathom_span_end(&spans[i]);
	if (fathom_span_current().state != 0)
		problem = "something stayed active";
	return problem;
}

static void *thread_ends(void *arg)
{
	fathom_span_end(arg);
	return NULL;
}

/* A span that another thread ends is active here no more, wherever its frame is. */
static const char *elsewhere_problem(const struct fathom_span *span)
{
	struct fathom_span copy = *span, now;
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_ends, &copy))
		return "no thread";
	pthread_join(thread, NULL);
	now = fathom_span_current();
	return memcmp(now.span_id, span->span_id, 8) == 0 ? "ended elsewhere, and active" : NULL;
}

static void left_end(void)
{
	for (int i = left_count - 1; i >= 0; i--)
		fathom_span_end(&left[i]);
	left_count = 0;
}

static const char *begin_interrupted(bool elsewhere)
{
	struct fathom_span below = fathom_span_begin("below"), span;
	const char *problem = NULL;

	trap_begin();
	span = fathom_span_begin("interrupted");
	trap_end();
	if (elsewhere)
		problem = elsewhere_problem(&span);
	left_end();
	fathom_span_end(&span);
	fathom_span_end(&below);
	return problem;
}

static const char *end_interrupted(bool two)
{
	struct fathom_span below = {0}, span;

	if (two)
		below = fathom_span_begin("below");
	span = fathom_span_begin("interrupted");
	trap_begin();
	fathom_span_end(&span);
	trap_end();
	left_end();
	fathom_span_end(&below);
	return NULL;
}

/* Goes through all instructions. Returns how many there were. */
static int go_through(const char *(*run)(bool), bool how)
{
	for (at_step = 0; at_step < 100000; at_step++) {
		const char *problem = run(how);

		if (!problem && fathom_span_current().state != 0)
			problem = "something is active";
		if (!problem)
			problem = room_problem();
		if (problem)
			CHECK_FAIL("at instruction %d: %s", (int)at_step, problem);
		if (!acted)
			break;
	}
	return at_step;
}

/* Sanitizers and valgrind make many instructions of one: it would take hours. */
static bool is_instrumented(void)
{
	const char *preload = getenv("LD_PRELOAD");

#ifdef __SANITIZE_ADDRESS__
	/* A constant would let the compiler drop all calls of libfathom, and the linker libfathom.
	 */
	static const volatile bool sanitized = true;

	if (sanitized)
		return true;
#endif
	return preload && strstr(preload, "vgpreload");
}

/* With the first `count` of the actions. */
static void go_through_all(const char *(*run)(bool), bool how, size_t actions_count)
{
	if (is_instrumented())
		SKIP("an instruction is many here");
	traps_catch();
	at_step = -1;
	(void)run(how); /* binds what the linker left */
	for (size_t i = 0; i < actions_count; i++) {
		int count;

		action = actions[i];
		count = go_through(run, how);
		if (count <= 1)
			SKIP("no traps here");
		printf("# action %zu between any two of %d instructions\n", i, count);
		CHECK(count < 100000);
	}
}

static struct listener l;

TEST(a_begin_is_interrupted)
{
	listener_start(&l);
	listener_stop(&l);
	go_through_all(begin_interrupted, false, ACTIONS);
}

TEST(a_begin_is_interrupted_and_ended_elsewhere)
{
	go_through_all(begin_interrupted, true, ACTIONS);
}

TEST(an_end_is_interrupted)
{
	go_through_all(end_interrupted, true, ACTIONS);
}

TEST(the_end_of_the_last_is_interrupted)
{
	go_through_all(end_interrupted, false, ACTIONS);
}

/* With somebody listening there are records between. */
TEST(a_begin_that_is_recorded_is_interrupted)
{
	listener_start(&l);
	go_through_all(begin_interrupted, false, 2);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
}

static struct fathom_span same;

static void end_the_same(void)
{
	struct fathom_span copy = same;

	fathom_span_end(&copy);
}

/* The span below the ended one is active again, whoever ended it in between. */
static const char *end_uncovers(bool elsewhere)
{
	struct fathom_span below = fathom_span_begin("below"), span = fathom_span_begin("span"),
			   now;
	pthread_t thread;

	same = span;
	if (elsewhere) {
		if (pthread_create(&thread, NULL, thread_ends, &span))
			return "no thread";
		pthread_join(thread, NULL);
	}
	trap_begin();
	if (elsewhere)
		now = fathom_span_current();
	else
		fathom_span_end(&span);
	trap_end();
	now = fathom_span_current();
	fathom_span_end(&below);
	return memcmp(now.span_id, below.span_id, 8) ? "the one below is not active" : NULL;
}

/* A root that the level leaves out: nothing is active below it. */
static const char *left_out_interrupted(bool ends)
{
	struct fathom_span_options left_out = {.level = FATHOM_DEBUG, .root = true};
	struct fathom_span below = fathom_span_begin("below"), span, inside, now;

	if (!ends)
		trap_begin();
	span = fathom_span_open(&left_out);
	if (!ends)
		trap_end();
	inside = fathom_span_current();
	if (ends)
		trap_begin();
	fathom_span_end(&span);
	if (ends)
		trap_end();
	now = fathom_span_current();
	fathom_span_end(&below);
	return inside.state			       ? "something is active in its place"
	       : memcmp(now.span_id, below.span_id, 8) ? "the one below is not active"
						       : NULL;
}

/* Like a thread pool. */
static const char *attach_interrupted(bool detaches)
{
	struct fathom_span_options aside = {.level = FATHOM_INFO, .inactive = true};
	struct fathom_span span = fathom_span_open(&aside), below = fathom_span_begin("below"),
			   inside, now;

	if (!detaches)
		trap_begin();
	fathom_span_attach(&span);
	if (!detaches)
		trap_end();
	inside = fathom_span_current();
	if (detaches)
		trap_begin();
	fathom_span_detach(&span);
	if (detaches)
		trap_end();
	now = fathom_span_current();
	fathom_span_end(&below);
	fathom_span_end(&span);
	return memcmp(inside.span_id, span.span_id, 8) ? "it is not active"
	       : memcmp(now.span_id, below.span_id, 8) ? "the one below is not active"
						       : NULL;
}

static void in_all_through(const char *(*run)(bool), void (*what)(void))
{
	if (is_instrumented())
		SKIP("an instruction is many here");
	traps_catch();
	action = what;
	for (int how = 0; how < 2; how++) {
		at_step = -1;
		(void)run(how);
		if (go_through(run, how) <= 1)
			SKIP("no traps here");
	}
}

TEST(an_end_uncovers_the_one_below)
{
	in_all_through(end_uncovers, begin_and_end);
	in_all_through(end_uncovers, end_the_same);
}

TEST(one_left_out_is_interrupted)
{
	in_all_through(left_out_interrupted, begin_and_end);
}

TEST(an_attach_and_a_detach_are_interrupted)
{
	in_all_through(attach_interrupted, begin_and_end);
	in_all_through(attach_interrupted, attach_and_detach);
}

static struct fathom_span told;

static void tell_another(void)
{
	fathom_span_event(&told, FATHOM_INFO, "another");
}

/* An attribute of an event is recorded with this event, or with the span, but no other event. */
static const char *event_interrupted(bool how)
{
	struct fathom_attribute a[2] = {{.key = "a", .type = FATHOM_INTEGER},
					{.key = "b", .type = FATHOM_INTEGER}};
	struct fathom_event event = {
		.name = "event", .level = FATHOM_INFO, .attributes = a, .count = 2};
	const struct record_span_event *last = NULL;
	u32 attributes = 0;

	l.count = 0;
	told = fathom_span_begin("told");
	trap_begin();
	fathom_span_tell(&told, &event);
	trap_end();
	fathom_span_end(&told);
	listener_drain(&l);
	for (u32 i = 0; i < l.count; i++) {
		const struct record_kept *r = &l.kept[i];

		if (r->head.kind == RECORD_span_event)
			last = &r->event;
		if (r->head.kind != RECORD_span_attribute)
			continue;
		attributes++;
		if (r->attribute.of_event && (!last || last->name_len != strlen("event")))
			return "an attribute of another event";
		if (!r->attribute.of_event && r->head.cpu != (APP_RECORD_WHOLE ^ APP_RECORD_CUT))
			return "nobody says that an event lacks it";
	}
	return attributes == 2 ? NULL : "an attribute is missing";
}

TEST(an_event_is_interrupted)
{
	if (is_instrumented())
		SKIP("an instruction is many here");
	traps_catch();
	listener_start(&l);
	action = tell_another;
	at_step = -1;
	(void)event_interrupted(false);
	CHECK(go_through(event_interrupted, false) > 1);
	listener_stop(&l);
}

static u32 lanes_used(void)
{
	u32 used = 0;

	for (u32 i = 0; i < app_ring_lanes(l.ring); i++)
		used += __atomic_load_n(&l.ring->table[i].state, __ATOMIC_ACQUIRE) == APP_LANE_USED;
	return used;
}

static volatile bool seed_traps;

/* Stands before the C library's, which a first call asks before it takes a lane. */
ssize_t getrandom(void *to, size_t bytes, unsigned int flags)
{
	ssize_t got = syscall(SYS_getrandom, to, bytes, flags);

	if (seed_traps) {
		seed_traps = false;
		trap_begin();
	}
	return got;
}

static void *first_call_runs(void *arg)
{
	struct fathom_span s;

	seed_traps = true;
	s = fathom_span_begin("first");
	trap_end();
	fathom_span_end(&s);
	return arg;
}

/* The handler's call is the thread's first one then, or its second. */
static const char *first_call_interrupted(bool how)
{
	u32 used = lanes_used();
	pthread_t thread;

	if (pthread_create(&thread, NULL, first_call_runs, NULL))
		return "no thread";
	pthread_join(thread, NULL);
	return lanes_used() == used ? NULL : "a lane is lost";
}

TEST(a_first_call_is_interrupted)
{
	listener_start(&l);
	listener_stop(&l);
	go_through_all(first_call_interrupted, false, 1);
}

#else

TEST(needs_a_trap_after_each_instruction)
{
	SKIP("x86-64 only");
}

#endif

TEST_MAIN()
