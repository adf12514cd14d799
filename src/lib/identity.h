/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of this process: `service` records carry it, and OpenTelemetry's process context
 * publishes it. Internal to src/lib.
 */
#ifndef LIB_IDENTITY_H
#define LIB_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

struct identity_attribute {
	const char *key, *value; /* a value of NULL: the attribute stays as it is */
};

/*
 * Publishes the process context, unless another library has published one. Returns 0, or -EBUSY
 * if another thread has been at it for so long that it is not known yet which of the two holds.
 */
int fathom_identity_publish(void);
/* Whether another library publishes contexts in this process. */
bool fathom_identity_stands_down(void);
/* Whether that library is another copy of this one, in a plugin or in the program. */
bool fathom_identity_is_beside(void);
/* Sets the service's name from the environment, before anything is published. */
void fathom_identity_start(void);
/*
 * Sets all of the attributes, or none, in the identity of the calling process, whose pid is `pid`,
 * and in its process context. 0, -E2BIG, or -EBUSY as above. The caller calls it between
 * fathom_quiet_begin() and fathom_quiet_end().
 */
int fathom_identity_replace(u32 pid, const struct identity_attribute *attributes, size_t count);
/*
 * Copies the text of a `service` record. Returns its length; 0 if another thread is changing the
 * identity, or the text is longer than `size`.
 */
size_t fathom_identity_text(char *out, size_t size);
/* Takes the process context away, before the library is unloaded. */
void fathom_identity_withdraw(void);
/* In a forked child: the parent's process context is not mapped there. */
void fathom_identity_forked(void);

#endif
