/* SPDX-License-Identifier: Apache-2.0 */
/* Privileges of threads, and running programs as another user. */
#ifndef RECORDER_PRIVILEGES_H
#define RECORDER_PRIVILEGES_H

#include <sys/types.h>

#include "base/error.h"
#include "chunk/chunk.h"
#include "record/record.h"

/*
 * Drops all capabilities of the calling thread except those in `kept` (one bit each). Other threads
 * keep theirs. 0 or a negative errno.
 */
int privileges_limit(u64 kept, struct error *e);

/*
 * Drops the capabilities of the calling thread that the thread `tid` of this process does not have.
 * 0 or a negative errno.
 */
int privileges_follow(pid_t tid, struct error *e);

/* A user with the groups and the environment of a login. Filled by login_read(). */
struct login {
	bool other; /* not the real user of this process; only then the other fields are filled */
	struct chunk_owner owner;
	char *name, *home; /* owned; NULL: unknown */
	gid_t *groups;	   /* owned */
	int group_count;
};

/*
 * Looks up the login of `owner` (NULL: the real user). A user who is not in the user database has
 * only the group of `owner`. 0 or -ENOMEM. Free it with login_free().
 */
int login_read(struct login *login, const struct chunk_owner *owner, struct error *e);
void login_free(struct login *login);

/* The capabilities (one bit each) that a thread needs if its child calls login_take(). */
u64 login_capabilities(const struct login *login);

/*
 * Call this in a child before it runs a program. Becomes the user for good, without any capability
 * and without a way to regain one. 0 or a negative errno.
 */
int login_take(const struct login *login);

#endif
