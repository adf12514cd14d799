/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that are switched on while the server runs, so that anybody can see how fathom tells them:
 *
 *   lock   the phase `open` holds a lock, which all workers share, for FAULT_HOLD_MS
 *   fsync  the phase `encode` appends the picture to a journal, and waits until the disk has it
 *   peer   the service that the phase `rights` asks takes FAULT_PEER_MS (rights.c)
 *
 * A fourth, the CPU quota of a cgroup, needs nothing of the server: see the script `load`.
 * Threads may call all of it at once.
 */
#ifndef THUMBNAILER_FAULT_H
#define THUMBNAILER_FAULT_H

#include <stddef.h>
#include <stdint.h>

enum {
	FAULT_HOLD_MS = 20,
	FAULT_PEER_MS = 60,
	FAULT_JOURNAL_MAX = 64 << 20, /* bytes; then the journal begins anew */
};

struct fault;

/*
 * The journal is a file that is made when it is needed first, and removed at the end. `rights_port`
 * is that of the service on loopback; 0: there is none. 0, or -ENOMEM.
 */
int fault_open(struct fault **out, const char *journal, uint16_t rights_port);
void fault_close(struct fault *fault); /* NULL is allowed */

/*
 * Switches a fault on and the others off; "none": all. -EINVAL: there is none of that name,
 * -ENOTCONN: there is no service, or a negative errno of the service.
 */
int fault_set(struct fault *fault, const char *name);

/* Whether a service is asked; then fault_ask() asks whether a video may be seen. */
int fault_asks(const struct fault *fault);
int fault_ask(const struct fault *fault, const char *video);

/* What the phases do while their fault is on; else nothing. 0 or a negative errno. */
void fault_hold(struct fault *fault);
int fault_keep(struct fault *fault, const void *data, size_t size);

#endif
