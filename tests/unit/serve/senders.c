/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends: this program connects to itself. */
#include "serve/senders.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

struct pair {
	int client, server;
};

static struct pair pair_make(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	struct pair pair = {.client = socket(AF_INET, SOCK_STREAM, 0)};

	CHECK_EQ(bind(listening, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_EQ(listen(listening, 1), 0);
	CHECK_EQ(getsockname(listening, (struct sockaddr *)&at, &size), 0);
	CHECK_EQ(connect(pair.client, (struct sockaddr *)&at, sizeof(at)), 0);
	pair.server = accept(listening, NULL, NULL);
	CHECK(pair.server >= 0);
	close(listening);
	return pair;
}

static void pair_close(const struct pair *pair)
{
	close(pair->client);
	close(pair->server);
}

static struct sender_info found(struct senders *s, uint16_t number, const char *service)
{
	const struct sender_words words = {service, "c"};
	struct sender_info info = {0};

	senders_learn(s, number, &words);
	for (int i = 0; i < 1000 && !senders_find(s, number, &info); i++)
		poll(NULL, 0, 10);
	return info;
}

TEST(the_process_at_the_other_end_is_found)
{
	struct pair pair = pair_make();
	struct socket_ends ends;
	struct socket_owner owner;
	uint32_t likely[] = {1, (uint32_t)getpid()};
	uint64_t inode;

	CHECK(socket_ends_read(pair.server, &ends));
	CHECK(socket_ends_are_local(&ends));
	inode = socket_inode_find(&ends);
	CHECK(inode != 0);
	CHECK(socket_owner_find(inode, likely, 2, &owner));
	CHECK_EQ(owner.pid, (uint32_t)getpid());
	CHECK(socket_owner_find(inode, NULL, 0, &owner));
	CHECK_EQ(owner.pid, (uint32_t)getpid());
	CHECK(!socket_owner_find(inode + 1000000000, NULL, 0, &owner));
	pair_close(&pair);
}

/* As the unit of a service may. */
static int netlink_forbid(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {sizeof(steps) / sizeof(*steps), steps};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(the_process_at_the_other_end_is_found_without_netlink)
{
	struct pair pair = pair_make();
	struct socket_ends ends;
	int status = 0;
	pid_t child;

	CHECK(socket_ends_read(pair.server, &ends));
	child = fork();
	if (child == 0) {
		if (netlink_forbid())
			_exit(0); /* none of this can be here */
		_exit(socket(AF_NETLINK, SOCK_RAW, 0) >= 0 || !socket_inode_find(&ends));
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	pair_close(&pair);
}

TEST(connections_of_one_process_are_one_sender)
{
	struct pair one = pair_make(), two = pair_make();
	const struct sender_request taken = {.spans = 5, .rejected = 1};
	const struct sender_request refused = {.is_refused = true};
	struct senders *s;
	struct sender_info info;
	sender_list list = {0};
	uint16_t first, second;

	CHECK_EQ(senders_open(NULL, &s), 0);
	first = senders_connection(s, one.server);
	CHECK(first != 0);
	senders_request(s, first, &taken); /* before it may be known who that is */
	CHECK_EQ(senders_connection(s, one.server), first);
	second = senders_connection(s, two.server);
	CHECK(second != 0 && second != first);
	info = found(s, second, "bank");
	CHECK_EQ(info.pid, (uint32_t)getpid());
	info = found(s, first, "shop");
	senders_request(s, second, &refused);
	CHECK_EQ(senders_read(s, &list), 0);
	CHECK_EQ(list.count, 1);
	CHECK_EQ(list.data[0].pid, (uint32_t)getpid());
	CHECK_EQ(list.data[0].requests, 2);
	CHECK_EQ(list.data[0].requests_refused, 1);
	CHECK_EQ(list.data[0].spans, 5);
	CHECK_EQ(list.data[0].spans_rejected, 1);
	CHECK(list.data[0].is_local);
	CHECK_STR(list.data[0].address, "127.0.0.1");
	CHECK_STR(list.data[0].services[0], "bank");
	CHECK_STR(list.data[0].services[1], "shop");
	CHECK_EQ(list.data[0].services_count, 2);
	CHECK_STR(list.data[0].language, "c");
	CHECK(list.data[0].last_ns >= list.data[0].first_ns && list.data[0].first_ns > 0);
	vec_free(&list);
	senders_close(s);
	pair_close(&one);
	pair_close(&two);
}

static bool nobody_find(void *arg, uint64_t inode, const struct socket_ends *ends,
			struct socket_owner *owner)
{
	return false;
}

TEST(a_sender_whose_process_is_not_seen_is_told_by_its_address)
{
	const struct owner_finder nobody = {nobody_find, NULL};
	struct pair pair = pair_make();
	struct senders *s;
	struct sender_info info;
	uint16_t number;

	CHECK_EQ(senders_open(&nobody, &s), 0);
	number = senders_connection(s, pair.server);
	info = found(s, number, NULL);
	CHECK_EQ(info.pid, 0);
	CHECK(info.is_local);
	CHECK_STR(info.address, "127.0.0.1");
	CHECK_EQ(senders_connection(s, -1), 0);
	CHECK(!senders_find(s, 0, &info));
	senders_close(s);
	pair_close(&pair);
}

/* Holds the look for a sender until it is told to go on. */
static bool late_find(void *arg, uint64_t inode, const struct socket_ends *ends,
		      struct socket_owner *owner)
{
	char go_on;

	CHECK_EQ(read(*(int *)arg, &go_on, 1), 1);
	*owner = (struct socket_owner){.pid = 7, .name = "late"};
	return true;
}

TEST(words_that_come_before_the_sender_is_known_are_kept)
{
	static const char *const services[] = {"a", "b", "a", "c", "d", "e"};
	int fds[2];
	const struct owner_finder late = {late_find, &fds[0]};
	struct pair pair = pair_make();
	struct senders *s;
	struct sender_info info;
	uint16_t number;

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(senders_open(&late, &s), 0);
	number = senders_connection(s, pair.server);
	for (size_t i = 0; i < 6; i++)
		senders_learn(s, number, &(struct sender_words){services[i], "go"});
	senders_learn(s, number + 1, &(struct sender_words){"nobody", NULL});
	CHECK(!senders_find(s, number, &info));
	CHECK_EQ(write(fds[1], "x", 1), 1);
	info = found(s, number, NULL);
	CHECK_EQ(info.pid, 7);
	for (size_t i = 0; i < SENDER_SERVICES; i++)
		CHECK_STR(info.services[i], ((const char *const[]){"a", "b", "c", "d"})[i]);
	CHECK(info.services_count > SENDER_SERVICES);
	CHECK_STR(info.language, "c"); /* the last one */
	senders_close(s);
	close(fds[0]);
	close(fds[1]);
	pair_close(&pair);
}

TEST_MAIN()
