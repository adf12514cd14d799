/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of containers, from the files in which engines of this machine keep their state: Docker's
 * /var/lib/docker/containers/ID/config.v2.json, containerd's bundles (nerdctl and Kubernetes write
 * names into their annotations), and Podman's and CRI-O's list of containers. Most can be read by
 * root only, and are gone with the container.
 *
 * Not thread-safe.
 */
#ifndef ANSWER_CONTAINER_NAMES_H
#define ANSWER_CONTAINER_NAMES_H

#include "base/map.h"
#include "base/vec.h"

/* Starts with all zero, but for the root. */
struct container_names {
	const char *root;	/* before each path, borrowed; NULL: "" */
	struct bytes_map by_id; /* id -> name, or NO_CONTAINER_NAME */
	VEC(char *) texts;	/* owned: the names */
	bool listed;		/* Podman's list was read */
};

/* The name of a container of 64 hex digits, valid until the names are freed. NULL: none is known.
 */
const char *container_name(struct container_names *names, const char *id);

void container_names_free(struct container_names *names);

#endif
