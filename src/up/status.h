/* SPDX-License-Identifier: Apache-2.0 */
/* How a running `fathom up` is, as a document. */
#ifndef UP_STATUS_H
#define UP_STATUS_H

#include "base/json.h"
#include "up/board.h"

/* A stage that is behind by more lags. */
#define UP_LAG_NS 5000000000u

/*
 * "full": the disk is; `own`, what serve says of itself, if that is a failure; "lagging": a part is
 * not there, or is behind; else "ok".
 */
const char *up_state(const struct board *board, const char *own);

/* Writes members into an object that is begun: the processes, what each stage did, and its lag. */
void up_parts_write(const struct board *board, struct json *j);

/* Writes who sends spans: the latest ones. */
void up_senders_write(const struct board *board, struct json *j);

/* Writes how many monitors are in each state, and those that are red. */
void up_monitors_write(const struct board *board, struct json *j);

/* Writes the whole document, which `fathom status --json` shows. */
void up_status_write(const struct board *board, struct json *j);

#endif
