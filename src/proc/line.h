/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one line of a file of names and values, as /proc has many. Lines before it may be of any
 * length: groups of a process stand before its ids in /proc/PID/status, and may be 65536.
 */
#ifndef PROC_LINE_H
#define PROC_LINE_H

#include <stddef.h>

/*
 * What stands behind `name` in the first line that begins with it, without the end of the line;
 * what goes beyond `size` is cut. Errors: -ESRCH if there is no such file, or its process ended
 * meanwhile; -EPROTO if no line begins so; others of open() and read().
 */
int proc_line_read(const char *path, const char *name, char *rest, size_t size);

#endif
