/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A known time under spans, and outside of them: spans ROUNDS [turns|short|fill|poll]. Each round
 * computes and sleeps 10 ms under a span `work`, then does the same under none. With turns, it
 * computes in each under the same span `work`, and sleeps under none; with short, it sleeps 1 ms
 * under one. With fill, it waits at once under one, 3 ms in each round, in one call that writes a
 * page in each. With poll, each round waits under one for a message of netlink, which comes 3 ms
 * later.
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <fathom/fathom.h>

#define MS 1000000

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Of the clock on the wall, which costs no system call. */
static void computes(void)
{
	long long end = now_ns() + 10 * MS;

	while (now_ns() < end)
		;
}

static void sleeps(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

static void takes_turns(int rounds)
{
	struct fathom_span span = fathom_span_begin("work");

	fathom_span_detach(&span);
	for (int i = 0; i < rounds; i++) {
		sleeps(10 * MS);
		fathom_span_attach(&span);
		computes();
		fathom_span_detach(&span);
	}
	fathom_span_end(&span);
}

static void sleeps_in_short_ones(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct fathom_span span = fathom_span_begin("work");

		sleeps(MS);
		fathom_span_end(&span);
	}
}

/* A child takes a page of a full pipe each 3 ms. */
static void fills(int rounds)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = rounds * page;
	char *data = calloc(rounds + 1, page);
	struct fathom_span span;
	int ends[2];

	if (!data || pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, (int)page) < 0 ||
	    write(ends[1], data, page) != (ssize_t)page)
		exit(1);
	if (fork() == 0) {
		close(ends[1]); /* it ends with the other */
		for (int i = 0; i <= rounds; i++) {
			sleeps(3 * MS);
			if (read(ends[0], data, page) != (ssize_t)page)
				_exit(1);
		}
		_exit(0);
	}
	span = fathom_span_begin("work");
	if (write(ends[1], data, bytes) != (ssize_t)bytes)
		exit(1);
	fathom_span_end(&span);
	sleeps(100 * MS); /* its spans are read */
}

/* A child, which has no span, sends a message 3 ms after it is asked for one. */
static void polls(int rounds)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_pid = (__u32)getpid()};
	int taker = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_USERSOCK), epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	struct nlmsghdr message = {.nlmsg_len = sizeof(message)};
	int ends[2];
	char byte;

	if (pipe(ends) || bind(taker, (void *)&address, sizeof(address)) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, taker, &event))
		exit(1);
	sleeps(500 * MS); /* until it is followed */
	if (fork() == 0) {
		int sender = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_USERSOCK);

		close(ends[1]); /* so that it ends with the other one */
		for (int i = 0; i < rounds; i++) {
			if (read(ends[0], &byte, 1) != 1)
				_exit(1);
			sleeps(3 * MS);
			if (sendto(sender, &message, sizeof(message), 0, (void *)&address,
				   sizeof(address)) < 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < rounds; i++) {
		struct fathom_span span = fathom_span_begin("work");

		if (write(ends[1], "x", 1) != 1)
			exit(1);
		if (epoll_wait(epoll, &event, 1, 1000) != 1 ||
		    recv(taker, &message, sizeof(message), 0) < 0)
			exit(1);
		fathom_span_end(&span);
	}
	sleeps(100 * MS); /* its spans are read */
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 2 && strcmp(argv[2], "fill") == 0) {
		fills(rounds);
		return 0;
	}
	if (argc > 2 && strcmp(argv[2], "poll") == 0) {
		polls(rounds);
		return 0;
	}
	sleeps(500 * MS); /* until it is followed */
	if (argc > 2) {
		if (strcmp(argv[2], "turns") == 0)
			takes_turns(rounds);
		else
			sleeps_in_short_ones(rounds);
		return 0;
	}
	for (int i = 0; i < rounds; i++) {
		struct fathom_span span = fathom_span_begin("work");

		computes();
		sleeps(10 * MS);
		fathom_span_end(&span);
		computes();
		sleeps(10 * MS);
	}
	return 0;
}
