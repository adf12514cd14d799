/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of `fathom up`, and the user of its parts. */
#ifndef UP_PLACE_H
#define UP_PLACE_H

#include "base/error.h"
#include "recorder/privileges.h"

#define UP_SOCKET ".up"
#define UP_SETTINGS "fathom.conf" /* stays that of who wrote it */
#define PLACE_PATH_BYTES 64

struct place {
	int dir;  /* -1: closed */
	int lock; /* held while any part lives */
	struct login login;
	char user[64]; /* its name */
};

/*
 * Finds the user: `name`, or "fathom", else "nobody", if this is root; else who called, also where
 * this user namespace has root alone. -ENOENT if there is no such user.
 */
int place_user(struct place *p, const char *name, struct error *e);

/*
 * Makes the directory for that user if it is not there, opens it and locks it; waits up to two
 * seconds for what an earlier run left. Root gives an empty directory of its own to the user, and
 * no other one. -EBUSY: another `fathom up` or `fathom serve` has it; -EPERM: it is another user's.
 */
int place_open(struct place *p, const char *dir, struct error *e);

/*
 * Becomes the user for good, without any capability, and puts into `path` how that user reaches the
 * directory: through the descriptor, as its parents may be closed to others. Does nothing if that
 * is who called. 0 or a negative errno.
 */
int place_become(const struct place *p, char path[PLACE_PATH_BYTES], struct error *e);

/*
 * Listens at a Unix socket in the directory, which only its user and root can use. A descriptor, or
 * a negative errno. Not thread-safe.
 */
int place_listen(const struct place *p, const char *name);

/* Removes the name of such a socket. */
void place_quit(const struct place *p, const char *name);

/* Closes and frees all; start with -1 for descriptors. */
void place_close(struct place *p);

#endif
