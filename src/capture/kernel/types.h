/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own types (BTF). They take milliseconds to load, and so does each search for a name,
 * so they are loaded once for all who ask while a capture is opened, with an index of their names.
 *
 * For one thread at a time.
 */
#ifndef CAPTURE_KERNEL_TYPES_H
#define CAPTURE_KERNEL_TYPES_H

#include <stdbool.h>

#include "record/record.h"

struct btf;

/* Loads them if they are not loaded. NULL with errno: this kernel does not describe its types. */
const struct btf *capture_types(void);

/* The id of the type with that name and kind (BTF_KIND_*); 0: there is none. */
u32 capture_type_id(const char *name, u32 kind);

/* Whether there is a tracepoint of that name that programs can be attached to. */
bool capture_type_is_tracepoint(const char *name);

/* Frees them. They are loaded again when they are needed again. */
void capture_types_drop(void);

#endif
