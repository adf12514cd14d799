/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one line of a file of names and values, like those of /proc. The lines before it may be of
 * any length: /proc/PID/status lists up to 65536 groups of a process before the line NSpid.
 */
#ifndef PROC_LINE_H
#define PROC_LINE_H

#include <stddef.h>

/*
 * Reads the rest of the first line that begins with `name`, without the end of the line, as a
 * string. It is cut if it does not fit into `size` bytes. 0; -ESRCH if there is no such file or its
 * process ended meanwhile; -EPROTO if no line begins with `name`; or an error of open() or read().
 */
int proc_line_read(const char *path, const char *name, char *rest, size_t size);

#endif
