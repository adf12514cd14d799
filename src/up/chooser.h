/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the spans whose kernel spans are stored: those in error, slow ones, and one of each
 * operation in ten seconds, so that slow ones have a normal one to be held against. Whoever asks
 * adds the spans that ended in the same trace and chunk as one in error or a slow one.
 *
 * A span is slow if it is longer than the 99th percentile of its operation in the last ten minutes,
 * and than CHOOSER_SLOW_NS. The operation must have had CHOOSER_SEEN spans in that time. The
 * percentile is at most one part in 32 too high. A rule of the user sets the time instead, from the
 * first span on. Operations beyond CHOOSER_OPERATIONS count as one.
 *
 * Kernel spans are limited to CHOOSER_RATE a second, and CHOOSER_BURST at once. What is chosen as
 * normal gets none of the last half of that. Threads may ask at once.
 */
#ifndef UP_CHOOSER_H
#define UP_CHOOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "span/received.h"

#define CHOOSER_SLOW_NS 1000000u
#define CHOOSER_SEEN 100u
#define CHOOSER_SAMPLE_NS 10000000000u
#define CHOOSER_OPERATIONS 4096u
#define CHOOSER_RAISE_NS UINT64_C(10000000000)
#define CHOOSER_PIN_TIMES 10u
#define CHOOSER_PIN_REST_NS UINT64_C(10000000000)
#define CHOOSER_RATE 2000u
#define CHOOSER_BURST 20000u

struct chooser;

enum chosen { CHOSEN_NOT, CHOSEN_ERROR, CHOSEN_SLOW, CHOSEN_SAMPLE, CHOSEN_TRACE };

/* "error", "slow", "sample", "trace"; static. */
const char *chosen_name(enum chosen chosen);

/* What is slow, as the user says. The last rule that fits a span holds. */
struct chooser_rule {
	const char *service, *name; /* NULL: any */
	uint64_t slow_ns;
};

struct chooser_span {
	const char *service, *name;
	uint8_t kind;
	uint32_t pid;	/* of its process; 0: not known */
	uint32_t times; /* it counts for so many like it, which do not come; 0: for itself */
	bool is_error;
	bool has_children; /* kernel spans; without them it is no sample */
	uint64_t duration_ns;
	struct trace_id trace;
	uint64_t begin_ns; /* since 1970 */
};

/* A span so slow that the chunks of its time are worth keeping. */
struct chooser_pin {
	struct trace_id trace;
	uint64_t begin_ns, end_ns; /* since 1970 */
};

/* NULL: no memory. */
struct chooser *chooser_new(void);

/* Rules, which outlive it; before the first span. */
void chooser_rules_set(struct chooser *c, const struct chooser_rule *rules, size_t count);
void chooser_free(struct chooser *c); /* NULL is allowed */

/* Whether a span is chosen, and why. Learns its duration. A time that goes back is taken for the
 * latest one. */
enum chosen chooser_ask(struct chooser *c, const struct chooser_span *span, uint64_t now_ns);

/*
 * A process that has an operation which got slow (up/slowness.h), so that its calls are worth being
 * recorded for CHOOSER_RAISE_NS: at most a tenth of the time. False: there is none.
 */
bool chooser_raise_take(struct chooser *c, uint64_t now_ns, uint32_t *pid);

/*
 * A span that took over CHOOSER_PIN_TIMES what is slow: one in CHOOSER_PIN_REST_NS. False: there is
 * none.
 */
bool chooser_pin_take(struct chooser *c, struct chooser_pin *pin);

/* How many of `wanted` kernel spans may be stored of a span that was chosen. */
size_t chooser_grant(struct chooser *c, enum chosen chosen, size_t wanted, uint64_t now_ns);

#endif
