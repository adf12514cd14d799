/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a monitor watches, as a number of the spans of a time:
 *
 *   average, p50 ... p99.99     of their durations, in ns
 *   average lock, p99 lock      the same of a part of the time split, over spans with a split
 *   rate, rate errors           spans, or spans in error, a second
 *   rate lock                   time in that part, in ns a second
 *   share errors                of all spans, 0 to 1
 *   share lock                  of the time of all spans with a split
 *   share >200ms, rate >200ms   of the spans that took longer
 *
 * "latency" and "requests" may be added where nothing else stands: "p99 latency", "rate requests";
 * so may "of". Not thread-safe.
 */
#ifndef MONITOR_MEASURE_H
#define MONITOR_MEASURE_H

#include "base/error.h"
#include "store/store.h"

enum measure_kind { MEASURE_AVERAGE, MEASURE_QUANTILE, MEASURE_RATE, MEASURE_SHARE };

enum measure_of { MEASURE_SPANS, MEASURE_ERRORS, MEASURE_PART, MEASURE_SLOW };

enum measure_unit { MEASURE_NS, MEASURE_PER_S, MEASURE_RATIO, MEASURE_NS_PER_S };

struct measure {
	enum measure_kind kind;
	enum measure_of of;
	unsigned int per_10000; /* of MEASURE_QUANTILE */
	enum split_part part;	/* of MEASURE_PART */
	uint64_t slow_ns;	/* of MEASURE_SLOW */
};

/* 0, or -EINVAL with what is wrong, as the end of a sentence that begins with the text. */
int measure_parse(const char *text, struct measure *out, struct error *e);

enum measure_unit measure_unit(const struct measure *m);

/* "ns", "per_s", "ratio", "ns_per_s" */
const char *measure_unit_name(enum measure_unit unit);

/* A threshold: "200ms", "5/s", "2%", "50ms/s". 0 or -EINVAL. */
int measure_value_parse(const char *text, enum measure_unit unit, double *out);

#define MEASURE_TEXT_BYTES 48

/* As people read it: "312 ms", "4.1/s", "2.3 %", "50 ms/s". Returns `text`. */
char *measure_value_format(double value, enum measure_unit unit, char text[MEASURE_TEXT_BYTES]);

/*
 * The number of these spans, of a time of `seconds`. *seen gets how many spans it is of that were
 * seen. Without one, only a rate is known. False: it is not known.
 */
bool measure_value(const struct measure *m, const struct store_sum *sum, double seconds,
		   double *value, uint64_t *seen);

/* Whether store_sums_query.has_parts is needed. */
static inline bool measure_needs_parts(const struct measure *m)
{
	return m->kind == MEASURE_QUANTILE && m->of == MEASURE_PART;
}

#endif
