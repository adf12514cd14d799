/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of this host is at the other end of a connection. */
#ifndef SERVE_SOCKET_OWNER_H
#define SERVE_SOCKET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct socket_owner {
	uint32_t pid; /* 0: not known */
	char name[16];
};

/* The two ends of a connection, as this process sees them. */
struct socket_ends {
	struct sockaddr_storage own, other;
};

/* False: the socket is none of an IP address, or is not connected. */
bool socket_ends_read(int fd, struct socket_ends *ends);

/* Whether the other end has an address of this host, as far as the addresses tell. */
bool socket_ends_are_local(const struct socket_ends *ends);

/*
 * The inode of the socket at the other end; 0: there is none in this network namespace. Takes some
 * microseconds.
 */
uint64_t socket_inode_find(const struct socket_ends *ends);

/*
 * The same in the network namespaces of other processes, of containers, as far as the caller may
 * look into them. Takes some microseconds for each process of the host.
 */
uint64_t socket_inode_elsewhere(const struct socket_ends *ends);

/*
 * The process that has the socket, as far as the caller may see. Processes of `likely` are looked
 * at first. Takes some microseconds for each open file of the host. False: nobody is seen.
 */
bool socket_owner_find(uint64_t inode, const uint32_t *likely, unsigned int likely_count,
		       struct socket_owner *owner);

#endif
