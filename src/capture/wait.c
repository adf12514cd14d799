// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/epoll.h>

#include <bpf/libbpf.h>

#include "capture/app/rings.h"
#include "capture/internal.h"
#include "programs.skel.h"

#define MS 1000000ull
#define PAUSE_AWAKE_MS 1
#define PAUSE_MS 100

/* Edge-triggered: a ring has unread data nearly all the time, which is no reason to wake up. */
int capture_wait_for(struct capture *c, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	return epoll_ctl(c->wake_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int capture_wait_open(struct capture *c)
{
	c->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	return c->wake_fd < 0 ? -errno : capture_wait_for(c, bpf_map__fd(c->programs->maps.rare));
}

/*
 * How long to sleep at most. The programs wake us when rings fill, and for news. Nobody wakes us
 * for rings of applications, which a thread can fill in a fraction of a millisecond, nor for the
 * rest of a ring whose drain ended at a record that was being written.
 */
static u64 pause_ms(const struct capture *c)
{
	if (c->polled_ns < c->awake_until_ns || c->unfinished ||
	    (c->apps && app_rings_any(c->apps)))
		return PAUSE_AWAKE_MS;
	return PAUSE_MS;
}

void capture_wait(struct capture *c, u64 at_most_ns)
{
	u64 ms = pause_ms(c);
	struct epoll_event event;

	if (at_most_ns < ms * MS)
		ms = (at_most_ns + MS - 1) / MS;
	epoll_wait(c->wake_fd, &event, 1, (int)ms);
}
