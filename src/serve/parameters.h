/* SPDX-License-Identifier: Apache-2.0 */
/* Values of parameters of queries. */
#ifndef SERVE_PARAMETERS_H
#define SERVE_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

/* Each reads a whole text, and leaves the output alone if it is none of its kind. */

/* A whole number up to `most`. */
bool number_parse(const char *text, uint64_t most, uint64_t *number);

/* A duration as Go writes it: "1.5s", "1m30s", "100us". */
bool duration_parse(const char *text, uint64_t *ns);

/* A time of RFC 3339, from 1970 to 2262: "2026-11-27T01:02:03.000000004Z", "...+01:00". */
bool time_parse(const char *text, uint64_t *unix_ns);

#endif
