/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a cgroup, found by its path. */
#ifndef MODEL_CONTAINER_H
#define MODEL_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_ID_BYTES 65 /* 64 hex digits and NUL */

/*
 * Finds the innermost container in a cgroup's path of `bytes` bytes. True, with its id in `id`, or
 * false with `id` unchanged. Docker, containerd, CRI-O and podman put the 64 digits into the name,
 * alone or as in `docker-ID.scope`. Units of systemd are not containers, and neither is the process
 * that monitors one. Thread-safe.
 */
bool container_id_find(const char *path, size_t bytes, char id[CONTAINER_ID_BYTES]);

#endif
