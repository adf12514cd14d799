/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them. */
#ifndef BASE_WALL_TIME_H
#define BASE_WALL_TIME_H

#include <stdint.h>

/*
 * Reads a point in time into nanoseconds of Unix time: "2026-11-26T14:03:00Z", or with an offset
 * from UTC ("2026-11-26T15:03:00.5+01:00"), or "@1795788180.5", seconds since 1970. Without an
 * offset the time is of the reader's zone (TZ). A space may stand in place of the T, and the
 * seconds may be left out. Up to nine digits may follow the point of the seconds. 0; -EINVAL if it
 * is none; -ERANGE if it lies before 1970 or does not fit into 63 bits; *unix_ns is untouched then.
 */
int wall_time_parse(const char *text, uint64_t *unix_ns);

/*
 * Reads a time of day, "11:31", "11:31:17" or "11:31:17.25", into nanoseconds since midnight. 0 or
 * -EINVAL.
 */
int wall_time_parse_of_day(const char *text, uint64_t *of_day_ns);

/*
 * The Unix time of a time of day in the reader's zone, on the day of another Unix time, or so many
 * days after it. 0 if it lies before 1970.
 */
uint64_t wall_time_of_day(uint64_t unix_ns, int days, uint64_t of_day_ns);

/* A Unix time in the reader's zone. */
struct wall_text {
	char date[16]; /* "2026-11-26" */
	char time[24]; /* "11:31:17.123456" */
	char zone[48]; /* "CET (+0100)" */
};
struct wall_text wall_time_write(uint64_t unix_ns);

#endif
