/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the ranges of one direction at one end. Their times follow their bytes. */
#ifndef REQUEST_BYTE_RANGES_H
#define REQUEST_BYTE_RANGES_H

#include "request/ends.h"

#define NO_RANGE SIZE_MAX

/* The number of ranges up to that time. */
size_t ranges_until(const struct byte_ranges *ranges, u64 time_ns);

/* Whether one of them has a time in (after_ns, before_ns). */
bool any_between(const struct byte_ranges *ranges, u64 after_ns, u64 before_ns);

/* The first range that ends at `to` or behind it; NO_RANGE: none, or it lacks these bytes. */
size_t range_completing(const struct byte_ranges *ranges, u64 to);

/* Whether a range begins at that byte, or, with `ends`, ends there. */
bool range_borders(const struct byte_ranges *ranges, u64 at, bool ends);

/* Whether bytes are missing before the first range behind a time: the other end had its turn. */
bool hole_after(const struct byte_ranges *ranges, u64 time_ns);

#endif
