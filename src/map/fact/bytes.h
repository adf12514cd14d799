/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that went through connections. */
#ifndef MAP_FACT_BYTES_H
#define MAP_FACT_BYTES_H

#include "map/fact/thread_facts.h"

extern const struct thread_order bytes_order; /* of struct fact_bytes */

#endif
