/* SPDX-License-Identifier: Apache-2.0 */
/* The service record of a process that another library than ours speaks for. */
#ifndef CAPTURE_CONTEXT_SERVICE_H
#define CAPTURE_CONTEXT_SERVICE_H

#include "capture/context/process.h"

/*
 * What its process context says about it, as libfathom would say it; without a time. To be
 * freed by the caller. NULL if there is no memory.
 */
struct record_service *foreign_service_record(pid_t pid, const struct process_context *context);

#endif
