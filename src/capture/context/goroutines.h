/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the programs in Go that run now tell which goroutines run on their threads. */
#ifndef CAPTURE_CONTEXT_GOROUTINES_H
#define CAPTURE_CONTEXT_GOROUTINES_H

#include <sys/types.h>

/* Of programs, not of processes: one that runs many times counts once. */
struct goroutines_probe {
	unsigned int programs; /* in Go */
	unsigned int unread;   /* of which the goroutines cannot be told */
	pid_t pid;	       /* a process of one of these; 0: there is none */
	const char *why;       /* it cannot; static */
	char version[32];      /* of its Go, as its linker wrote it; "": not known */
	int first, last;       /* the versions 1.FIRST to 1.LAST are known */
};

/*
 * Looks at the executables of all processes that the caller may see. One that does not answer is
 * passed over. 0 or -ENOMEM.
 */
int goroutines_probe(struct goroutines_probe *probe);

#endif
