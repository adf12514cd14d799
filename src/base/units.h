/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations and sizes as users write and read them.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

/*
 * Converts "250us" "10ms" "1.5s" "2m" "1h" "7d" to nanoseconds; a unit is required.
 * 0, -EINVAL if it is not a duration, -ERANGE if it does not fit 63 bits.
 */
int units_parse_duration(const char *text, uint64_t *ns);

/* The same, but a bare number counts seconds. */
int units_parse_seconds(const char *text, uint64_t *ns);

/* Converts a size with K, M, G or T (factors of 1024); a unit is required. Errors as above. */
int units_parse_size(const char *text, uint64_t *bytes);

#define UNITS_TEXT_BYTES 32

/*
 * Writes a duration with three significant digits: "0 ns", "817 ns", "1.23 ms", "45.0 s",
 * "2 m 05 s", "3 h 20 m". Returns `text`, which has UNITS_TEXT_BYTES.
 */
char *units_format_ns(int64_t ns, char *text);

/* Writes a size in the same way: "512 B", "1.50 K", "64.0 M". */
char *units_format_bytes(uint64_t bytes, char *text);

#endif
