/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process.h"
#include "lib/thread.h"

struct process_own fathom_own_kept;

struct process fathom_process = {.own = &fathom_own_kept, .level = FATHOM_INFO};
