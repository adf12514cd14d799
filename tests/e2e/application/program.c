/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with libfathom whose spans, and what each does, are known:
 *
 *	e2e-application ROUNDS [fork|die|wait|flood|hop|exec|held|leave|rename|stamps]
 *
 * Waits until somebody really listens (LISTENER_MS at most). Then for each round
 *
 *	request				getppid; its number is given twice
 *	  sleep				nanosleep of 2 ms
 *	  read				64 reads of /dev/zero; fails
 *	  queued, on another thread	getuid, twice
 *	(no span)			gettid
 *
 * fork: a child does the same in a process of its own. die: ends by SIGKILL
 * inside a span. wait: ends when its stdin does. flood: then as many spans as the
 * ring has slots, twenty times. hop: then a span that two threads have in turn, eight times
 * for about a millisecond, 2 ms after the one before; then one that both have together, and
 * one that ends before its child, which then sleeps for 20 ms. exec: then a span "job", of which
 * a child process has a child "prepares"; that sleeps for 20 ms and runs another program, which
 * sleeps for 50 ms. Then the same in a span "becomes" of its own, which first had a child "phase"
 * for 20 ms. held: does nothing but to read its stdin to the end in a span "held". leave: then two
 * threads, one after the other, of which each begins a span, makes a getuid, sleeps for 20 ms and
 * ends; 30 ms later the other thread ends the second one, "handed", and nobody the first, "left".
 * rename: then a thread "before" has a span "renamed", in which it makes a getuid, becomes
 * "behind", makes a getppid and has a child "inner" that sleeps for 20 ms. stamps: then 400 spans
 * "stamp", of which each fourth sleeps for 5 ms; prints for each what CLOCK_MONOTONIC was before
 *and after its begin, and before and after its end.
 */
#include <fathom/fathom.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READS 64
#define LISTENER_MS 100000 /* until it comes, where all is slower */

static int zero;

static void sleep_ms(long ms)
{
	struct timespec pause = {0, ms * 1000000};

	nanosleep(&pause, NULL);
}

static void *thread_run(void *arg)
{
	struct fathom_span *span = arg;

	fathom_span_attach(span);
	syscall(SYS_getuid);
	syscall(SYS_getuid);
	fathom_span_end(span);
	return NULL;
}

static void round_run(long number)
{
	struct fathom_span request = fathom_span_begin("request"), phase, queued;
	pthread_t thread;
	char byte;

	fathom_span_string(&request, "number", "not known yet");
	fathom_span_integer(&request, "number", number);
	syscall(SYS_getppid);
	phase = fathom_span_begin("sleep");
	sleep_ms(2);
	fathom_span_end(&phase);
	phase = fathom_span_begin("read");
	fathom_span_event(&phase, FATHOM_INFO, "begins to read");
	for (int i = 0; i < READS; i++) {
		if (read(zero, &byte, 1) != 1)
			exit(1);
	}
	fathom_span_end_status(&phase, FATHOM_FAILED, "it never ends");
	queued = fathom_span_open(&(struct fathom_span_options){
		.name = "queued", .level = FATHOM_INFO, .inactive = true});
	if (pthread_create(&thread, NULL, thread_run, &queued) == 0)
		pthread_join(thread, NULL);
	fathom_span_end(&request);
	syscall(SYS_gettid);
}

/* ---- a span that hops ---- */

struct hopper {
	struct fathom_span *span;
	sem_t go, done;
};

static void *hopper_run(void *arg)
{
	struct hopper *h = arg;

	for (int i = 0; i < 5; i++) {
		sem_wait(&h->go);
		fathom_span_attach(h->span);
		sleep_ms(1);
		fathom_span_detach(h->span);
		sem_post(&h->done);
	}
	return NULL;
}

static void hop_run(const char *name, int times, struct hopper hoppers[2])
{
	struct fathom_span span = fathom_span_open(&(struct fathom_span_options){
		.name = name, .level = FATHOM_INFO, .inactive = true});

	hoppers[0].span = hoppers[1].span = &span;
	for (int i = 0; i < times; i++) {
		sleep_ms(2);
		sem_post(&hoppers[i & 1].go);
		sem_wait(&hoppers[i & 1].done);
	}
	for (int i = times; i < 2; i++)
		sem_post(&hoppers[i].go);
	for (int i = times; i < 2; i++)
		sem_wait(&hoppers[i].done);
	fathom_span_end(&span);
}

static void hops_run(void)
{
	struct fathom_span early, late;
	struct hopper hoppers[2] = {0};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		sem_init(&hoppers[i].go, 0, 0);
		sem_init(&hoppers[i].done, 0, 0);
		if (pthread_create(&threads[i], NULL, hopper_run, &hoppers[i]))
			exit(1);
	}
	hop_run("hops", 8, hoppers);
	hop_run("both", 0, hoppers);
	early = fathom_span_begin("early");
	late = fathom_span_begin("late");
	fathom_span_end(&early);
	sleep_ms(20);
	fathom_span_end(&late);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* ---- threads that end in a span, or change their name in it ---- */

