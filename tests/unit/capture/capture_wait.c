// SPDX-License-Identifier: Apache-2.0
/* Capture sleeps long, and is woken for what cannot wait. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "capture/internal.h"
#include "lib/app_ring.h"
#include "tests/unit/capture/recording.h"

#define MS 1000000ull
#define PAUSE_MS 100 /* nobody waits longer */
#define NEVER (~0ull)

struct taken {
	u64 records, lost;
	u32 kind;     /* wanted */
	u64 delay_ns; /* of the wanted one that came last, from its time to here */
};

static int taken_record(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct taken *t = arg;

	(void)stream;
	t->records++;
	if (r->kind == t->kind)
		t->delay_ns = host_clock_now_ns() - r->time_ns;
	return 0;
}

static int taken_lost(void *arg, const struct capture_stream *stream,
		      const struct record_lost *lost)
{
	struct taken *t = arg;

	(void)stream;
	t->lost += lost->count;
	return 0;
}

/* A child that does `run` when it is let go, recorded so. */
static struct capture *child_record(struct taken *t, struct capture_options options,
				    void (*run)(void), pid_t *pid, int *go)
{
	struct capture_sink sink = {t, taken_record, taken_lost};
	struct capture *c;
	int ends[2];
	char byte;

	need_root();
	CHECK_EQ(pipe(ends), 0);
	*pid = fork();
	if (*pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		run();
		_exit(0);
	}
	options.pids = pid;
	options.pid_count = 1;
	recording_begin(&c, &options, &sink, NULL);
	CHECK_OK(capture_settle(c, &sink));
	close(ends[0]);
	*go = ends[1];
	return c;
}

static void child_end(struct capture *c, pid_t pid, int go)
{
	close(go);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	capture_close(c);
}

#define RING_BYTES (1 << 20)
#define BURSTS 40

/* Bursts of more than half a ring each, many of them within the longest wait. */
static void bursts(void)
{
	u32 cpus = (u32)libbpf_num_possible_cpus();
	u32 calls = (1u << capture_ring_bits(cpus, RING_BYTES)) * 6 / 10;

	for (int i = 0; i < BURSTS; i++) {
		for (u32 k = 0; k < calls; k++)
			syscall(SYS_getppid);
		usleep(15000);
	}
}

#define NAMES 40000 /* in the ring of what is rare a fourth more than fits */
#define NAME_BURSTS 10

static void names(void)
{
	for (int i = 0; i < NAME_BURSTS; i++) {
		for (int k = 0; k < NAMES; k++)
			prctl(PR_SET_NAME, k % 2 ? "one" : "other");
		usleep(60000);
	}
}

/* In one of some tries nothing is lost: other programs may have had our CPU in the others. */
static void all_are_taken(struct capture_options options, void (*run)(void))
{
	for (int tries = 5;; tries--) {
		struct taken t = {0};
		struct capture_sink sink = {&t, taken_record, taken_lost};
		pid_t pid;
		int go;
		struct capture *c = child_record(&t, options, run, &pid, &go);
		u64 end_ns = host_clock_now_ns() + 1000 * MS;

		CHECK_EQ(write(go, "", 1), 1);
		while (host_clock_now_ns() < end_ns) {
			capture_wait(c, NEVER);
			CHECK_OK(capture_poll(c, &sink));
		}
		child_end(c, pid, go);
		CHECK(t.records > 1000);
		if (!t.lost)
			return;
		if (tries == 0)
			CHECK_FAIL("%" PRIu64 " lost, %" PRIu64 " recorded", t.lost, t.records);
	}
}

TEST(a_ring_that_fills_wakes)
{
	static const u8 none[CAPTURE_SYSCALLS];

	all_are_taken((struct capture_options){.buffer_bytes = RING_BYTES}, bursts);
	all_are_taken((struct capture_options){.syscalls = none}, names);
}

TEST(where_nothing_happens_it_sleeps)
{
	struct taken t = {0};
	struct capture_sink sink = {&t, taken_record, taken_lost};
	pid_t pid;
	int go, waits = 0;
	struct capture *c = child_record(&t, (struct capture_options){0}, bursts, &pid, &go);
	u64 end_ns;

	for (int i = 0; i < 5; i++) { /* what began with the recording is over */
		capture_wait(c, NEVER);
		CHECK_OK(capture_poll(c, &sink));
	}
	for (end_ns = host_clock_now_ns() + 1000 * MS; host_clock_now_ns() < end_ns; waits++) {
		capture_wait(c, NEVER);
		CHECK_OK(capture_poll(c, &sink));
	}
	CHECK(waits <= 1000 / PAUSE_MS + 5);
	child_end(c, pid, go);
}

#define CHILDREN 9

static void children(void)
{
	for (int i = 0; i < 2 * CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			usleep(30000); /* longer than capture stays awake */
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		usleep(170000);
	}
}

static int u64_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* How long after it happened such a record is there: in the median. */
static u64 delay_of(u32 kind)
{
	struct taken t = {.kind = kind};
	struct capture_sink sink = {&t, taken_record, taken_lost};
	u64 delays[CHILDREN];
	pid_t pid;
	int go;
	struct capture *c = child_record(&t, (struct capture_options){0}, children, &pid, &go);

	CHECK_EQ(write(go, "", 1), 1);
	for (int i = 0; i < CHILDREN; i++) {
		for (t.delay_ns = 0; !t.delay_ns;) {
			capture_wait(c, NEVER);
			CHECK_OK(capture_poll(c, &sink));
		}
		delays[i] = t.delay_ns;
	}
	child_end(c, pid, go);
	qsort(delays, CHILDREN, sizeof(delays[0]), u64_compare);
	return delays[CHILDREN / 2];
}

