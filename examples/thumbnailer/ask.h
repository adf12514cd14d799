/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the service `thumbnailer-rights` on loopback: one line, one line as the answer, a connection
 * for each question. Threads may ask at once.
 */
#ifndef THUMBNAILER_ASK_H
#define THUMBNAILER_ASK_H

#include <stdint.h>

/* Whether the video may be seen: 0, -EACCES, or a negative errno of the connection. */
int ask_may(uint16_t port, const char *video);

/* Makes the service take so long for each answer from now on. 0 or a negative errno. */
int ask_slow(uint16_t port, unsigned ms);

#endif
