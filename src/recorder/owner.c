/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/owner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads a number from the environment; false if there is none. */
static bool id_read(const char *name, unsigned int *id)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= (unsigned int)-1)
		return false;
	*id = (unsigned int)value;
	return true;
}

static struct chunk_owner owner;

static void owner_read(void)
{
	owner = (struct chunk_owner){getuid(), getgid()};
	if (owner.uid == 0 && geteuid() == 0) { /* an ordinary user could set these variables */
		unsigned int uid, gid;

		if (id_read("SUDO_UID", &uid) && id_read("SUDO_GID", &gid))
			owner = (struct chunk_owner){uid, gid};
	}
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

void owner_set(const struct chunk_owner *of)
{
	pthread_once(&once, owner_read);
	owner = *of;
}

const struct chunk_owner *owner_find(void)
{
	pthread_once(&once, owner_read);
	return owner.uid == geteuid() ? NULL : &owner;
}
