/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread may do, and as whom a program runs. */
#ifndef RECORDER_PRIVILEGES_H
#define RECORDER_PRIVILEGES_H

#include <sys/types.h>

#include "base/error.h"
#include "chunk/chunk.h"
#include "record/record.h"

/*
 * Gives up all capabilities of the calling thread, alone, but those in `kept`, a bit each. 0 or
 * a negative errno.
 */
int privileges_limit(u64 kept, struct error *e);

/*
 * Gives up what another thread of this process has not: capabilities of the calling thread. 0 or a
 * negative errno.
 */
int privileges_follow(pid_t tid, struct error *e);

/* A user as a login would make them. Filled by login_read(). */
struct login {
	bool other; /* than the real user of this process: only then is the rest filled */
	struct chunk_owner owner;
	char *name, *home; /* owned, NULL: nobody knows */
	gid_t *groups;	   /* owned */
	int group_count;
};

/*
 * Looks up whom programs run as on behalf of `owner` (NULL: the real user). Somebody whom the
 * user database does not know has the one group. 0 or -ENOMEM. Free with login_free().
 */
int login_read(struct login *login, const struct chunk_owner *owner, struct error *e);
void login_free(struct login *login);

/* What the thread needs whose child calls login_take(): capabilities, a bit each. */
u64 login_capabilities(const struct login *login);

/*
 * In a child, before it runs a program: becomes that user for good, without a capability, none of
 * which it can have again. 0 or a negative errno.
 */
int login_take(const struct login *login);

#endif
