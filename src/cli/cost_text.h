/* SPDX-License-Identifier: Apache-2.0 */
/* What recording costs, in words. */
#ifndef CLI_COST_TEXT_H
#define CLI_COST_TEXT_H

#include "answer/source.h"

#define COST_TEXT_BYTES 128

/*
 * "1.2 % of the CPUs, 0.4 % in kernel programs": of `cpu_ns`, the time of all CPUs, not 0. Returns
 * `text`.
 */
const char *cost_text(const struct cost_view *cost, uint64_t cpu_ns, char text[COST_TEXT_BYTES]);

#endif
