// SPDX-License-Identifier: Apache-2.0
/*
 * Tells the kernel programs the scopes of detail (bpf/detail.h). A scope has a place there; the
 * first one, DETAIL_SCOPE_ASK, is that of the scope that somebody asks for while a capture runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "bpf/detail_scope.h"
#include "capture/internal.h"
#include "capture/scope/cgroup_find.h"
#include "capture/scope/scope.h"
#include "programs.skel.h"

#define FOLLOW_NS 20000000ull /* at most so often are the threads of new services looked for */

static void flag_set(u32 *flag, u32 value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

/* ---- cgroups ---- */

/* Finds the cgroups of a scope, to be told to the programs once these are loaded. */
static int cgroups_find(struct capture *c, u32 at, const char *path, struct error *e)
{
	struct cgroup_places found;
	int err = cgroup_find(path, &found, e);

	if (err)
		return err;
	c->detail_hierarchies[at] = 0;
	for (size_t i = 0; i < found.count; i++) {
		struct capture_detail_cgroup cgroup = {.key = found.list[i].key, .at = at};

		c->detail_hierarchies[at] |= 1u << cgroup.key.hierarchy;
		if (vec_push(&c->detail_cgroups, cgroup))
			return error_set(e, ENOMEM, "cannot follow cgroups");
	}
	return 0;
}

static void hierarchies_tell(struct capture *c)
{
	u32 all = 0;

	for (u32 at = 0; at <= DETAIL_SCOPES; at++)
		all |= c->detail_hierarchies[at];
	flag_set(&c->programs->bss->detail_hierarchies, all);
}

/* Tells the cgroups that were found, and forgets them here. */
static int cgroups_tell(struct capture *c, struct error *e)
{
	int map = bpf_map__fd(c->programs->maps.scope_cgroups), err = 0;

	for (size_t i = 0; i < c->detail_cgroups.count && !err; i++) {
		const struct capture_detail_cgroup *cgroup = &c->detail_cgroups.data[i];
		u32 named = 0;

		(void)bpf_map_lookup_elem(map, &cgroup->key, &named);
		named |= 1u << cgroup->at;
		if (bpf_map_update_elem(map, &cgroup->key, &named, BPF_ANY))
			err = error_set(e, errno, "cannot follow this many cgroups");
	}
	vec_free(&c->detail_cgroups);
	hierarchies_tell(c);
	return err;
}

/* The cgroups, also those that are gone, of the scope that was asked for. */
static void cgroups_forget(struct capture *c)
{
	int map = bpf_map__fd(c->programs->maps.scope_cgroups);
	int gone = bpf_map__fd(c->programs->maps.scope_paths);
	struct cgroup_key key;
	struct cgroup_gone value;
	char path[sizeof(u64) + 496];
	u32 named;

	if (!c->detail_hierarchies[DETAIL_SCOPE_ASK])
		return;
	for (void *last = NULL; bpf_map_get_next_key(map, last, &key) == 0; last = &key) {
		if (bpf_map_lookup_elem(map, &key, &named))
			continue;
		named &= ~(1u << DETAIL_SCOPE_ASK);
		(void)bpf_map_update_elem(map, &key, &named, BPF_EXIST);
	}
	for (void *last = NULL; bpf_map_get_next_key(gone, last, path) == 0; last = path) {
		if (bpf_map_lookup_elem(gone, path, &value))
			continue;
		value.named &= ~(1u << DETAIL_SCOPE_ASK);
		(void)bpf_map_update_elem(gone, path, &value, BPF_EXIST);
	}
	c->detail_hierarchies[DETAIL_SCOPE_ASK] = 0;
	hierarchies_tell(c);
}

/* ---- all scopes ---- */

static enum detail_scope_kind scope_kind(const struct capture_detail_scope *scope)
{
	if (scope->cgroup)
		return DETAIL_SCOPE_CGROUP;
	if (scope->service)
		return DETAIL_SCOPE_SERVICE;
	if (scope->spans)
		return DETAIL_SCOPE_SPANS;
	return scope->name ? DETAIL_SCOPE_COMM : DETAIL_SCOPE_PID;
}

/* Tells the programs a scope. The name is stored first: they may run already. */
static int scope_tell(struct capture *c, u32 at, const struct capture_detail_scope *scope)
{
	struct programs__bss *bss = c->programs->bss;
	char name[sizeof(bss->detail_comms[at])] = {0};

	if (bss->detail_kinds[at] == DETAIL_SCOPE_COMM)
		flag_set(&bss->detail_names, bss->detail_names - 1);
	flag_set(&bss->detail_kinds[at], DETAIL_SCOPE_NONE);
	free(c->detail_services[at]);
	c->detail_services[at] = NULL;
	if (!scope)
		return 0;
	if (scope->service && !(c->detail_services[at] = strdup(scope->service)))
		return -ENOMEM;
	if (scope->name)
		strncpy(name, scope->name, CAPTURE_DETAIL_NAME);
	memcpy(bss->detail_comms[at], name, sizeof(name));
	bss->detail_pids[at] = (u32)scope->pid;
	flag_set(&bss->detail_kinds[at], scope_kind(scope));
	if (scope->name)
		flag_set(&bss->detail_names, bss->detail_names + 1);
	return 0;
}

int capture_scopes_open(struct capture *c, const struct capture_options *options, struct error *e)
{
	int err = 0;

	_Static_assert(CAPTURE_SCOPES_MAX == DETAIL_SCOPES, "the programs have room for all");
	if (options->detail_scope_count > DETAIL_SCOPES)
		return error_say(e, EINVAL, "at most %d scopes can have a level of their own",
				 DETAIL_SCOPES);
	c->scopes = CALLS_SCOPED | !options->no_calls;
	for (size_t i = 0; i < options->detail_scope_count && !err; i++) {
		const struct capture_detail_scope *scope = &options->detail_scopes[i];

		if (scope_tell(c, (u32)i + 1, scope))
			return error_set(e, ENOMEM, "cannot follow a service");
		c->scopes |= (u32)scope->calls << (i + 1);
		if (scope->spans)
			c->programs->bss->calls_spans = (u32)i + 1;
		if (scope->cgroup)
			err = cgroups_find(c, (u32)i + 1, scope->cgroup, e);
	}
	return err;
}

int capture_scopes_add(struct capture *c, struct error *e)
{
	return cgroups_tell(c, e);
}

/* Looks at all threads, which of these places they are in. `again`: of services and cgroups alone.
 */
static int scopes_look(struct capture *c, u32 first, u32 end, bool again, struct error *e)
{
	int err;

	c->programs->bss->detail_first = first;
	c->programs->bss->detail_end = end;
	c->programs->bss->detail_again = again;
	err = capture_scope_iterate(c, c->programs->progs.detail_seeds);
	return err ? error_set(e, err, "cannot find the threads of the scopes of --detail") : 0;
}

int capture_scopes_seed(struct capture *c, struct error *e)
{
	if (capture_detail(c) != CAPTURE_DETAIL_SCOPES)
		return 0;
	return scopes_look(c, 1, DETAIL_SCOPES + 1, false, e);
}

int capture_scopes_follow(struct capture *c)
{
	u64 moves = __atomic_load_n(&c->programs->bss->detail_moves, __ATOMIC_ACQUIRE);
	u64 now_ns = c->services_new.count ? host_clock_now_ns() : 0;
	bool services = now_ns >= c->services_told_ns + FOLLOW_NS && capture_services_tell(c);
	int err;

	if (moves == c->detail_moves && !services)
		return 0;
	c->detail_moves = moves;
	err = scopes_look(c, 0, DETAIL_SCOPES + 1, true, NULL);
	if (services) {
		c->services_told_ns = now_ns;
		capture_services_told(c);
	}
	return err;
}

/* Tells the programs the scope that was asked for, and looks for its threads. */
static int asked_begin(struct capture *c, const struct capture_detail_scope *scope, struct error *e)
{
	struct programs__bss *bss = c->programs->bss;
	int err = 0;

	if (scope->cgroup)
		err = cgroups_find(c, DETAIL_SCOPE_ASK, scope->cgroup, e);
	err = err ? err : cgroups_tell(c, e);
	if (!err && (err = scope_tell(c, DETAIL_SCOPE_ASK, scope)))
		error_set(e, err, "cannot follow a service");
	if (err)
		return err;
	c->asked = c->asked == UINT8_MAX ? 1 : c->asked + 1;
	if (scope->spans)
		flag_set(&bss->calls_spans, bss->calls_spans | CALLS_SPANS_ASKED);
	flag_set(&bss->calls_asked, c->asked | (scope->calls ? CALLS_ASKED_CALLS : 0) |
					    (scope->spans ? CALLS_ASKED_SPANS : 0));
	if (scope->service)
		capture_services_tell_all(c);
	err = scopes_look(c, DETAIL_SCOPE_ASK, 1, false, e);
	if (scope->service)
		capture_services_told(c);
	return err;
}

int capture_scopes_ask(struct capture *c, const struct capture_detail_scope *scope, struct error *e)
{
	struct programs__bss *bss = c->programs->bss;
	int err;

	flag_set(&bss->calls_asked, 0);
	flag_set(&bss->calls_spans, bss->calls_spans & ~CALLS_SPANS_ASKED);
	(void)scope_tell(c, DETAIL_SCOPE_ASK, NULL);
	cgroups_forget(c);
	err = scope ? asked_begin(c, scope, e) : 0;
	if (err)
		(void)capture_scopes_ask(c, NULL, NULL);
	return err;
}