TEST(news_of_processes_wakes)
{
	CHECK(delay_of(RECORD_fork) < 20 * MS);
	CHECK(delay_of(RECORD_exec) < 20 * MS);
}

/* ---- what is found, and the command ---- */

static struct late {
	u64 made_ns, heard_ns;
} * late; /* shared with the child */

/* A ring as the library makes it, but slowly. */
static void late_ring(void)
{
	int fd = memfd_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	volatile struct app_ring *ring;

	if (ftruncate(fd, APP_RING_BYTES) || fcntl(fd, F_ADD_SEALS, APP_RING_SEALS))
		_exit(1);
	ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	usleep(45000); /* capture does not stay awake so long for news */
	ring->version = APP_RING_VERSION;
	ring->header_bytes = offsetof(struct app_ring, lane);
	ring->lanes = APP_RING_LANES;
	ring->lane_bytes = sizeof(struct app_lane);
	ring->slots = APP_RING_SLOTS;
	ring->pid = (u32)getpid();
	ring->lanes_used = 1;
	late->made_ns = host_clock_now_ns();
	ring->magic = APP_RING_MAGIC;
	while (!ring->listening)
		usleep(1000);
	late->heard_ns = host_clock_now_ns();
}

TEST(a_ring_that_is_found_wakes)
{
	u64 delay_ns = NEVER;

	late = mmap(NULL, sizeof(*late), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int tries = 5; tries && delay_ns > 30 * MS; tries--) {
		struct taken t = {0};
		struct capture_sink sink = {&t, taken_record, taken_lost};
		pid_t pid;
		int go;
		struct capture *c = child_record(&t, (struct capture_options){0}, late_ring, &pid,
						 &go);
		u64 end_ns = host_clock_now_ns() + 5000 * MS;

		*late = (struct late){0};
		CHECK_EQ(write(go, "", 1), 1);
		while (!*(volatile u64 *)&late->heard_ns && host_clock_now_ns() < end_ns) {
			capture_wait(c, NEVER);
			CHECK_OK(capture_poll(c, &sink));
		}
		child_end(c, pid, go);
		CHECK(late->made_ns && late->heard_ns);
		delay_ns = late->heard_ns - late->made_ns;
	}
	CHECK(delay_ns <= 30 * MS);
	munmap(late, sizeof(*late));
}

/* How long until the end of the command is known, or that there is none. */
static u64 delay_of_end(char *const argv[], u64 lives_ns)
{
	struct taken t = {0};
	struct capture_sink sink = {&t, taken_record, taken_lost};
	struct capture_options options = {0};
	struct capture *c;
	u64 begin_ns;
	int begun;

	need_root();
	recording_begin(&c, &options, &sink, argv);
	for (u64 end_ns = host_clock_now_ns() + 50 * MS; host_clock_now_ns() < end_ns;) {
		CHECK_OK(capture_poll(c, &sink)); /* what began with the recording is over */
		usleep(1000);
	}
	begin_ns = host_clock_now_ns();
	CHECK_OK(capture_release(c, &failure));
	while ((begun = capture_command_begun(c, &failure)) >= 0) {
		if (begun && waitpid(capture_child(c), NULL, WNOHANG) == capture_child(c))
			break;
		capture_wait(c, NEVER);
		CHECK_OK(capture_poll(c, &sink));
	}
	capture_close(c);
	return host_clock_now_ns() - begin_ns - lives_ns;
}

TEST(the_end_of_the_command_wakes)
{
	char *const none[] = {"/nowhere/none", NULL}, *const sleeps[] = {"sleep", "0.05", NULL};
	u64 failed_ns = NEVER, ended_ns = NEVER, delay_ns;

	for (int i = 0; i < 5; i++) {
		delay_ns = delay_of_end(none, 0);
		failed_ns = delay_ns < failed_ns ? delay_ns : failed_ns;
		delay_ns = delay_of_end(sleeps, 50 * MS);
		ended_ns = delay_ns < ended_ns ? delay_ns : ended_ns;
	}
	CHECK(failed_ns < 20 * MS);
	CHECK(ended_ns < 20 * MS);
}

TEST(a_wait_ends_in_time_and_for_others)
{
	struct taken t = {0};
	struct capture_sink sink = {&t, taken_record, taken_lost};
	int go, fd = eventfd(0, EFD_CLOEXEC), early = 0;
	pid_t pid;
	struct capture *c = child_record(&t, (struct capture_options){0}, bursts, &pid, &go);

	CHECK_OK(capture_wait_for(c, fd));
	for (int i = 0; i < 20; i++) {
		u64 begin_ns = host_clock_now_ns();

		if (i % 2)
			CHECK_EQ(write(fd, &(u64){1}, sizeof(u64)), sizeof(u64));
		capture_wait(c, i % 2 ? NEVER : 10 * MS);
		if (host_clock_now_ns() < begin_ns + 50 * MS)
			early++;
		CHECK_OK(capture_poll(c, &sink));
	}
	CHECK(early >= 15);
	capture_wait(c, 0); /* not at all */
	close(fd);
	child_end(c, pid, go);
}

int main(int argc, char **argv)
{
	return check_main(argc, argv);
}
