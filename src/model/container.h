/* SPDX-License-Identifier: Apache-2.0 */
/* Which container a cgroup is that of, as its path says. */
#ifndef MODEL_CONTAINER_H
#define MODEL_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_ID_BYTES 65 /* 64 hex digits and NUL */

/*
 * The id of the innermost container that a cgroup's path of `bytes` bytes lies in: true, and
 * `id` gets it; false, with `id` untouched, if it lies in none. Docker, containerd, CRI-O and
 * podman put the 64 digits into the name, alone or as in `docker-ID.scope`; units of systemd
 * are no containers, nor is the process that watches one.
 */
bool container_id_find(const char *path, size_t bytes, char id[CONTAINER_ID_BYTES]);

#endif
