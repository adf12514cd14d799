/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells stories (told.h), each on a thread of its own, over and over until its input ends.
 *
 *	stories		all of them
 *	stories nap	what a child runs: sleeps, says on fd 3 when that was over, ends
 */
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>

#include "told.h"

#define PAGE 4096
#define PAGES 8
#define LONG_NS (25 * MS)
#define SHORT_NS (8 * MS)

struct scene;

struct story {
	const char *name;
	void (*tell)(struct scene *s, struct told *t);
	void (*partner)(struct scene *s); /* on another thread, when it is asked */
	int64_t pause_ns; /* behind each round: those that compute leave room for others */
};

/* What a story's thread and its partner share. */
struct scene {
	const struct story *story;
	sem_t asked, answered;
	int64_t asked_ns, acted_ns;
	uint32_t word;
	int ends[2], epoll, file;
	struct told *told;
	bool over;
};

static bool over;

static void naps(int64_t ns)
{
	struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

/* Sleeps under its span. */
static void dozes(struct told *t, int64_t ns)
{
	int64_t from_ns = truth_now();

	naps(ns);
	told_piece(t, "timer", from_ns, from_ns + ns);
}

static void computes(int64_t ns)
{
	busy_until(truth_now() + ns);
}

/* The partner acts a while from now. */
static void asks(struct scene *s)
{
	s->asked_ns = truth_now();
	__atomic_store_n(&s->acted_ns, 0, __ATOMIC_RELEASE);
	sem_post(&s->asked);
}

static void acts(struct scene *s, int64_t after_ns)
{
	sleep_until(s->asked_ns + after_ns);
	__atomic_store_n(&s->acted_ns, truth_now(), __ATOMIC_RELEASE);
}

static int64_t acted(struct scene *s)
{
	return __atomic_load_n(&s->acted_ns, __ATOMIC_ACQUIRE);
}

/* ---- one cause each ---- */

static void sleeps(struct scene *s, struct told *t)
{
	(void)s;
	told_begin(t, "sleep");
	dozes(t, LONG_NS);
	told_end(t);
}

static void takes_lock(struct scene *s, struct told *t)
{
	int64_t from_ns;

	told_begin(t, "futex");
	asks(s);
	from_ns = truth_now();
	while (!__atomic_load_n(&s->word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &s->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	s->word = 0;
	told_piece(t, "lock", from_ns, acted(s));
	told_end(t);
}

static void gives_lock(struct scene *s)
{
	acts(s, LONG_NS);
	__atomic_store_n(&s->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void writes(struct scene *s)
{
	acts(s, LONG_NS);
	TRUTH_TRY(write(s->ends[1], "x", 1));
}

static void takes_byte(struct scene *s)
{
	char byte;

	TRUTH_TRY(read(s->ends[0], &byte, 1));
}

static void reads(struct scene *s, struct told *t)
{
	int64_t from_ns;

	told_begin(t, "read");
	asks(s);
	from_ns = truth_now();
	takes_byte(s);
	told_piece(t, "ipc", from_ns, acted(s));
	told_end(t);
}

static void polls(struct scene *s, struct told *t)
{
	struct pollfd fd = {.fd = s->ends[0], .events = POLLIN};
	int64_t from_ns;

	told_begin(t, "poll");
	asks(s);
	from_ns = truth_now();
	poll(&fd, 1, -1);
	told_piece(t, "ipc", from_ns, acted(s));
	takes_byte(s);
	told_end(t);
}

static void epolls(struct scene *s, struct told *t)
{
	struct epoll_event event;
	int64_t from_ns;

	told_begin(t, "epoll");
	asks(s);
	from_ns = truth_now();
	epoll_wait(s->epoll, &event, 1, -1);
	told_piece(t, "ipc", from_ns, acted(s));
	takes_byte(s);
	told_end(t);
}

/* A call in which it leaves its CPU three times: each time there is room for a page. */
static void fills(struct scene *s, struct told *t)
{
	static const char pages[3 * PAGE];
	int64_t from_ns;

	told_begin(t, "fill");
	asks(s);
	from_ns = truth_now();
	TRUTH_TRY(write(s->ends[1], pages, sizeof(pages)));
	told_piece(t, "ipc", from_ns, acted(s));
	told_end(t);
	sem_wait(&s->answered);
}

static void drains(struct scene *s)
{
	char page[PAGE];

	for (int i = 1; i <= 3; i++) {
		acts(s, i * SHORT_NS);
		TRUTH_TRY(read(s->ends[0], page, PAGE));
	}
	sem_post(&s->answered);
}

static void works(struct scene *s, struct told *t)
{
	(void)s;
	told_begin(t, "busy");
	computes(LONG_NS);
	told_end(t);
}

static void works_beside(struct scene *s, struct told *t)
{
	told_begin(t, "preempted");
	asks(s);
	computes(LONG_NS);
	told_end(t);
	sem_wait(&s->answered);
}

static void is_beside(struct scene *s)
{
	computes(LONG_NS);
	sem_post(&s->answered);
}

/* What the kernel counts as blocked is all for pages. */
static void touches(struct scene *s, struct told *t)
{
	volatile char *pages;
	char sum = 0;

	TRUTH_TRY(posix_fadvise(s->file, 0, 0, POSIX_FADV_DONTNEED));
	pages = mmap(NULL, PAGES * PAGE * 64, PROT_READ, MAP_SHARED, s->file, 0);
	if (pages == MAP_FAILED)
		exit(1);
	madvise((void *)pages, PAGES * PAGE * 64, MADV_RANDOM);
	told_begin(t, "touch");
	for (int i = 0; i < PAGES; i++)
		sum = (char)(sum + pages[(size_t)i * PAGE * 64]);
	told_end(t);
	s->word += (uint32_t)sum;
	munmap((void *)pages, PAGES * PAGE * 64);
}

/* ---- spans that come and go ---- */

static void drops_asleep(struct scene *s, struct told *t)
{
	int64_t from_ns;

	(void)s;
	told_begin(t, "dropped asleep");
	dozes(t, SHORT_NS);
	told_counted(t);
	from_ns = truth_now();
	fathom_span_detach(&t->span);
	naps(2 * SHORT_NS);
	fathom_span_attach(&t->span);
	told_piece(t, "off_thread", from_ns, truth_now());
	told_counts(t);
	dozes(t, SHORT_NS);
	told_end(t);
}

static void drops_busy(struct scene *s, struct told *t)
{
	int64_t from_ns;

	(void)s;
	told_begin(t, "dropped busy");
	computes(SHORT_NS);
	from_ns = truth_now();
	fathom_span_detach(&t->span);
	computes(SHORT_NS);
	fathom_span_attach(&t->span);
	told_piece(t, "off_thread", from_ns, truth_now());
	computes(SHORT_NS);
	told_end(t);
}

/* No call but the sleeps, of which it has the span in none. */
static void takes_turns(struct scene *s, struct told *t)
{
	(void)s;
	told_begin(t, "turns");
	for (int i = 0; i < 3; i++) {
		int64_t from_ns;

		computes(SHORT_NS / 2);
		from_ns = truth_now();
		fathom_span_detach(&t->span);
		naps(SHORT_NS);
		fathom_span_attach(&t->span);
		told_piece(t, "off_thread", from_ns, truth_now());
	}
	told_end(t);
}

static void lends(struct scene *s, struct told *t)
{
	int64_t from_ns;

	s->told = t;
	told_begin(t, "lent");
	dozes(t, SHORT_NS);
	told_counted(t);
	from_ns = truth_now();
	fathom_span_detach(&t->span);
	asks(s);
	sem_wait(&s->answered);
	fathom_span_attach(&t->span);
	told_piece(t, "off_thread", from_ns, s->asked_ns);
	told_piece(t, "off_thread", acted(s), truth_now());
	told_counts(t);
	computes(SHORT_NS / 8);
	told_end(t);
}

static void borrows(struct scene *s)
{
	fathom_span_attach(&s->told->span);
	s->asked_ns = truth_now();
	told_counts(s->told);
	dozes(s->told, 2 * SHORT_NS);
	told_counted(s->told);
	s->acted_ns = truth_now();
	fathom_span_detach(&s->told->span);
	sem_post(&s->answered);
}

static void has_children(struct scene *s, struct told *t)
{
	struct told sleep = *t, read = *t, busy = *t;
	int64_t from_ns;

	told_begin(t, "parent");
	told_begin(&sleep, "child asleep");
	dozes(&sleep, SHORT_NS);
	told_stop(&sleep);
	told_begin(&read, "child reads");
	told_begin(&busy, "grandchild");
	asks(s);
	computes(SHORT_NS / 4);
	told_stop(&busy);
	from_ns = truth_now();
	takes_byte(s);
	told_piece(&read, "ipc", from_ns, acted(s));
	told_stop(&read);
	told_pieces(t, &sleep);
	told_pieces(t, &read);
	told_end(t);
	told_say(&sleep);
	told_say(&read);
	told_say(&busy);
}

/* ---- processes ---- */

static void forks(struct scene *s, struct told *t)
{
	int64_t *ended_ns = truth_share(sizeof(*ended_ns)), from_ns;
	pid_t pid;

	(void)s;
	told_begin(t, "fork");
	pid = fork();
	TRUTH_TRY(pid);
	if (!pid) {
		naps(LONG_NS);
		*ended_ns = truth_now();
		_exit(0);
	}
	from_ns = truth_now();
	waitpid(pid, NULL, 0);
	told_piece(t, "child", from_ns, *ended_ns);
	told_end(t);
	munmap(ended_ns, sizeof(*ended_ns));
}

/* Runs this program in the place of the caller's, which naps and then says so on fd 3. */
static void nap_exec(int says)
{
	char *args[] = {"stories", "nap", NULL};

	dup2(says, 3);
	execv("/proc/self/exe", args);
	_exit(127);
}

static void vforks(struct scene *s, struct told *t)
{
	int64_t from_ns, napped_ns = 0;
	pid_t pid;

	told_begin(t, "vfork");
	from_ns = truth_now();
	pid = vfork();
	TRUTH_TRY(pid);
	if (!pid)
		nap_exec(s->ends[1]);
	waitpid(pid, NULL, 0);
	TRUTH_TRY(read(s->ends[0], &napped_ns, sizeof(napped_ns)));
	told_piece(t, "child", from_ns, napped_ns);
	told_end(t);
}

/* A child with a span of its own, in which it runs another program: that is its end. */
static void execs(struct scene *s, struct told *t)
{
	struct told *child = truth_share(sizeof(*child));
	int64_t napped_ns;
	pid_t pid = fork();

	TRUTH_TRY(pid);
	if (!pid) {
		*child = *t;
		told_begin(child, "exec");
		computes(SHORT_NS / 4);
		dozes(child, LONG_NS); /* so that it is heard before it is gone */
		told_counted(child);
		child->inner_ns[1] = truth_now();
		nap_exec(s->ends[1]);
	}
	TRUTH_TRY(read(s->ends[0], &napped_ns, sizeof(napped_ns)));
	waitpid(pid, NULL, 0);
	child->outer_ns[1] = napped_ns - SHORT_NS;
	told_say(child);
	munmap(child, sizeof(*child));
}

static int nap(void)
{
	int64_t napped_ns;

	naps(SHORT_NS);
	napped_ns = truth_now();
	return write(3, &napped_ns, sizeof(napped_ns)) != sizeof(napped_ns);
}

/* ---- all of them ---- */

static const struct story stories[] = {
	{"sleep", sleeps, NULL, 5 * MS},
	{"futex", takes_lock, gives_lock, 5 * MS},
	{"read", reads, writes, 5 * MS},
	{"poll", polls, writes, 5 * MS},
	{"epoll", epolls, writes, 5 * MS},
	{"fill", fills, drains, 5 * MS},
	{"busy", works, NULL, 120 * MS},
	{"preempted", works_beside, is_beside, 150 * MS},
	{"dropped asleep", drops_asleep, NULL, 5 * MS},
	{"dropped busy", drops_busy, NULL, 120 * MS},
	{"turns", takes_turns, NULL, 40 * MS},
	{"lent", lends, borrows, 5 * MS},
	{"children", has_children, writes, 5 * MS},
	{"fork", forks, NULL, 20 * MS},
	{"vfork", vforks, NULL, 20 * MS},
	{"exec", execs, NULL, 20 * MS},
	{"touch", touches, NULL, 20 * MS},
};
#define STORIES (sizeof(stories) / sizeof(stories[0]))

static void one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set); /* without CPU 0: it is preempted by others */
}

static void *tells(void *arg)
{
	struct scene *s = arg;

	if (s->story->tell == works_beside)
		one_cpu();
	for (int round = 0; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); round++) {
		struct told told = {.story = s->story->name, .round = round};

		s->story->tell(s, &told);
		naps(s->story->pause_ns + round * 7 % 11 * MS / 2);
	}
	s->over = true;
	sem_post(&s->asked);
	return NULL;
}

static void *helps(void *arg)
{
	struct scene *s = arg;

	if (s->story->tell == works_beside)
		one_cpu();
	while (!sem_wait(&s->asked) && !s->over)
		s->story->partner(s);
	return NULL;
}

/* False: the story cannot be told here. */
static bool scene_set(struct scene *s, const struct story *story)
{
	struct epoll_event event = {.events = EPOLLIN};
	static const char page[PAGE];

	*s = (struct scene){.story = story, .file = -1};
	sem_init(&s->asked, 0, 0);
	sem_init(&s->answered, 0, 0);
	TRUTH_TRY(pipe2(s->ends, O_CLOEXEC));
	TRUTH_TRY(s->epoll = epoll_create1(EPOLL_CLOEXEC));
	TRUTH_TRY(epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->ends[0], &event));
	if (story->tell == fills) {
		TRUTH_TRY(fcntl(s->ends[1], F_SETPIPE_SZ, PAGE));
		TRUTH_TRY(write(s->ends[1], page, PAGE));
	}
	if (story->tell == touches) {
		int status = 0;
		pid_t pid = fork();

		TRUTH_TRY(pid);
		if (!pid)
			_exit(close(truth_cold_file(PAGE, 0)));
		if (waitpid(pid, &status, 0) != pid || status)
			return false;
		s->file = truth_cold_file((size_t)PAGES * PAGE * 64, 0);
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct scene scenes[STORIES];
	pthread_t threads[STORIES][2];
	bool told[STORIES];
	char byte;

	if (argc > 1 && !strcmp(argv[1], "nap"))
		return nap();
	setvbuf(stdout, NULL, _IOLBF, 1 << 12);
	TRUTH_TRY(dup2(STDIN_FILENO, 255)); /* later, the table of descriptors grows with sleep */
	close(255);
	fathom_init("stories");
	for (size_t i = 0; i < STORIES; i++) {
		told[i] = scene_set(&scenes[i], &stories[i]);
		if (!told[i])
			continue;
		if (pthread_create(&threads[i][0], NULL, tells, &scenes[i]) ||
		    (stories[i].partner && pthread_create(&threads[i][1], NULL, helps, &scenes[i])))
			return 1;
	}
	while (read(0, &byte, 1) > 0)
		;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < STORIES; i++)
		for (int j = 0; told[i] && j < (stories[i].partner ? 2 : 1); j++)
			pthread_join(threads[i][j], NULL);
	return 0;
}
