/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll_wait outside of spans: for the answer over a connection that was made (network), and for
 * work (idle), which a connection that was accepted, an eventfd, a timerfd and a time-out tell.
 */
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "tests/truth/loopback.h"

#define ROUNDS 10

static int epoll_of(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	TRUTH_TRY(epoll);
	if (fd >= 0)
		TRUTH_TRY(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return epoll;
}

static void woken_by_socket(bool accepted, const char *what, const char *part)
{
	struct epoll_event event;
	struct truth truth;
	int64_t waited = 0;
	int ends[2], epoll, mine;

	loopback_pair(ends);
	mine = ends[accepted ? 0 : 1];
	epoll = epoll_of(mine);
	truth_peer(ends[accepted ? 1 : 0], ROUNDS, 20 * MS);
	truth_begin(&truth, "epoll", what);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t begin = truth_now(), stamp = begin;

		TRUTH_TRY(epoll_wait(epoll, &event, 1, -1));
		TRUTH_TRY(read(mine, &stamp, sizeof(stamp)));
		if (stamp > begin)
			waited += stamp - begin;
	}
	truth_end(&truth, part, waited);
	wait(NULL);
}

/* The time of each write stands in shared memory: an eventfd only counts. */
static void eventfd_peer(int fd, int64_t *stamps)
{
	uint64_t one = 1;

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < ROUNDS; i++) {
		sleep_until(truth_now() + 20 * MS);
		stamps[i] = truth_now();
		TRUTH_TRY(write(fd, &one, sizeof(one)));
	}
	_exit(0);
}

static void woken_by_eventfd(void)
{
	int64_t *stamps = truth_share(ROUNDS * sizeof(*stamps)), waited = 0;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), epoll = epoll_of(fd);
	struct epoll_event event;
	struct truth truth;
	uint64_t one;

	eventfd_peer(fd, stamps);
	truth_begin(&truth, "epoll", "woken by an eventfd");
	for (int i = 0; i < ROUNDS; i++) {
		int64_t begin = truth_now();

		TRUTH_TRY(epoll_wait(epoll, &event, 1, -1));
		TRUTH_TRY(read(fd, &one, sizeof(one)));
		if (stamps[i] > begin)
			waited += stamps[i] - begin;
	}
	truth_end(&truth, "idle", waited);
	wait(NULL);
}

static void woken_by_timerfd(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), epoll = epoll_of(fd);
	struct itimerspec in = {.it_value.tv_nsec = 20 * MS};
	struct epoll_event event;
	struct truth truth;
	uint64_t count;

	truth_begin(&truth, "epoll", "woken by a timerfd");
	for (int i = 0; i < ROUNDS; i++) {
		TRUTH_TRY(timerfd_settime(fd, 0, &in, NULL));
		TRUTH_TRY(epoll_wait(epoll, &event, 1, -1));
		TRUTH_TRY(read(fd, &count, sizeof(count)));
	}
	truth_end(&truth, "idle", ROUNDS * 20 * MS);
}

static void times_out(void)
{
	int epoll = epoll_of(-1);
	struct epoll_event event;
	struct truth truth;

	truth_begin(&truth, "epoll", "times out");
	for (int i = 0; i < ROUNDS; i++)
		TRUTH_TRY(epoll_wait(epoll, &event, 1, 20));
	truth_end(&truth, "idle", ROUNDS * 20 * MS);
}

int main(void)
{
	/* first: with a client, this process would wait elsewhere in the middle of a request */
	woken_by_eventfd();
	woken_by_timerfd();
	times_out();
	woken_by_socket(false, "woken by a server", "network");
	woken_by_socket(true, "woken by a client", "idle");
	return 0;
}
