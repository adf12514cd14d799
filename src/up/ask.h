/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UP_ASK_H
#define UP_ASK_H

#include "base/bytes.h"
#include "base/error.h"

/*
 * Asks the `fathom up` of a directory how it is, and appends its document (up/status.h). -ENOENT:
 * none runs there; -EACCES: it may be asked by root and by its user only.
 */
int up_ask(const char *dir, struct bytes *document, struct error *e);

#endif
