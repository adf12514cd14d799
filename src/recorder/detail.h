/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The level of detail of a recording: as the recording was begun, as somebody asked for
 * (`fathom detail`), and who decides. One thread calls these functions, that of the recorder.
 *
 * What was asked for counts first, for its time. Then windows, in which calls are recorded. Else
 * the recording's own level holds. A budget (recorder/budget.h) can lower these two.
 */
#ifndef RECORDER_DETAIL_H
#define RECORDER_DETAIL_H

#include <stddef.h>

#include "base/error.h"
#include "capture/capture.h"
#include "recorder/detail_scope.h"

/* Byte ranges that a budget allows. */
enum detail_bytes { DETAIL_BYTES_NONE, DETAIL_BYTES_TURNS, DETAIL_BYTES_ALL };

/* With DETAIL_BYTES_TURNS, for a second in each half minute. */
#define DETAIL_BYTES_NS 1000000000ull
#define DETAIL_BYTES_EVERY_NS (30 * DETAIL_BYTES_NS)

/* Something is recorded for a time, once in each longer one. */
struct detail_turns {
	u64 window_ns, every_ns; /* for so long, once in each such time; 0: never */
	u64 turn_ns;		 /* when the present such time began; 0: none has */
	u64 from_ns;		 /* when the window in it opens */
};

struct detail {
	struct capture *capture; /* borrowed; NULL: it was not opened yet */
	enum capture_detail own; /* of the recording; with scopes that differ: _SCOPES */
	bool bytes;		 /* byte ranges are recorded, unless the level is lowered */
	/* No more than that is recorded unless it is asked for: a budget. */
	enum capture_detail most;
	enum detail_bytes most_bytes;	 /* likewise: byte ranges are, where they are at all */
	bool paused;			 /* likewise: nothing is. Only the recorder sets it */
	struct detail_turns calls_turns; /* in which calls are recorded */
	struct detail_turns bytes_turns; /* in which byte ranges are, with DETAIL_BYTES_TURNS */
	bool asked;			 /* `asked_for` holds until asked_until_ns */
	enum capture_detail asked_for;
	bool asked_calls;
	bool asked_bytes;		      /* with `waits`: byte ranges, too */
	char asked_scope[DETAIL_SCOPE_BYTES]; /* with _SCOPES: of these threads; else "" */
	u64 asked_until_ns;		      /* UINT64_MAX: until something else is asked */
	u64 again_ns;	     /* a level that could not be set is not tried before */
	struct error failed; /* the last reason that was printed */
};

/* Of a recording that begins; `capture` is borrowed. */
struct detail detail_of(struct capture *capture, enum capture_detail own, bool bytes);

/* Calls for window_ns in each every_ns, at an offset that is drawn each time. 0: never. */
void detail_windows(struct detail *d, u64 window_ns, u64 every_ns);

/* "calls", "scopes", "waits" or "waits,bytes"; static. In turns: "waits,bytes=1s/30s". */
const char *detail_name(enum capture_detail level, enum detail_bytes bytes);

/*
 * Sets the level that holds now, by capture_detail_set(). A level that cannot be set leaves the
 * recording as it is: prints each reason once, and tries again after a second.
 */
void detail_follow(struct detail *d, u64 now_ns);

/* When the level is to change by itself; UINT64_MAX: it is not. */
u64 detail_due_ns(const struct detail *d, u64 now_ns);

/* A level that somebody asks for. */
struct detail_request {
	bool calls;	   /* or waits */
	bool bytes;	   /* with waits: byte ranges, too */
	const char *scope; /* of these threads, by detail_scope_read(); NULL: of all */
	u64 for_ns;	   /* UINT64_MAX: for good */
};

/*
 * From now on that level holds, in place of one that was asked for before. 0 or a negative errno;
 * then what was asked for before may not hold any more, if one of the two has a scope.
 */
int detail_ask(struct detail *d, const struct detail_request *request, u64 now_ns, struct error *e);

/*
 * Handles a request by which `fathom detail` asks: "detail", or "detail LEVEL FOR_NS [SCOPE]" (0:
 * for good). False: it is none. `text`, of `size` bytes, gets the answer, a line: "LEVEL OWN
 * LEFT_NS [SCOPE]", where LEFT_NS is how long LEVEL holds, in SCOPE, before OWN does (0: for good),
 * or "error" and the reason.
 */
bool detail_answer(void *detail, const char *request, char *text, size_t size);

#endif
