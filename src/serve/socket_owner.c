/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/socket_owner.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 500

bool socket_ends_read(int fd, struct socket_ends *ends)
{
	socklen_t own = sizeof(ends->own), other = sizeof(ends->other);

	memset(ends, 0, sizeof(*ends));
	return getsockname(fd, (struct sockaddr *)&ends->own, &own) == 0 &&
	       getpeername(fd, (struct sockaddr *)&ends->other, &other) == 0 &&
	       (ends->other.ss_family == AF_INET || ends->other.ss_family == AF_INET6);
}

/* An address as IPv4 where it is one, and its port. */
struct end {
	uint8_t family;
	uint32_t words[4];
	uint16_t port;
};

static struct end end_of(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	struct end end = {.family = (uint8_t)address->ss_family};

	if (end.family == AF_INET) {
		end.words[0] = v4->sin_addr.s_addr;
		end.port = v4->sin_port;
		return end;
	}
	memcpy(end.words, &v6->sin6_addr, sizeof(end.words));
	end.port = v6->sin6_port;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		end.family = AF_INET;
		end.words[0] = end.words[3];
		end.words[1] = end.words[2] = end.words[3] = 0;
	}
	return end;
}

bool socket_ends_are_local(const struct socket_ends *ends)
{
	struct end own = end_of(&ends->own), other = end_of(&ends->other);
	static const uint32_t loopback6[4] = {0, 0, 0, 0};
	bool is_v6_loopback = memcmp(other.words, loopback6, 12) == 0 && ntohl(other.words[3]) == 1;

	if (other.family == AF_INET ? ntohl(other.words[0]) >> 24 == 127 : is_v6_loopback)
		return true;
	return own.family == other.family && memcmp(own.words, other.words, sizeof(own.words)) == 0;
}

/* As a table of the kernel shows it: the words as they lie in memory. */
static void end_text(const struct end *end, bool as_v6, char *text, size_t size)
{
	uint32_t w[4];

	memcpy(w, end->words, sizeof(w));
	if (as_v6 && end->family == AF_INET) {
		w[3] = w[0];
		w[2] = htonl(0xffff);
		w[0] = w[1] = 0;
	}
	if (as_v6)
		snprintf(text, size, "%08X%08X%08X%08X:%04X", w[0], w[1], w[2], w[3],
			 ntohs(end->port));
	else
		snprintf(text, size, "%08X:%04X", w[0], ntohs(end->port));
}

/* The inode of the connection in a table of a process's namespace; 0: it is not there. */
static uint64_t table_look(const char *pid, const struct socket_ends *ends, bool as_v6)
{
	struct end own = end_of(&ends->own), other = end_of(&ends->other);
	char path[64], near[64], far[64], from[64], to[64], line[512];
	uint64_t found = 0, inode;
	FILE *file;

	if (!as_v6 && other.family != AF_INET)
		return 0;
	end_text(&other, as_v6, near, sizeof(near));
	end_text(&own, as_v6, far, sizeof(far));
	snprintf(path, sizeof(path), "/proc/%.16s/net/tcp%s", pid, as_v6 ? "6" : "");
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %*d: %63s %63s %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64, from,
			   to, &inode) == 3 &&
		    strcmp(from, near) == 0 && strcmp(to, far) == 0)
			found = inode;
	}
	if (file)
		fclose(file);
	return found;
}

static uint64_t tables_look(const char *pid, const struct socket_ends *ends)
{
	uint64_t inode = table_look(pid, ends, false);

	return inode ? inode : table_look(pid, ends, true);
}

struct diag_question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 request;
};

static bool question_send(int fd, const struct socket_ends *ends)
{
	struct end own = end_of(&ends->own), other = end_of(&ends->other);
	struct diag_question q = {
		.head = {.nlmsg_len = sizeof(q),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = other.family,
			    .sdiag_protocol = IPPROTO_TCP,
			    .idiag_states = ~0u,
			    .id = {.idiag_sport = other.port,
				   .idiag_dport = own.port,
				   .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};

	memcpy(q.request.id.idiag_src, other.words, sizeof(other.words));
	memcpy(q.request.id.idiag_dst, own.words, sizeof(own.words));
	return send(fd, &q, sizeof(q), 0) == sizeof(q);
}

uint64_t socket_inode_find(const struct socket_ends *ends)
{
	const struct timeval patience = {.tv_usec = WAIT_MS * 1000};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	uint64_t inode = 0;
	ssize_t n;

	if (fd < 0) /* a sandbox may not let it ask: the tables are slower */
		return tables_look("self", ends);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (question_send(fd, ends)) {
		n = recv(fd, &answer, sizeof(answer), 0);
		if (n >= (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) &&
		    answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
			inode = ((struct inet_diag_msg *)NLMSG_DATA(&answer.head))->idiag_inode;
	}
	close(fd);
	return inode;
}

/* ---- other network namespaces ---- */

#define NAMESPACES_MAX 256

/* The number of the network namespace of a process; 0: it may not be looked at. */
static uint64_t namespace_of(const char *pid)
{
	char path[64], link[64];
	uint64_t number = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/ns/net", pid);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	return sscanf(link, "net:[%" SCNu64, &number) == 1 ? number : 0;
}

uint64_t socket_inode_elsewhere(const struct socket_ends *ends)
{
	uint64_t seen[NAMESPACES_MAX] = {namespace_of("self")}, inode = 0;
	unsigned int count = 1, i;
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && !inode && count < NAMESPACES_MAX && (entry = readdir(dir))) {
		uint64_t number = *entry->d_name >= '1' && *entry->d_name <= '9'
					  ? namespace_of(entry->d_name)
					  : 0;

		for (i = 0; i < count && number && seen[i] != number; i++)
			;
		if (!number || i < count)
			continue;
		seen[count++] = number;
		inode = tables_look(entry->d_name, ends);
	}
	if (dir)
		closedir(dir);
	return inode;
}

/* ---- the process ---- */

static bool has_socket(const char *pid, const char *wanted)
{
	char path[64], link[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		found = strcmp(link, wanted) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void owner_name(struct socket_owner *owner)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", owner->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(owner->name, sizeof(owner->name), file))
		owner->name[strcspn(owner->name, "\n")] = '\0';
	fclose(file);
}

bool socket_owner_find(uint64_t inode, const uint32_t *likely, unsigned int likely_count,
		       struct socket_owner *owner)
{
	char wanted[64], pid[16];
	struct dirent *entry;
	DIR *dir;

	*owner = (struct socket_owner){0};
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
	for (unsigned int i = 0; i < likely_count && !owner->pid; i++) {
		snprintf(pid, sizeof(pid), "%u", likely[i]);
		if (likely[i] && has_socket(pid, wanted))
			owner->pid = likely[i];
	}
	dir = owner->pid ? NULL : opendir("/proc");
	while (dir && !owner->pid && (entry = readdir(dir))) {
		if (*entry->d_name >= '1' && *entry->d_name <= '9' &&
		    has_socket(entry->d_name, wanted))
			owner->pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	if (dir)
		closedir(dir);
	if (owner->pid)
		owner_name(owner);
	return owner->pid != 0;
}
