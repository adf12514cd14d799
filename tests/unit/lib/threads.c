/* SPDX-License-Identifier: Apache-2.0 */
/* The library under threads that come and go, signals and forks. */
#include "unit/lib/listener.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct listener l;

#define SPANS 100

static void *thread_spans(void *arg)
{
	for (int i = 0; i < SPANS; i++) {
		struct fathom_span s = fathom_span_begin("work");

		fathom_span_end(&s);
	}
	return NULL;
}

TEST(threads_have_lanes_of_their_own)
{
	pthread_t threads[8];
	u32 tids = 0;

	listener_start(&l);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, thread_spans, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 8 * SPANS);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 8 * SPANS);
	for (u32 i = 0; i < l.count; i++)
		tids += i == 0 || l.kept[i].head.tid != l.kept[i - 1].head.tid;
	CHECK(tids >= 8);
}

TEST(lanes_are_used_again)
{
	u32 used;

	listener_start(&l);
	used = l.ring->lanes_used;
	CHECK(used >= 2 && used <= 9);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, thread_spans, NULL), 0);
		pthread_join(thread, NULL);
		listener_drain(&l);
		CHECK_EQ(listener_count(&l, RECORD_span_end), SPANS);
		l.count = 0;
	}
	listener_stop(&l);
	CHECK_EQ(l.ring->lanes_used, used);
	CHECK_EQ(l.damaged, 0);
}

static void *thread_drains(void *arg)
{
	struct listener *listener = arg;

	while (__atomic_load_n(&listener->ring->listening, __ATOMIC_ACQUIRE))
		listener_drain(listener);
	return NULL;
}

TEST(nothing_is_lost_or_torn_while_it_is_drained)
{
	u64 lost, position = 0;
	pthread_t drainer;
	u32 begun = 0;

	listener_start(&l);
	lost = app_ring_lost(l.ring);
	CHECK_EQ(pthread_create(&drainer, NULL, thread_drains, &l), 0);
	while (begun < 3000) {
		char name[200];
		struct fathom_span s;
		int length = 1 + (int)(begun * 7 % 190);

		memset(name, 'a' + (int)(begun % 26), (size_t)length);
		name[length] = '\0';
		s = fathom_span_begin(name);
		fathom_span_end(&s);
		begun++;
		if (begun % 100 == 0)
			usleep(1000);
	}
	app_ring_listen(l.ring, 0, 0);
	pthread_join(drainer, NULL);
	listener_drain(&l);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(l.count - listener_count(&l, RECORD_service) + app_ring_lost(l.ring) - lost,
		 2 * begun);
	for (u32 i = 0; i < l.count; i++) {
		const struct record_span_begin *b = &l.kept[i].begin;

		if (l.kept[i].head.kind != RECORD_span_begin)
			continue;
		for (u32 at = 1; at < b->name_len; at++)
			CHECK_EQ(b->name[at], b->name[0]);
		CHECK(l.kept[i].head.time_ns >= position);
		position = l.kept[i].head.time_ns;
	}
}

static volatile sig_atomic_t handled, handled_drained;

static void handler_spans(int signal)
{
	struct fathom_span outer, inner;

	if (handled - handled_drained > 20) /* the ring is emptied by what it interrupts */
		return;
	outer = fathom_span_begin("handler");
	inner = fathom_span_begin("in it");
	fathom_span_integer(&inner, "n", handled);
	fathom_span_end(&inner);
	fathom_span_end(&outer);
	handled++;
}

/* The handler runs anywhere inside begin and end, thousands of times. */
TEST(signal_handlers_anywhere)
{
	struct sigaction action = {.sa_handler = handler_spans, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
	u64 lost, begin = listener_now();
	timer_t timer;
	u32 begun = 0;

	listener_start(&l);
	lost = app_ring_lost(l.ring);
	sigaction(SIGUSR1, &action, NULL);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &often, NULL);
	while (handled < 2000 && listener_now() - begin < 20000000000ull) {
		struct fathom_span s = fathom_span_begin("interrupted");
		struct fathom_span now = fathom_span_current();

		if (memcmp(now.span_id, s.span_id, 8) != 0 ||
		    memcmp(now.trace_id, s.trace_id, 16) != 0)
			begun += 1000000;
		fathom_span_end(&s);
		begun++;
		if (begun % 50 == 0 || handled - handled_drained > 10) {
			listener_drain(&l);
			handled_drained = handled;
			l.count = 0;
		}
	}
	timer_settime(timer, 0, &never, NULL);
	timer_delete(timer);
	listener_stop(&l);
	CHECK(begun < 1000000);
	CHECK(handled >= 2000);
	CHECK_EQ(l.damaged, 0);
	CHECK_EQ(app_ring_lost(l.ring), lost);
	CHECK_EQ(fathom_span_current().state, 0);
}

/* 0 if all is as it should be in the child, else the line. */
static int child_checks(struct fathom_span *parent)
{
	struct listener mine = {0};
	struct fathom_span s;

	if (fathom_span_current().state != 0)
		return 1;
	s = fathom_span_child(parent, "in the child");
	if (memcmp(s.trace_id, parent->trace_id, 16) || memcmp(s.parent_id, parent->span_id, 8))
		return 2;
	fathom_span_end(&s);
	if (listener_find(&mine.ring) != 1) /* its own, and not the parent's */
		return 3;
	if (mine.ring->pid != (u32)getpid())
		return 4;
	mine.kept = calloc(LISTENER_KEEPS, sizeof(*mine.kept));
	listener_drain(&mine); /* what it wrote as if somebody listened */
	mine.count = 0;
	app_ring_listen(mine.ring, 1, listener_now() + 1000000000);
	s = fathom_span_begin("again");
	fathom_span_end(&s);
	fathom_span_end(parent);
	listener_drain(&mine);
	free(mine.kept);
	app_ring_close(mine.ring);
	if (mine.count != 3 || mine.damaged)
		return 5;
	return 0;
}

static void fork_by(pid_t (*fork_call)(void))
{
	struct fathom_span s, kept;
	int status = -1;
	pid_t pid;

	listener_start(&l);
	s = kept = fathom_span_begin("parent");
	pid = fork_call();
	if (pid == 0) {
		status = child_checks(&s);
		app_ring_close(l.ring); /* at an exit valgrind looks for leaks in all of it */
		_exit(status);
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK_EQ(WTERMSIG(status), 0);
	CHECK_MEM(fathom_span_current().span_id, kept.span_id, 8);
	fathom_span_end(&s);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 1);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 1);
	CHECK_EQ(l.damaged, 0);
}

TEST(a_forked_child_has_its_own_ring)
{
	fork_by(fork);
}

static pid_t fork_without_handlers(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

TEST(a_child_forked_behind_our_back_too)
{
	fork_by(fork_without_handlers);
}

TEST(ids_differ_between_parent_and_child)
{
	struct fathom_span mine, theirs;
	int pipe_fds[2], status;
	pid_t pid;

	CHECK_EQ(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		theirs = fathom_span_begin("x");
		app_ring_close(l.ring);
		_exit(write(pipe_fds[1], &theirs, sizeof(theirs)) != sizeof(theirs));
	}
	CHECK_EQ(read(pipe_fds[0], &theirs, sizeof(theirs)), sizeof(theirs));
	waitpid(pid, &status, 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	mine = fathom_span_begin("x");
	fathom_span_end(&mine);
	CHECK(memcmp(mine.trace_id, theirs.trace_id, 16) != 0);
	CHECK(memcmp(mine.span_id, theirs.span_id, 8) != 0);
}

TEST_MAIN()
