/* SPDX-License-Identifier: Apache-2.0 */
/* The library starts in a program with limits and closed descriptors, which does not notice. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "unit/lib/anew.h"
#include "unit/lib/listener.h"

static bool limit_falls;	/* right after somebody has looked at it */
static void (*meanwhile)(void); /* called in the middle of a first call */
static bool naps_take_time;
static int naps;

static int limit_set(rlim_t bytes)
{
	struct rlimit limit;

	if (prlimit(0, RLIMIT_FSIZE, NULL, &limit) < 0)
		return -1;
	limit.rlim_cur = bytes;
	return prlimit(0, RLIMIT_FSIZE, &limit, NULL);
}

/* Stands before the C library's: as if another thread were at it. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int err = prlimit(0, resource, NULL, limit);

	if (limit_falls && resource == RLIMIT_FSIZE)
		(void)limit_set(0);
	if (meanwhile)
		meanwhile();
	return err;
}

/* How long anybody waits does not matter here, but how often. */
int nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)pause;
	(void)left;
	naps++;
	return naps_take_time ? poll(NULL, 0, 1) : 0;
}

/* ---- run by others, in a program of its own ---- */

TEST(without_a_ring)
{
	const char *limited = getenv("TEST_LIMIT");
	struct fathom_span s;

	if (!limited)
		SKIP("run by others");
	CHECK(!fathom_listening());
	CHECK_EQ(listener_find(NULL), 0);
	s = fathom_span_begin("s");
	CHECK(s.flags & FATHOM_SAMPLED);
	CHECK_EQ(fathom_init("named"), 0);
	fathom_span_end(&s);
}

TEST(standard_descriptors_stay_free)
{
	if (!getenv("TEST_CLOSED"))
		SKIP("run by others");
	for (int fd = 0; fd < 3; fd++)
		CHECK_EQ(open("/dev/null", O_RDWR), fd);
	CHECK_EQ(listener_find(NULL), 1);
}

/* ---- */

struct start {
	const char *variable; /* which tells the test that it is meant */
	rlim_t limit;
	bool closed; /* the standard descriptors are */
};

static int start_prepare(void *arg)
{
	const struct start *start = arg;

	setenv(start->variable, "1", 1);
	if (limit_set(start->limit) < 0)
		return -1;
	for (int fd = 0; start->closed && fd < 3; fd++)
		close(fd);
	return 0;
}

static int limited_run(rlim_t limit)
{
	struct start start = {"TEST_LIMIT", limit, false};

	return program_anew("without_a_ring", start_prepare, &start);
}

static int closed_run(rlim_t limit)
{
	struct start start = {"TEST_CLOSED", limit, true};

	return program_anew("standard_descriptors_stay_free", start_prepare, &start);
}

TEST(a_limit_on_files)
{
	CHECK_EQ(limited_run(0), 0);
	CHECK_EQ(limited_run(51200000), 0);
	CHECK_EQ(limited_run(APP_RING_BYTES - 1), 0);
}

TEST(closed_descriptors)
{
	CHECK_EQ(closed_run(RLIM_INFINITY), 0);
	CHECK_EQ(closed_run(APP_RING_BYTES), 0);
}

/* The status of a child that starts the library anew under a limit that it has or gets. */
static int child_run(void (*prepare)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t before, after;

		prepare();
		sigprocmask(SIG_BLOCK, NULL, &before);
		if (fathom_listening() || listener_find(NULL) != 0)
			_exit(1);
		sigprocmask(SIG_BLOCK, NULL, &after);
		for (int nr = 1; nr < NSIG; nr++) {
			if (sigismember(&before, nr) != sigismember(&after, nr))
				_exit(2);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void limit_is_set(void)
{
	if (limit_set(0) < 0)
		_exit(3);
}

static void limit_will_fall(void)
{
	limit_falls = true;
}

static void got_signal(int nr)
{
	(void)nr;
	_exit(4);
}

static void limit_will_fall_with_handler(void)
{
	signal(SIGXFSZ, got_signal);
	limit_falls = true;
}

static void limit_will_fall_and_is_blocked(void)
{
	sigset_t limit;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &limit, NULL);
	limit_falls = true;
}

static bool signal_is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGXFSZ);
}

TEST(a_limit_that_the_worker_sets)
{
	CHECK_EQ(child_run(limit_is_set), 0);
}

TEST(a_limit_that_another_thread_sets_meanwhile)
{
	CHECK_EQ(child_run(limit_will_fall), 0);
	CHECK_EQ(child_run(limit_will_fall_with_handler), 0);
	CHECK_EQ(child_run(limit_will_fall_and_is_blocked), 0);
}

