/* SPDX-License-Identifier: Apache-2.0 */
#include "up/port.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/socket_owner.h"

#define LISTENS 0x0a /* TCP_LISTEN, as /proc/net/tcp shows it */

/* The inode of the socket that listens at a port, in a table of the kernel; 0: none does. */
static uint64_t listener_find(const char *table, unsigned int port)
{
	FILE *file = fopen(table, "re");
	uint64_t found = 0;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		unsigned int at, state;
		uint64_t inode;

		if (sscanf(line,
			   " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u "
			   "%" SCNu64,
			   &at, &state, &inode) == 3 &&
		    at == port && state == LISTENS)
			found = inode;
	}
	if (file)
		fclose(file);
	return found;
}

bool port_holder(const char *address, char *text, size_t size)
{
	const char *colon = strrchr(address, ':');
	unsigned int port = colon ? (unsigned int)strtoul(colon + 1, NULL, 10) : 0;
	uint64_t inode = listener_find("/proc/net/tcp", port);
	struct socket_owner owner;

	inode = inode ? inode : listener_find("/proc/net/tcp6", port);
	if (!inode || !socket_owner_find(inode, NULL, 0, &owner))
		return false;
	snprintf(text, size, "'%s' (pid %u)", *owner.name ? owner.name : "?", owner.pid);
	return true;
}
