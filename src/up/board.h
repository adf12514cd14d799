/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board: memory that the supervisor and its parts share, in which each says how it is. A part
 * that dies leaves its words there. Each field has one writer, which is named; readers trust
 * nothing.
 */
#ifndef UP_BOARD_H
#define UP_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "chunk/chunk.h"
#include "serve/serve.h"
#include "up/joined.h"

#define BOARD_SENDERS 16

enum up_part { PART_CAPTURE, PART_MAP, PART_SERVE, PARTS };

enum part_state {
	PART_OFF,      /* it is not wanted, or not possible */
	PART_STARTING, /* it does not work yet */
	PART_RUNNING,
	PART_WAITING, /* it died, and is started again in a moment */
};

struct board_part {
	atomic_uint state; /* enum part_state; the part sets PART_RUNNING, the supervisor the others
			    */
	atomic_int pid;	   /* supervisor; 0: none */
	atomic_uint_fast64_t starts; /* supervisor */
	char why[ERROR_TEXT_BYTES];  /* the part, before it ends: why it failed */
};

struct board_capture {
	atomic_uint_fast64_t chunks, bytes, lost; /* sealed in this run of the part */
	atomic_uint_fast64_t sealed_ns;	   /* CLOCK_MONOTONIC: when a chunk was sealed last */
	atomic_uint_fast64_t rings_missed; /* programs whose spans another recorder takes */
	atomic_uint_fast64_t begun_ns;	   /* CLOCK_MONOTONIC: when it recorded first; 0: not yet */
	/* times that the calls of a process were recorded; refused; ended early by the budget */
	atomic_uint_fast64_t raises, raises_refused, raises_ended;
	atomic_int raised_pid; /* of which process they are recorded now; 0: none */
	atomic_int keep_pid;   /* of its child that deletes old chunks; 0: none */
	atomic_uint_fast64_t keep_starts;
	atomic_uint_fast64_t begun_next; /* one more than the number of its first chunk */
	/* how long the bytes of connections were not recorded all the time, to hold the budget */
	atomic_uint_fast64_t lowered_ns;
	atomic_bool lowered;	/* they are not now */
	atomic_bool in_turns;	/* with it: they are for a second in each half minute */
	atomic_uint budget_ppm; /* of the CPUs' time, in millionths; 0: none */
};

struct board_map {
	atomic_uint_fast64_t chunks;  /* mapped */
	atomic_uint_fast64_t damaged; /* chunks that could not be read, or not whole */
	atomic_uint_fast64_t spans;   /* handed out, and acknowledged by serve */
	atomic_uint_fast64_t refused; /* spans that serve refused for good */
	/* of chosen spans (up/chooser.h): acknowledged by serve; left out because of a limit */
	atomic_uint_fast64_t kernel_spans, kernel_left_out;
	atomic_uint_fast64_t late, given_up, forgotten; /* of the hand-over */
	atomic_uint_fast64_t to_ns; /* CLOCK_MONOTONIC: end of the last chunk that was mapped */
	atomic_uint_fast64_t pins, pins_failed; /* made by itself */
	/* Which process got slow: the number of the request, and the pid in the low 32 bits. */
	atomic_uint_fast64_t raise;
	/* The number of the next chunk to send; chunks before need not be sent again. */
	atomic_uint_fast64_t sent_next;
};

/* Of received spans, by the joiner in map. */
struct board_join {
	atomic_uint_fast64_t spans[JOINED_COUNT]; /* by enum joined */
	atomic_uint_fast64_t claims;		  /* that came */
	atomic_uint_fast64_t passes, chunks;	  /* chunks that were mapped again */
	atomic_uint_fast64_t cpu_ns;
	/* what was posted; not shown */
	atomic_uint_fast64_t posted, kernel_spans, refused;
};

/* Requests, by the follower in map. */
struct board_requests {
	atomic_uint_fast64_t requests; /* stored */
	atomic_uint_fast64_t decided;  /* those, and the others for which they stand */
	atomic_uint_fast64_t open;     /* of these, without their end */
	atomic_uint_fast64_t passes, cpu_ns;
	atomic_uint rate; /* so many of their spans are stored a second in the mean; 0: all */
	atomic_uint_fast64_t chunks_left_out; /* of which no requests are stored */
	atomic_uint_fast64_t learned;	      /* sums of what services do */
	atomic_uint_fast64_t to_ns; /* CLOCK_MONOTONIC: what ended by then is stored; 0: nothing */
	atomic_bool followed;	    /* they are */
	/* what was posted; kernel spans are shown with those of map */
	atomic_uint_fast64_t spans, kernel_spans, refused;
};

struct board_serve {
	struct serve_addresses addresses; /* before PART_RUNNING; ports stay the same */
	atomic_uint_fast64_t received, rejected, mapped, stored; /* spans */
	atomic_uint_fast64_t store_spans, store_bytes, behind_bytes, unlisted;
	atomic_uint_fast64_t behind_since_ns; /* CLOCK_MONOTONIC; 0: it is not */
	atomic_uint_fast64_t spans_per_s;     /* over the last seconds, times 1000 */
	atomic_uint failed;		      /* errno of the log */
	atomic_uint_fast64_t log_lost_bytes, log_cut_bytes, lost_files, free_bytes, min_free_bytes;
	char lost_why[ERROR_TEXT_BYTES]; /* why a file is left out; "": none is */
	/* received spans of which no process of this host is known, and that map was not told of */
	atomic_uint_fast64_t no_pid, other_host, claims_left_out;
	/* who sends, the latest first; texts may have no end */
	struct sender_info senders[BOARD_SENDERS];
	atomic_uint senders_shown, senders_count;
	struct monitors_counts monitors; /* texts may have no end */
	char error[ERROR_TEXT_BYTES];	 /* of the store; "": it works */
	char state[32];			 /* what serve says of itself */
	atomic_bool store_missing; /* there is no library for it: nothing is received or kept */
};

struct board {
	char user[64]; /* of map and serve; supervisor, as the next two */
	char dir[4096];
	atomic_int pid;	   /* of the supervisor */
	uint64_t begun_ns; /* CLOCK_MONOTONIC */
	struct board_part parts[PARTS];
	struct board_capture capture;
	struct board_map map;
	struct board_join join;
	struct board_requests requests;
	struct board_serve serve;
};

/* NULL: there is no memory. It lives as long as the process and its children. */
struct board *board_new(void);

/* "capture", "map", "serve" */
const char *part_name(enum up_part part);
/* "off", "starting", "running", "waiting" */
const char *part_state_name(unsigned int state);

/*
 * Copies a text of the board, which any part may be writing, and which may have no end. No other
 * code uses such a text where it is.
 */
void board_text(char *to, const char *from, size_t bytes);
/* Copies the addresses in the same way. */
void board_addresses(struct serve_addresses *to, const struct board *board);

#endif
