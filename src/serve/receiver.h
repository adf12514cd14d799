/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives OTLP over HTTP. One thread reads requests of all connections. A connection whose entry
 * is appended is suspended, until another thread has synced the log for all that wait.
 */
#ifndef SERVE_RECEIVER_H
#define SERVE_RECEIVER_H

#include "base/error.h"
#include "log/log.h"
#include "serve/counts.h"
#include "serve/loader.h"

struct receiver;

/* Takes over the listening socket, also on failure. */
int receiver_start(int fd, struct log *log, struct loader *loader, struct counts *counts,
		   struct receiver **out);

/* Acknowledges what is synced, and ends. NULL is allowed. */
void receiver_stop(struct receiver *r);

#endif
