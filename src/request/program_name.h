/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is called after its program. */
#ifndef REQUEST_PROGRAM_NAME_H
#define REQUEST_PROGRAM_NAME_H

#include "map/partial.h"

/*
 * Writes the program that a process ran at a time: the name of its executable and, if that
 * interprets a script or a module, its name: "nginx", "python3 app.py", "java -jar shop.jar".
 * Options and further arguments are left out. Returns `text`.
 */
char *program_name(const struct partial *p, u32 pid, u64 time_ns, char *text, size_t size);

#endif
