/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of up: what the supervisor gives to its parts, and what they do. */
#ifndef UP_PART_H
#define UP_PART_H

#include "recorder/privileges.h"
#include "serve/socket_owner.h"
#include "up/board.h"
#include "up/up.h"

#define CHUNKS_DIR "chunks"
#define SPANS_SOCKET ".spans"

struct part_context {
	const struct up_options *options;
	struct board *board;
	struct login login; /* of map and serve; read while there is one thread */
	int dir;	    /* a descriptor of the directory */
	int spans;	    /* the listening socket for the spans of map */
	/* Pairs of sockets, which outlive the parts: claims from serve [0] to map [1], and
	 * questions of serve [0] about sockets to the supervisor [1]. */
	int claims[2], owners[2];
	char path[64]; /* of the directory, for whoever has the descriptor */
	bool owned;    /* chunks are made for the user of the login */
};

/* A question of serve to the supervisor, and the answer. inode 0: see struct owner_finder. */
struct owner_question {
	uint64_t number, inode;
	struct socket_ends ends;
};

struct owner_answer {
	uint64_t number; /* of the question */
	struct socket_owner owner;
};

/*
 * What a part does, in a process of its own: 0, or a negative errno with the cause; then it is
 * started again, or after -EPERM and -EACCES of capture, and -ELIBACC of serve, it is not. SIGTERM,
 * which is blocked, asks it to end.
 */
int part_capture(struct part_context *c, struct error *e);
int part_map(struct part_context *c, struct error *e);
int part_serve(struct part_context *c, struct error *e);

/* Waits for SIGTERM, at most so long. True: it came, now or before. */
bool part_is_asked_to_end(uint64_t wait_ns);

/* Says that the part works. */
void part_runs(struct part_context *c, enum up_part part);

#endif
