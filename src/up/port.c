/* SPDX-License-Identifier: Apache-2.0 */
#include "up/port.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/socket_owner.h"

#define LISTENS 0x0a /* TCP_LISTEN, as /proc/net/tcp shows it */

struct listener {
	uint64_t inode; /* 0: none */
	unsigned int uid;
};

/* The socket that listens at a port, in a table of the kernel. */
static struct listener listener_find(const char *table, unsigned int port)
{
	FILE *file = fopen(table, "re");
	struct listener found = {0}, one;
	char line[512];

	while (file && !found.inode && fgets(line, sizeof(line), file)) {
		unsigned int at, state;

		if (sscanf(line,
			   " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %u %*u "
			   "%" SCNu64,
			   &at, &state, &one.uid, &one.inode) == 4 &&
		    at == port && state == LISTENS)
			found = one;
	}
	if (file)
		fclose(file);
	return found;
}

static void user_name(unsigned int uid, char *text, size_t size)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(text, size, "a program of user %s", user->pw_name);
	else
		snprintf(text, size, "a program of user %u", uid);
}

bool port_holder(const char *address, char *text, size_t size)
{
	const char *colon = strrchr(address, ':');
	unsigned int port = colon ? (unsigned int)strtoul(colon + 1, NULL, 10) : 0;
	struct listener listener = listener_find("/proc/net/tcp", port);
	struct socket_owner owner;

	if (!listener.inode)
		listener = listener_find("/proc/net/tcp6", port);
	if (!listener.inode)
		return false;
	if (socket_owner_find(listener.inode, NULL, 0, &owner))
		snprintf(text, size, "'%s' (pid %u)", *owner.name ? owner.name : "?", owner.pid);
	else
		user_name(listener.uid, text, size);
	return true;
}
