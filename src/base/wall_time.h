/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them. */
#ifndef BASE_WALL_TIME_H
#define BASE_WALL_TIME_H

#include <stdint.h>

/*
 * Reads a point in time into nanoseconds of Unix time: "2026-11-26T14:03:00Z", or with an offset
 * from UTC ("2026-11-26T15:03:00.5+01:00"), or "@1795788180.5", seconds since 1970. Up to nine
 * digits may follow the point of the seconds. 0; -EINVAL if it is none, as without an offset;
 * -ERANGE if it lies before 1970 or does not fit into 63 bits; *unix_ns is untouched then.
 */
int wall_time_parse(const char *text, uint64_t *unix_ns);

#endif
