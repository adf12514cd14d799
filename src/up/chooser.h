/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the spans whose kernel spans are stored: those in error, slow ones, and one of each
 * operation in ten seconds, so that slow ones have a normal one to be held against. Whoever asks
 * adds the spans that ended in the same trace and chunk as one in error or a slow one.
 *
 * A span is slow if it is longer than the 99th percentile of its operation in the last ten minutes,
 * and than CHOOSER_SLOW_NS. The operation must have had CHOOSER_SEEN spans in that time. The
 * percentile is at most one part in 32 too high. Operations beyond CHOOSER_OPERATIONS count as one.
 *
 * Kernel spans are limited to CHOOSER_RATE a second, and CHOOSER_BURST at once. What is chosen as
 * normal gets none of the last half of that. Not thread-safe.
 */
#ifndef UP_CHOOSER_H
#define UP_CHOOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOOSER_SLOW_NS 1000000u
#define CHOOSER_SEEN 100u
#define CHOOSER_SAMPLE_NS 10000000000u
#define CHOOSER_OPERATIONS 4096u
#define CHOOSER_RATE 2000u
#define CHOOSER_BURST 20000u

struct chooser;

enum chosen { CHOSEN_NOT, CHOSEN_ERROR, CHOSEN_SLOW, CHOSEN_SAMPLE, CHOSEN_TRACE };

/* "error", "slow", "sample", "trace"; static. */
const char *chosen_name(enum chosen chosen);

struct chooser_span {
	const char *service, *name;
	uint8_t kind;
	bool is_error;
	bool has_children; /* kernel spans; without them it is no sample */
	uint64_t duration_ns;
};

/* NULL: no memory. */
struct chooser *chooser_new(void);
void chooser_free(struct chooser *c); /* NULL is allowed */

/* Whether a span is chosen, and why. Learns its duration. Times never go back. */
enum chosen chooser_ask(struct chooser *c, const struct chooser_span *span, uint64_t now_ns);

/* How many of `wanted` kernel spans may be stored of a span that was chosen. */
size_t chooser_grant(struct chooser *c, enum chosen chosen, size_t wanted, uint64_t now_ns);

#endif
