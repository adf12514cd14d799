/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that serve: made before, for a connection, or for a request. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rules.h"

#define SERVERS 3

/* A child that ends with its parent, which writes the ledger of both. */
static pid_t child_begin(void)
{
	pid_t child = fork();

	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void serve_and_end(struct asked *a)
{
	struct line backend = talk_connect(rules_backend);

	asked_serve(a, &backend);
	_exit(0);
}

static void forked(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		struct asked *a = asked_accept();

		if (!child_begin())
			serve_and_end(a);
		asked_end(a);
	}
}

static void prefork(void)
{
	for (int i = 0; i < SERVERS; i++)
		if (!child_begin()) {
			struct line backend = talk_connect(rules_backend);

			for (;;) {
				struct asked *a = asked_accept();

				asked_serve(a, &backend);
				asked_end(a);
			}
		}
	for (;;)
		pause();
}

/* For each request a child that makes the calls and ends, as a web server does for a script. */
static void serve_by_children(struct asked *a)
{
	signal(SIGCHLD, SIG_DFL);
	while (asked_read(a)) {
		pid_t child = child_begin();

		if (!child) {
			struct line backend = talk_connect(rules_backend);

			asked_call_all(a, &backend);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		asked_answer(a);
	}
	_exit(0);
}

static void cgi(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		struct asked *a = asked_accept();

		if (!child_begin())
			serve_by_children(a);
		asked_end(a);
	}
}

const struct mode process_modes[] = {
	{"forked", forked},
	{"prefork", prefork},
	{"cgi", cgi},
	{NULL, NULL},
};