struct leaver {
	const char *name;
	struct fathom_span span;
};

static void *leaver_run(void *arg)
{
	struct leaver *l = arg;

	l->span = fathom_span_begin(l->name);
	syscall(SYS_getuid);
	sleep_ms(20);
	return NULL;
}

static void *renamer_run(void *arg)
{
	struct fathom_span renamed, inner;

	(void)arg;
	prctl(PR_SET_NAME, "before");
	renamed = fathom_span_begin("renamed");
	syscall(SYS_getuid);
	prctl(PR_SET_NAME, "behind");
	syscall(SYS_getppid);
	inner = fathom_span_begin("inner");
	sleep_ms(20);
	fathom_span_end(&inner);
	fathom_span_end(&renamed);
	return NULL;
}

static void thread_await(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		exit(1);
	pthread_join(thread, NULL);
}

static void leaves_run(void)
{
	struct leaver left = {.name = "left"}, handed = {.name = "handed"};

	thread_await(leaver_run, &left);
	thread_await(leaver_run, &handed);
	sleep_ms(30);
	fathom_span_end(&handed.span);
}

static int listener_await(void)
{
	sleep_ms(150); /* in its first tenth of a second a program writes for who may come */
	for (int i = 0; i < LISTENER_MS && !fathom_listening(); i++)
		sleep_ms(1);
	return fathom_listening();
}

/* ---- a program that runs another one ---- */

static void program_exec(void)
{
	sleep_ms(20);
	execl("/bin/sleep", "sleep", "0.05", (char *)NULL);
	_exit(127);
}

static void execs_run(void)
{
	struct fathom_span job = fathom_span_begin("job"), phase;
	pid_t child = fork();

	if (child == 0) {
		struct fathom_span first = fathom_span_begin("first"); /* makes its ring */

		fathom_span_end(&first);
		if (!listener_await())
			_exit(2);
		sleep_ms(100); /* until each cut waits for what this ring has */
		fathom_span_child(&job, "prepares");
		program_exec();
	}
	waitpid(child, NULL, 0);
	fathom_span_end(&job);
	fathom_span_begin("becomes");
	phase = fathom_span_begin("phase");
	sleep_ms(20);
	fathom_span_end(&phase);
	program_exec();
}

static int rounds_run(long rounds)
{
	struct fathom_span first = fathom_span_begin("not heard, perhaps");

	fathom_span_end(&first); /* a forked child makes its ring here */
	if (!listener_await())
		return 2;
	sleep_ms(200); /* for who looks where the context is */
	for (long i = 0; i < rounds; i++)
		round_run(i);
	return 0;
}

/* It listens to nobody: the context says it all. */
static int held_run(void)
{
	struct fathom_span held = fathom_span_begin("held");
	char byte;

	while (read(0, &byte, 1) > 0)
		;
	fathom_span_end(&held);
	return 0;
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void stamps_run(void)
{
	enum { STAMPS = 400 };
	static long long at[STAMPS][4];

	for (int i = 0; i < STAMPS; i++) {
		struct fathom_span span;

		at[i][0] = now_ns();
		span = fathom_span_begin("stamp");
		at[i][1] = now_ns();
		if (i % 4 == 0)
			sleep_ms(5);
		at[i][2] = now_ns();
		fathom_span_end(&span);
		at[i][3] = now_ns();
	}
	for (int i = 0; i < STAMPS; i++)
		printf("%lld %lld %lld %lld\n", at[i][0], at[i][1], at[i][2], at[i][3]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	int result, status = 0;
	pid_t child = 0;
	char byte;

	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	fathom_init("e2e-application");
	if (strcmp(how, "held") == 0)
		return held_run();
	if (strcmp(how, "fork") == 0 && (child = fork()) == 0)
		_exit(rounds_run(atol(argv[1])));
	result = rounds_run(argc > 1 ? atol(argv[1]) : 1);
	if (child)
		waitpid(child, &status, 0);
	if (strcmp(how, "die") == 0) {
		fathom_span_begin("crash");
		raise(SIGKILL);
	}
	for (int i = 0; strcmp(how, "flood") == 0 && i < 20 * 2048; i++) {
		struct fathom_span span = fathom_span_begin("flood");

		fathom_span_end(&span);
	}
	if (strcmp(how, "hop") == 0)
		hops_run();
	if (strcmp(how, "exec") == 0)
		execs_run();
	if (strcmp(how, "leave") == 0)
		leaves_run();
	if (strcmp(how, "rename") == 0)
		thread_await(renamer_run, NULL);
	if (strcmp(how, "stamps") == 0)
		stamps_run();
	while (strcmp(how, "wait") == 0 && read(0, &byte, 1) > 0)
		;
	return result || status;
}
