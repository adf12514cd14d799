/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of what is done to facts of file descriptors. */
#ifndef MAP_FACT_FD_H
#define MAP_FACT_FD_H

#include "map/fact/facts.h"

struct living;

/*
 * fd_names.c: makes facts.fds_by_file of sorted facts of descriptors: by file, process and time.
 * 0 or -ENOMEM.
 */
int fd_names_index(struct facts *f);

/* fd_keep.c: leaves what is open in the tables of who goes on, and fills living.files. */
int fds_keep(struct partial *p, struct living *l);

#endif
