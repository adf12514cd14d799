/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that wait for the seal of a chunk, while others are sealed. */
#include "recorder/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

struct asking {
	pthread_t thread;
	const char *dir, *request;
	char answer[256];
	int result;
	struct error error;
};

static void *ask(void *arg)
{
	struct asking *a = arg;

	const struct control_request request = {.line = a->request};

	a->result = control_ask(a->dir, &request, a->answer, sizeof(a->answer), &a->error);
	return NULL;
}

static void asking_start(struct asking *a, const char *dir, const char *request)
{
	*a = (struct asking){.dir = dir, .request = request};
	CHECK_EQ(pthread_create(&a->thread, NULL, ask, a), 0);
}

/* Serves until a request has arrived. */
static void serve_until_wanted(struct control *c)
{
	while (!control_wants_rotation(c)) {
		control_serve(c, NULL);
		usleep(200);
	}
}

static void rotate_and_seal(struct control *c, int number)
{
	char path[32];

	control_rotates(c);
	snprintf(path, sizeof(path), "/chunk-%d", number);
	control_sealed(c, path);
}

static char dir[] = "/tmp/fathom-control-XXXXXX";
static struct control *control;

TEST(a_client_gets_the_chunk_that_follows_its_request)
{
	struct asking a;

	CHECK(mkdtemp(dir) != NULL);
	CHECK_EQ(control_open(&control, dir, NULL, "rotate", NULL), 0);
	for (int i = 1; i <= 1000; i++) {
		rotate_and_seal(control, i);
		control_serve(control, NULL);
	}
	asking_start(&a, dir, "rotate\n");
	serve_until_wanted(control);
	rotate_and_seal(control, 1001);
	rotate_and_seal(control, 1002);
	control_serve(control, NULL);
	CHECK_EQ(pthread_join(a.thread, NULL), 0);
	CHECK_EQ(a.result, 0);
	CHECK_STR(a.answer, "/chunk-1001");
}

TEST(a_seal_under_way_is_not_the_answer)
{
	struct asking a;

	control_rotates(control); /* chunk 1003 is cut, but not sealed yet */
	asking_start(&a, dir, "rotate\n");
	serve_until_wanted(control);
	control_sealed(control, "/chunk-1003");
	control_serve(control, NULL);
	rotate_and_seal(control, 1004);
	control_serve(control, NULL);
	CHECK_EQ(pthread_join(a.thread, NULL), 0);
	CHECK_STR(a.answer, "/chunk-1004");
}

TEST(a_chunk_that_cannot_be_sealed_is_an_error)
{
	struct asking a;

	asking_start(&a, dir, "rotate\n");
	serve_until_wanted(control);
	control_rotates(control);
	control_sealed(control, NULL);
	control_serve(control, NULL);
	CHECK_EQ(pthread_join(a.thread, NULL), 0);
	CHECK(a.result < 0);
	CHECK(strstr(a.error.text, "could not be sealed") != NULL);
}

TEST(a_chunk_that_cannot_be_begun_is_an_error)
{
	struct asking a, b;

	asking_start(&a, dir, "rotate\n");
	serve_until_wanted(control);
	control_rotates(control); /* under way: it will be answered */
	asking_start(&b, dir, "rotate\n");
	serve_until_wanted(control);
	control_refuses(control, "the chunk could not be written");
	CHECK_EQ(pthread_join(b.thread, NULL), 0);
	CHECK(b.result < 0);
	CHECK(strstr(b.error.text, "could not be written") != NULL);
	control_sealed(control, "/chunk-of-a");
	control_serve(control, NULL);
	CHECK_EQ(pthread_join(a.thread, NULL), 0);
	CHECK_STR(a.answer, "/chunk-of-a");
}

static void *serve_for_a_while(void *arg)
{
	for (int i = 0; i < 10000 && !atomic_load((atomic_bool *)arg); i++) {
		control_serve(control, NULL);
		usleep(200);
	}
	return NULL;
}

TEST(another_request_is_refused_and_says_which_is_right)
{
	atomic_bool done = false;
	pthread_t server;
	struct asking a = {.dir = dir, .request = "snapshot\n"};

	CHECK_EQ(pthread_create(&server, NULL, serve_for_a_while, &done), 0);
	ask(&a);
	atomic_store(&done, true);
	CHECK_EQ(pthread_join(server, NULL), 0);
	CHECK(a.result < 0);
	CHECK(strstr(a.error.text, "fathom rotate") != NULL);
	CHECK(!control_wants_rotation(control));
}

static int connect_idle(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.control", dir);
	CHECK_EQ(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

TEST(who_asks_nothing_is_in_nobodys_way)
{
	int idle[70]; /* more than are accepted: the others wait in the queue, as does the client
			 below */
	struct asking a;

	for (int i = 0; i < 70; i++) {
		idle[i] = connect_idle();
		control_serve(control, NULL);
	}
	asking_start(&a, dir, "rotate\n");
	serve_until_wanted(control);
	rotate_and_seal(control, 9);
	control_serve(control, NULL);
	CHECK_EQ(pthread_join(a.thread, NULL), 0);
	CHECK_STR(a.answer, "/chunk-9");
	for (int i = 0; i < 70; i++)
		close(idle[i]);
}

TEST(who_asks_does_not_wait_for_ever)
{
	const struct control_request request = {.line = "rotate\n", .patience_s = 1};
	char answer[64];
	struct error e = {0};

	/* nobody serves */
	CHECK_EQ(control_ask(dir, &request, answer, sizeof(answer), &e), -ETIMEDOUT);
	CHECK(strstr(e.text, "has not answered within 1 s") != NULL);
}

TEST(who_comes_when_no_descriptor_is_free_is_told)
{
	const struct control_request request = {.line = "rotate\n"};
	struct rlimit limit, none;
	char answer[128] = "";
	struct error e = {0};
	int fd, lowest, status = -1;
	pid_t asker;

	for (int i = 0; i < 2; i++)
		control_serve(control, NULL); /* the earlier clients close */
	fd = connect_idle();
	lowest = dup(fd);
	close(lowest);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){(rlim_t)lowest, limit.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	control_serve(control, NULL);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK(recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT) > 0);
	CHECK(strstr(answer, "no free file descriptor") != NULL);

	/* and the next one, which has asked before the answer */
	asker = fork();
	if (asker == 0)
		_exit(control_ask(dir, &request, answer, sizeof(answer), &e) < 0 &&
				      strstr(e.text, "no free file descriptor")
			      ? 0
			      : 1);
	CHECK(asker > 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 10000 && waitpid(asker, &status, WNOHANG) == 0; i++) {
		usleep(1000);
		control_serve(control, NULL);
	}
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(status, 0);
	close(fd);
}

TEST(nobody_answers_when_it_is_closed)
{
	const struct control_request request = {.line = "rotate\n"};
	char answer[64];
	struct error e = {0};

	control_close(control);
	CHECK(control_ask(dir, &request, answer, sizeof(answer), &e) < 0);
	CHECK_EQ(rmdir(dir), 0); /* the socket is gone */
}

TEST_MAIN()
