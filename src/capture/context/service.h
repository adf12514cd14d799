/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a service record for a process that is described by another library than libfathom. */
#ifndef CAPTURE_CONTEXT_SERVICE_H
#define CAPTURE_CONTEXT_SERVICE_H

#include "capture/context/process.h"

/*
 * Makes the record from the process context, in the form that libfathom uses, without a time. The
 * caller frees it. NULL if there is no memory.
 */
struct record_service *foreign_service_record(pid_t pid, const struct process_context *context);

#endif
