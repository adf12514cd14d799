/* SPDX-License-Identifier: Apache-2.0 */
/* Room on the disk of the log and the store, and what is kept there when the store refuses it. */
#ifndef SERVE_DISK_H
#define SERVE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"

/* Bytes that are free on the disk of a directory; all, if that is not known. */
uint64_t disk_free_bytes(int log_dir);

/*
 * No spans are to be taken while there are fewer than `least` bytes free, so that there is room for
 * what the log has and for a checkpoint of the store; they are again when there is an eighth more.
 * `log_dir` is a descriptor.
 */
void disk_check(int log_dir, uint64_t least, atomic_bool *is_full);

/* Whether a failure with this text may be due to the disk, rather than to an entry. */
bool disk_is_short(int log_dir, uint64_t least, const char *text);

/* Writes an entry into the file refused-N beside the log, where N is its position. */
int refused_keep(int log_dir, const struct log_entry *entry, struct error *e);

#endif
