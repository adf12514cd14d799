// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel/meter.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "capture/kernel/kernel.h"
#include "programs.skel.h"

#define WINDOW_NS 20000000ull
#define WITHIN_NS 900000000ull /* after a reading the next window begins */
#define APART_NS 500000000ull  /* windows begin at least so far apart */
#define EMPTY_RUNS 32	       /* of the program that does nothing, in each window */

/* A reading of the kernel's counts of a program. */
struct reading {
	u64 runs, ns;
};

struct meter_program {
	int fd; /* of the skeleton */
	struct reading begin;
};

struct capture_meter {
	pthread_t thread;
	bool running;	/* the thread is there to be joined */
	bool privately; /* it drops capabilities */
	struct meter_program programs[CAPTURE_COSTS_MAX];
	size_t count;
	int empty_fd; /* of the program that does nothing */

	pthread_mutex_t mutex; /* guards the fields below */
	pthread_cond_t wake;
	bool stop;
	u64 due_ns;	      /* when the next window begins; 0: after the next reading */
	u64 begun_ns;	      /* the last one */
	struct reading empty; /* all its runs */
	struct capture_costs costs;
};

/* ---- reading ---- */

static struct reading program_read(int fd)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return (struct reading){0, 0};
	return (struct reading){.runs = info.run_cnt, .ns = info.run_time_ns};
}

/* The time of these runs without what the account itself takes of each. */
static u64 net_ns(const struct capture_meter *m, struct reading ran)
{
	u64 empty_ns = m->empty.runs ? ran.runs * m->empty.ns / m->empty.runs : 0;

	return ran.ns > empty_ns ? ran.ns - empty_ns : 0;
}

/* What the program ran since it was read last. */
static struct reading program_since(int fd, struct reading before)
{
	struct reading now = program_read(fd);

	return (struct reading){now.runs - before.runs, now.ns - before.ns};
}

/* ---- a window ---- */

/* Runs the program that does nothing, so that what a run costs the account is known. */
static void empty_measure(struct capture_meter *m)
{
	struct reading before = program_read(m->empty_fd), ran;
	LIBBPF_OPTS(bpf_test_run_opts, run);

	for (int i = 0; i < EMPTY_RUNS; i++)
		if (bpf_prog_test_run_opts(m->empty_fd, &run))
			return;
	ran = program_since(m->empty_fd, before);
	pthread_mutex_lock(&m->mutex);
	m->empty.runs += ran.runs;
	m->empty.ns += ran.ns;
	pthread_mutex_unlock(&m->mutex);
}

/* Adds a window that began with the readings in `programs`. */
static void window_add(struct capture_meter *m, u64 begin_ns)
{
	struct reading ran[CAPTURE_COSTS_MAX];
	u64 end_ns = clock_now_ns();

	for (size_t i = 0; i < m->count; i++)
		ran[i] = program_since(m->programs[i].fd, m->programs[i].begin);
	pthread_mutex_lock(&m->mutex);
	for (size_t i = 0; i < m->count; i++) {
		m->costs.list[i].runs += ran[i].runs;
		m->costs.list[i].run_ns += net_ns(m, ran[i]);
	}
	m->costs.measured_ns += end_ns - begin_ns;
	pthread_mutex_unlock(&m->mutex);
}

static void costs_fail(struct capture_meter *m, int err)
{
	pthread_mutex_lock(&m->mutex);
	m->costs.err = err;
	pthread_mutex_unlock(&m->mutex);
}

/* Waits until a time, or until the end. False: it ends. */
static bool wait_until(struct capture_meter *m, u64 ns)
{
	bool goes_on;

	pthread_mutex_lock(&m->mutex);
	while (!m->stop && clock_now_ns() < ns)
		condition_wait(&m->wake, &m->mutex, ns);
	goes_on = !m->stop;
	pthread_mutex_unlock(&m->mutex);
	return goes_on;
}

