/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread in a loop of epoll that has many requests under way: only what a request does, and in
 * what order, tells whose a call is. A loop may put off what it read to its next turn, and may ask
 * on one connection again before it has an answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rules.h"

#define WAITING_MAX 1024

/* A call that waits for its answer, on a connection to the backend. */
struct call {
	struct asked *owner;
	int64_t begin_ns;
	char ident[IDENT_MAX];
};

struct backend {
	struct line line;
	struct backend *next_free;
	struct call calls[WAITING_MAX];
	unsigned int begun, ended;
};

struct watched {
	struct asked *asked;	 /* on which requests come, */
	struct backend *backend; /* or answers; neither: the listener */
};

static int poll_fd;
static bool is_deferred, is_pipelined;
static struct backend *free_backends;
static struct asked *deferred, **deferred_last = &deferred;

static void watch(int fd, struct asked *asked, struct backend *backend)
{
	struct watched *w = calloc(1, sizeof(*w));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

	*w = (struct watched){asked, backend};
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
}

static struct backend *backend_take(void)
{
	struct backend *b = free_backends;

	if (b) {
		free_backends = is_pipelined ? b : b->next_free;
		return b;
	}
	b = calloc(1, sizeof(*b));
	b->line = talk_connect(rules_backend);
	watch(b->line.fd, NULL, b);
	if (is_pipelined)
		free_backends = b;
	return b;
}

static void go_on(struct asked *a)
{
	char message[IDENT_MAX + 2];
	struct backend *b;
	struct call *c;

	if (a->calls_done == CALLS) {
		asked_answer(a);
		return;
	}
	b = backend_take();
	c = &b->calls[b->begun++ % WAITING_MAX];
	c->owner = a;
	asked_call_ident(a, c->ident);
	snprintf(message, sizeof(message), "%s\n", c->ident);
	c->begin_ns = now_ns();
	talk_send(&b->line, message, strlen(message));
}

static void go_on_later(struct asked *a)
{
	if (!is_deferred) {
		go_on(a);
		return;
	}
	a->next = NULL;
	*deferred_last = a;
	deferred_last = &a->next;
}

static void run_deferred(void)
{
	struct asked *a = deferred, *next;

	deferred = NULL;
	deferred_last = &deferred;
	for (; a; a = next) {
		next = a->next;
		go_on(a);
	}
}

/* One read may bring several answers. */
static void answers_came(struct backend *b)
{
	char answers[4096];
	size_t n = talk_receive(&b->line, answers, sizeof(answers), ANSWER);

	for (size_t i = 0; i < n / strlen(ANSWER); i++) {
		struct call *c = &b->calls[b->ended++ % WAITING_MAX];
		struct asked *owner = c->owner;

		ledger_add('c', &b->line, c->begin_ns, now_ns(), c->ident);
		if (!is_pipelined) {
			b->next_free = free_backends;
			free_backends = b;
		}
		go_on_later(owner);
	}
}

static void happened(struct watched *w)
{
	if (w->backend) {
		answers_came(w->backend);
	} else if (!w->asked) {
		struct asked *a = asked_accept();

		watch(a->line.fd, a, NULL);
	} else if (asked_read(w->asked)) {
		go_on_later(w->asked);
	} else {
		asked_end(w->asked);
		free(w);
	}
}

static void loop_run(bool deferring, bool pipelining)
{
	is_deferred = deferring;
	is_pipelined = pipelining;
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	watch(rules_listener, NULL, NULL);
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(poll_fd, events, 64, deferred ? 0 : -1);

		run_deferred();
		for (int i = 0; i < n; i++)
			happened(events[i].data.ptr);
	}
}

static void loop(void)
{
	loop_run(false, false);
}

static void defers(void)
{
	loop_run(true, false);
}

static void pipelines(void)
{
	loop_run(false, true);
}

const struct mode loop_modes[] = {
	{"loop", loop},
	{"defers", defers},
	{"pipelines", pipelines},
	{NULL, NULL},
};
