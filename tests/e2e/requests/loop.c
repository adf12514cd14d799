/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service that is one thread in a loop of epoll: each request asks redis and then memcached, over
 * connections that requests share one after the other.
 *
 * usage: loop LEDGER PORT redis=PORT memcached=PORT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "speak.h"

#define STEPS_MAX 3

struct connection;

struct peer {
	int port;
	const char *end; /* of its answers */
	size_t (*request)(const char *key, char *out);
	struct connection *free;
};

/* A connection on which we serve, or one to a peer, which works for one of the others. */
struct connection {
	struct line line;
	int64_t begin_ns;
	char ident[IDENT_MAX];
	struct peer *peer;
	struct connection *next_free, *owner;
	int step;
};

static struct peer redis = {0, REDIS_END, redis_request, NULL};
static struct peer memcached = {0, MEMCACHED_END, memcached_request, NULL};
static int poll_fd;

static void connection_watch(struct connection *c)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

	epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->line.fd, &event);
}

static struct connection *peer_take(struct peer *peer)
{
	struct connection *c = peer->free;

	if (c) {
		peer->free = c->next_free;
		return c;
	}
	c = calloc(1, sizeof(*c));
	c->peer = peer;
	c->line = talk_connect(peer->port);
	connection_watch(c);
	return c;
}

static void peer_ask(struct peer *peer, struct connection *owner)
{
	struct connection *c = peer_take(peer);
	char message[MESSAGE_MAX];
	size_t length;

	snprintf(c->ident, IDENT_MAX, "%.*s.%d", IDENT_MAX - 12, owner->ident, owner->step);
	length = peer->request(c->ident, message);
	c->owner = owner;
	c->begin_ns = now_ns();
	talk_send(&c->line, message, length);
}

/* What a request does next: a kind of it asks memcached twice. */
static void serve_on(struct connection *c)
{
	int steps = kind_of(c->ident) == 1 ? STEPS_MAX : STEPS_MAX - 1;

	if (c->step < steps) {
		peer_ask(c->step ? &memcached : &redis, c);
		return;
	}
	talk_send(&c->line, HTTP_ANSWER, strlen(HTTP_ANSWER));
	ledger_add('s', &c->line, c->begin_ns, now_ns(), c->ident);
}

static void request_came(struct connection *c)
{
	char head[MESSAGE_MAX];

	if (!talk_receive(&c->line, head, sizeof(head), "\r\n\r\n")) {
		close(c->line.fd);
		free(c);
		return;
	}
	c->begin_ns = now_ns();
	c->step = 0;
	http_ident(head, c->ident);
	serve_on(c);
}

static void answer_came(struct connection *c)
{
	char answer[MESSAGE_MAX];

	talk_receive(&c->line, answer, sizeof(answer), c->peer->end);
	ledger_add('c', &c->line, c->begin_ns, now_ns(), c->ident);
	c->next_free = c->peer->free;
	c->peer->free = c;
	c->owner->step++;
	serve_on(c->owner);
}

static void accepted(int listener)
{
	struct connection *c = calloc(1, sizeof(*c));

	c->line = talk_accept(listener);
	connection_watch(c);
}

int main(int argc, char **argv)
{
	struct connection ours = {0};

	if (argc < 5)
		return 2;
	ledger_begin("loop", argv[1]);
	redis.port = argument(argv, "redis");
	memcached.port = argument(argv, "memcached");
	ours.line.fd = talk_listen(atoi(argv[2]));
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	connection_watch(&ours);
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(poll_fd, events, 64, -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			if (c == &ours)
				accepted(ours.line.fd);
			else if (c->peer)
				answer_came(c);
			else
				request_came(c);
		}
	}
}
