// SPDX-License-Identifier: Apache-2.0
/*
 * Processes and the names of their services, as libfathom or the process context of OpenTelemetry
 * tells them. Scopes of detail can name a service (scopes.c).
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/detail_scope.h"
#include "capture/internal.h"
#include "programs.skel.h"

#define SERVICES_MAX 4096 /* processes of which the name is kept */

/* The name in a resource, which ends with 0; NULL if there is none. */
static const char *service_name(const struct record_service *r)
{
	const char *at = r->resource, *end = at + r->resource_len;

	while (at < end) {
		const char *value = at + strnlen(at, (size_t)(end - at)) + 1;
		size_t length = value < end ? strnlen(value, (size_t)(end - value)) : 0;

		if (value >= end || value + length == end)
			return NULL;
		if (strcmp(at, "service.name") == 0)
			return value;
		at = value + length + 1;
	}
	return NULL;
}

/* The scopes of a service, a bit for each place. */
static u32 service_scopes(const struct capture *c, const char *name)
{
	u32 of = 0;

	for (u32 at = 0; at <= CAPTURE_SCOPES_MAX; at++)
		if (c->detail_services[at] && strcmp(c->detail_services[at], name) == 0)
			of |= 1u << at;
	return of;
}

void capture_services_note(void *capture, const struct record_service *r)
{
	struct capture *c = capture;
	const char *name = service_name(r), *known = map_get(&c->services, r->head.pid);
	char *copy;

	if (!name || !*name || (known && strcmp(known, name) == 0))
		return;
	copy = !known && c->services.count >= SERVICES_MAX ? NULL : strdup(name);
	if (copy && known)
		free(map_remove(&c->services, r->head.pid));
	if (!copy || map_put(&c->services, r->head.pid, copy)) {
		free(copy);
		c->counts.incomplete++;
		return;
	}
	if (service_scopes(c, name) && vec_push(&c->services_new, r->head.pid))
		c->counts.incomplete++;
}

void capture_services_life(struct capture *c, const struct record_head *r)
{
	bool ends = r->kind == RECORD_exit && ((const struct record_exit *)r)->flags;

	if (c->services.count && (ends || r->kind == RECORD_exec))
		free(map_remove(&c->services, r->pid));
}

/* Tells the programs a process whose service is one of a scope. */
static void member_tell(struct capture *c, u32 pid)
{
	const char *name = map_get(&c->services, pid);
	u32 of = name ? service_scopes(c, name) : 0;
	int map = bpf_map__fd(c->programs->maps.detail_members);

	if (of && bpf_map_update_elem(map, &pid, &of, BPF_ANY)) /* they are too many at once */
		c->counts.incomplete++;
}

bool capture_services_tell(struct capture *c)
{
	bool some = c->services_new.count;

	for (size_t i = 0; i < c->services_new.count; i++)
		member_tell(c, c->services_new.data[i]);
	vec_free(&c->services_new);
	return some;
}

void capture_services_tell_all(struct capture *c)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&c->services, &at, &entry))
		member_tell(c, (u32)entry.key);
}

void capture_services_told(struct capture *c)
{
	int map = bpf_map__fd(c->programs->maps.detail_members);
	u32 pid;

	while (bpf_map_get_next_key(map, NULL, &pid) == 0)
		if (bpf_map_delete_elem(map, &pid))
			break;
}

void capture_services_free(struct capture *c)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&c->services, &at, &entry))
		free(entry.value);
	map_free(&c->services);
	vec_free(&c->services_new);
	for (u32 place = 0; place <= CAPTURE_SCOPES_MAX; place++)
		free(c->detail_services[place]);
}
