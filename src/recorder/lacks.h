/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints that a recorder cannot use on this kernel. */
#ifndef RECORDER_LACKS_H
#define RECORDER_LACKS_H

#include "capture/capture.h"

/*
 * Fills `list` (base/names.h, `size` bytes) with the tracepoints whose records are missing from the
 * recording of an attached capture with these features. The kernel has neither these tracepoints
 * nor anything that replaces them. Thread-safe.
 */
void missing_list(const struct capture_feature *features, size_t count, char *list, size_t size);

/* The same of an attached capture. */
void missing_of(const struct capture *c, char *list, size_t size);

#endif
