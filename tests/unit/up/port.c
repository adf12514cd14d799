/* SPDX-License-Identifier: Apache-2.0 */
/* Who listens at a port is found in /proc. */
#include "up/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

/* Listens at a free port, whose number is *port. */
static int listen_at(int family, unsigned int *port)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr *address = family == AF_INET ? (void *)&v4 : (void *)&v6;
	socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, address, size) || listen(fd, 1))
		return -1;
	CHECK_EQ(getsockname(fd, address, &size), 0);
	*port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	return fd;
}

static void own_port_is_found(int family, const char *host)
{
	char address[64], holder[128], pid[32];
	unsigned int port;
	int fd = listen_at(family, &port);

	if (fd < 0) /* a host without IPv6 */
		return;
	snprintf(address, sizeof(address), "%s:%u", host, port);
	snprintf(pid, sizeof(pid), "(pid %d)", getpid());
	CHECK(port_holder(address, holder, sizeof(holder)));
	CHECK(strstr(holder, pid) != NULL);
	close(fd);
	CHECK(!port_holder(address, holder, sizeof(holder)));
}

TEST(a_port_of_this_process_is_found)
{
	own_port_is_found(AF_INET, "127.0.0.1");
	own_port_is_found(AF_INET6, "[::1]");
}

/* A process that may not look at the files of others. */
TEST(a_port_of_another_user_names_the_user)
{
	unsigned int port;
	int fd = listen_at(AF_INET, &port), status = 0;
	pid_t child = geteuid() == 0 && fd >= 0 ? fork() : -1;

	if (child < 0)
		return;
	if (child == 0) {
		char address[64], holder[128];

		snprintf(address, sizeof(address), "127.0.0.1:%u", port);
		close(fd); /* that of the parent is not seen */
		_exit(setuid(12345) || !port_holder(address, holder, sizeof(holder)) ||
		      strcmp(holder, "a program of user root") != 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	close(fd);
}

TEST_MAIN()
