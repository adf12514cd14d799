/* SPDX-License-Identifier: Apache-2.0 */
/* Names of processes: more than the 15 bytes of comm. */
#ifndef ANSWER_PROCESS_NAME_H
#define ANSWER_PROCESS_NAME_H

#include "map/partial.h"

/* The comm of a process or thread at that time, "?" if it is unknown. */
const char *name_comm(const struct partial *p, u32 tid, u64 time_ns);

/*
 * Writes the command of a process at that time: the file name of its program and its arguments, or
 * the title that it gave itself. A process that only forked has the command of its parent. With an
 * unknown command the comm is written. Control characters stay as they are. Returns `text`.
 */
char *name_command(const struct partial *p, u32 pid, u64 time_ns, char *text, size_t size);

/*
 * Writes the program of a process: the comm that it got with its exec, as a script has the name of
 * its file; but the name of its executable, if the program changed its comm to something else.
 * Returns `text`.
 */
char *name_program(const struct partial *p, u32 pid, u64 time_ns, char *text, size_t size);

/*
 * Replaces each number of a command by N, so that commands which differ only in a port, a pid or a
 * count are one: "worker --port=8080" becomes "worker --port=N". A number is a word of its own, or
 * stands behind one of =:,([ or /dev/fd/. Digits within a name stay: "python3", "main2.c", "-O2".
 */
void name_fold(char *command);

#endif
