/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and ranges of commands that read recordings. */
#ifndef CLI_RECORDING_OPERANDS_H
#define CLI_RECORDING_OPERANDS_H

#include "cli/option.h"

/*
 * Takes operands as recordings and at most one trace id, which is borrowed and stays NULL if there
 * is none. *dirs is the caller's to free, also after an error. 0, -EINVAL with a message, or
 * -ENOMEM.
 */
int recording_operands_read(const struct operands *operands, const char ***dirs, size_t *dirs_count,
			    const char **trace_id, struct error *e);

/* Refuses limits that cross, and a range of partial files. 0, or -EINVAL with a message. */
int recording_range_check(const struct time_point *from, const struct time_point *to,
			  const char *const *dirs, size_t dirs_count, struct error *e);

#endif