/* Measures for a while. False: it ends, or may not. */
static bool window_measure(struct capture_meter *m)
{
	int account = bpf_enable_stats(BPF_STATS_RUN_TIME);
	u64 begin_ns;
	bool goes_on;

	if (account < 0) {
		costs_fail(m, -errno);
		return false;
	}
	empty_measure(m);
	begin_ns = clock_now_ns();
	for (size_t i = 0; i < m->count; i++)
		m->programs[i].begin = program_read(m->programs[i].fd);
	goes_on = wait_until(m, begin_ns + WINDOW_NS);
	window_add(m, begin_ns);
	close(account);
	return goes_on;
}

/* ---- the thread ---- */

/* Waits until a window is due. False: it ends. */
static bool due_await(struct capture_meter *m)
{
	u64 due_ns;

	pthread_mutex_lock(&m->mutex);
	while (!m->due_ns && !m->stop)
		pthread_cond_wait(&m->wake, &m->mutex);
	due_ns = m->due_ns;
	pthread_mutex_unlock(&m->mutex);
	if (!wait_until(m, due_ns))
		return false;
	pthread_mutex_lock(&m->mutex);
	m->due_ns = 0;
	m->begun_ns = clock_now_ns();
	pthread_mutex_unlock(&m->mutex);
	return true;
}

static void *meter_run(void *arg)
{
	struct capture_meter *m = arg;

	if (m->privately && capture_capabilities_only(1ull << CAP_SYS_ADMIN)) {
		costs_fail(m, -EPERM);
		return NULL;
	}
	while (due_await(m) && window_measure(m))
		;
	return NULL;
}

/* ---- begin and end ---- */

int capture_costs_allowed(void)
{
	int account = bpf_enable_stats(BPF_STATS_RUN_TIME), err = -errno;

	/* who may not record at all is told so by capture_open() */
	if (account < 0)
		return capture_capabilities_suffice() ? err : 0;
	close(account);
	return 0;
}

static void programs_list(struct capture_meter *m, const struct capture *c)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, c->programs->obj)
	{
		const char *name = bpf_program__name(program);
		struct capture_cost *cost = &m->costs.list[m->count];

		if (bpf_program__fd(program) < 0 || m->count >= CAPTURE_COSTS_MAX ||
		    bpf_program__fd(program) == m->empty_fd)
			continue;
		cost->name = name;
		cost->made = capture_feature_made(name, &cost->writes);
		m->programs[m->count++].fd = bpf_program__fd(program);
	}
	m->costs.count = m->count;
}

int capture_meter_open(struct capture_meter **out, const struct capture *c, struct error *e)
{
	struct capture_meter *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return error_set(e, ENOMEM, "cannot measure the kernel programs");
	m->empty_fd = bpf_program__fd(c->programs->progs.nothing);
	m->privately = c->drop_capabilities;
	programs_list(m, c);
	pthread_mutex_init(&m->mutex, NULL);
	condition_init(&m->wake);
	*out = m;
	err = thread_start(&m->thread, meter_run, m);
	m->running = !err;
	return err ? error_set(e, err, "cannot measure the kernel programs") : 0;
}

void capture_meter_begin(struct capture_meter *m)
{
	pthread_mutex_lock(&m->mutex);
	m->due_ns = clock_now_ns();
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->mutex);
}

void capture_meter_close(struct capture_meter *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->mutex);
	m->stop = true;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->mutex);
	if (m->running)
		pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->mutex);
	free(m);
}

void capture_meter_read(struct capture_meter *m, struct capture_costs *out)
{
	if (!m) {
		*out = (struct capture_costs){.err = -ENOTSUP};
		return;
	}
	pthread_mutex_lock(&m->mutex);
	*out = m->costs;
	if (!m->due_ns) {
		u64 now = clock_now_ns(), due_ns = now + hash_u64(now) % WITHIN_NS;

		m->due_ns = due_ns < m->begun_ns + APART_NS ? m->begun_ns + APART_NS : due_ns;
		pthread_cond_signal(&m->wake);
	}
	pthread_mutex_unlock(&m->mutex);
}