/* Whoever blocked it and waits for it still gets the one that was sent, and none of ours. */
TEST(a_pending_signal_is_whose_it_was)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		limit_will_fall_and_is_blocked();
		if (fathom_listening() || signal_is_pending())
			_exit(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	pid = fork();
	if (pid == 0) {
		limit_will_fall_and_is_blocked();
		raise(SIGXFSZ);
		if (fathom_listening() || !signal_is_pending())
			_exit(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

/* ---- a first call is not left half done ---- */

/* In a child, where the library begins anew: the other threads must have spans afterwards. */
static int interrupted_run(void (*how)(void), void *(*first)(void *))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct fathom_span s;
		pthread_t thread;

		meanwhile = how;
		if (pthread_create(&thread, NULL, first, NULL))
			_exit(126);
		pthread_join(thread, NULL);
		meanwhile = NULL;
		s = fathom_span_begin("by another thread");
		_exit(s.state ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status;
}

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);

/* clang's sanitizer gives each thread a signal stack, and fails to take it from a cancelled one. */
const char *__asan_default_options(void)
{
	return "use_sigaltstack=0";
}
#endif

static void cancel_comes(void)
{
	pthread_cancel(pthread_self());
}

static void *cancelled_runs(void *arg)
{
	struct fathom_span s = fathom_span_begin("first");

	if (!s.state)
		_exit(2);
	fathom_span_end(&s);
	pthread_testcancel();
	_exit(3);
	return arg;
}

TEST(a_thread_that_is_cancelled_in_its_first_call)
{
	CHECK_EQ(interrupted_run(cancel_comes, cancelled_runs), 0);
}

static pthread_t second;

static void *second_runs(void *arg)
{
	struct fathom_span s = fathom_span_begin("of another thread");

	if (!s.state)
		_exit(2);
	fathom_span_end(&s);
	return arg;
}

/* Another thread begins its first span, and what it waits for takes longer than some turns. */
static void second_comes(void)
{
	meanwhile = NULL;
	naps_take_time = true;
	if (pthread_create(&second, NULL, second_runs, NULL))
		_exit(126);
	poll(NULL, 0, 40);
}

static void *first_runs(void *arg)
{
	struct fathom_span s = fathom_span_begin("first");

	fathom_span_end(&s);
	pthread_join(second, NULL);
	return arg;
}

TEST(a_start_that_takes_its_time)
{
	CHECK_EQ(interrupted_run(second_comes, first_runs), 0);
}

static sigjmp_buf back;

static void on_signal(int nr)
{
	siglongjmp(back, nr);
}

static void signal_comes(void)
{
	meanwhile = NULL;
	raise(SIGUSR1);
}

static void *jumping_runs(void *arg)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	if (sigsetjmp(back, 1) == 0) {
		(void)fathom_span_begin("first");
		_exit(2);
	}
	return arg;
}

TEST(a_handler_that_jumps_out_of_a_first_call)
{
	CHECK_EQ(interrupted_run(signal_comes, jumping_runs), 0);
}

/* A signal that the thread raises itself, in the middle of the identity. */
static void trap_comes(void)
{
	static int looks;

	if (++looks == 2)
		raise(SIGTRAP);
}

/* Leaves it half done: that costs others one wait, and not one a call. */
TEST(nobody_waits_twice_in_vain)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct sigaction action = {.sa_handler = on_signal};
		int once;

		sigaction(SIGTRAP, &action, NULL);
		meanwhile = trap_comes;
		if (sigsetjmp(back, 1) == 0) {
			(void)fathom_span_begin("first");
			_exit(2);
		}
		(void)fathom_listening();
		once = naps;
		for (int i = 0; i < 5; i++)
			(void)fathom_listening();
		_exit(once > 0 && naps == once ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

/* ---- the stack of a handler is small ---- */

#define STACK_BYTES 65536
#define STACK_PAINT 0xa5
#define CALL_BYTES 3072 /* of a first call, beside what the signal itself takes */

static volatile bool handler_calls;

static void handler_stack(int nr)
{
	(void)nr;
	if (handler_calls)
		(void)fathom_listening();
}

static size_t stack_taken(u8 *stack)
{
	size_t untouched = 0;

	memset(stack, STACK_PAINT, STACK_BYTES);
	raise(SIGUSR1);
	while (untouched < STACK_BYTES && stack[untouched] == STACK_PAINT)
		untouched++;
	return STACK_BYTES - untouched;
}

TEST(a_first_call_in_a_handler)
{
	const char *preload = getenv("LD_PRELOAD");
	int status = -1;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer makes frames larger");
#endif
	if (preload && strstr(preload, "vgpreload"))
		SKIP("valgrind lets nobody look at a stack that was left");
	(void)fathom_listening(); /* what the dynamic linker needs is none of ours */
	pid = fork();
	if (pid == 0) {
		static u8 stack[STACK_BYTES];
		stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
		struct sigaction action = {.sa_handler = handler_stack, .sa_flags = SA_ONSTACK};
		size_t signal;

		sigaltstack(&own, NULL);
		sigaction(SIGUSR1, &action, NULL);
		signal = stack_taken(stack);
		handler_calls = true;
		if (stack_taken(stack) > signal + CALL_BYTES)
			_exit(1);
		_exit(listener_find(NULL) == 1 ? 0 : 2);
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST_MAIN()
