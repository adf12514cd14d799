/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service knows of its own calls: each in and out with its ports, its times and the identity
 * that the request carries. It is the truth against which answers are judged. Rows stay in memory
 * until SIGTERM, since a write for each would be seen in what is recorded.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdint.h>

#define IDENT_MAX 64

/* A connection, with its ports: of a Unix socket both are 0. */
struct line {
	int fd;
	int local, remote;
};

int64_t now_ns(void);

/*
 * The rows of this process, and of those that it forks, go to the file `path` at SIGTERM, which
 * also ends the process. Call it before any thread is made.
 */
void ledger_begin(const char *service, const char *path);

/* A row: side 'c' for a call that was made, 's' for a request that was served. From any thread. */
void ledger_add(char side, const struct line *on, int64_t begin_ns, int64_t end_ns,
		const char *ident);

#endif
