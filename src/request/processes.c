/* SPDX-License-Identifier: Apache-2.0 */
#include "request/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/query.h"
#include "request/program_name.h"

#define NAME_BYTES 512
#define CONTAINER_SHOWN 12 /* digits of an id, as container tools show them */

/* ---- numbers ---- */

static int process_add(struct processes *p, u64 key, const struct request_process *process)
{
	void *first = map_get(&p->by_pid, key);
	int err = p->list.count ? 0 : vec_push(&p->list, (struct request_process){0});

	err = err ? err : vec_push(&p->list, *process);
	if (err)
		return err;
	if (!first)
		return map_put(&p->by_pid, key, (void *)(uintptr_t)(p->list.count - 1));
	/* behind the first one, which stays the one that the map has */
	p->list.data[p->list.count - 1].next = p->list.data[(uintptr_t)first].next;
	p->list.data[(uintptr_t)first].next = (u32)p->list.count - 1;
	return 0;
}

u32 process_of_pid(struct processes *p, u32 host, u32 pid, u64 time_ns, bool add)
{
	u64 key = (u64)host << 32 | pid;
	u32 at = (u32)(uintptr_t)map_get(&p->by_pid, key);
	struct request_process process = {.host = host, .pid = pid, .seen_ns = time_ns};

	process.until_ns = query_held_until(p->hosts[host].p, pid, time_ns);
	for (; at; at = p->list.data[at].next) {
		if (p->list.data[at].until_ns != process.until_ns)
			continue;
		if (time_ns < p->list.data[at].seen_ns)
			p->list.data[at].seen_ns = time_ns;
		return at;
	}
	if (!add || process_add(p, key, &process))
		return 0;
	return (u32)p->list.count - 1;
}

/* Remembers to which process a thread belongs, at `at` of the list if it is not 0. */
static int thread_put(struct processes *p, u64 key, size_t at, const struct process_thread *now)
{
	struct process_thread *known = at ? &p->threads.data[at - 1] : NULL;
	int err;

	if (known) {
		*known = *now;
		return 0;
	}
	err = vec_push(&p->threads, *now);
	return err ? err : map_put(&p->by_thread, key, (void *)(uintptr_t)p->threads.count);
}

u32 process_of_thread(struct processes *p, u32 host, u32 tid, u64 time_ns, bool add)
{
	u64 key = (u64)host << 32 | tid;
	size_t at = (uintptr_t)map_get(&p->by_thread, key);
	struct process_thread now = {.from_ns = time_ns};
	const struct partial *partial = p->hosts[host].p;
	u32 pid;

	if (at) {
		const struct process_thread *known = &p->threads.data[at - 1];

		if (time_ns >= known->from_ns && time_ns <= known->until_ns &&
		    (known->process || !add))
			return known->process;
	}
	pid = query_pid(partial, tid, time_ns);
	now.until_ns = query_held_until(partial, tid, time_ns);
	now.process = process_of_pid(p, host, pid ? pid : tid, time_ns, add);
	if (add && !now.process)
		return 0;
	return thread_put(p, key, at, &now) ? 0 : now.process;
}

/* ---- names ---- */

/* What processes are called together, before their programs are told apart. */
struct naming {
	struct bytes_map services; /* name -> number + 1 */
	struct bytes_map groups;   /* host and group -> the first program, or SEVERAL */
	VEC(char *) programs;	   /* owned: values of `groups` */
};

#define SEVERAL ((void *)1)

/* The name of the unit in whose cgroup a process is: "nginx" of /system.slice/nginx.service. */
static bool unit_name(const char *path, char *text, size_t size)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
	const char *end = name ? strstr(name, ".service") : NULL;

	if (!end || end == name || strcmp(end, ".service") != 0 || strncmp(name, "user@", 5) == 0)
		return false;
	snprintf(text, size, "%.*s", (int)(end - name), name);
	return true;
}

const char *process_container(const struct processes *p, u32 process, const char **name)
{
	const struct request_process *of = &p->list.data[process];
	const struct request_host *host = &p->hosts[of->host];
	const char *id = query_container(host->p, of->pid, of->seen_ns);

	*name = id && host->container_name ? host->container_name(host->container_arg, id) : NULL;
	return id;
}

/* The container or unit of a process; false: it is in none. */
static bool group_name(const struct processes *p, const struct request_process *of, char *text,
		       size_t size)
{
	const struct partial *partial = p->hosts[of->host].p;
	const char *name;
	const char *container = process_container(p, (u32)(of - p->list.data), &name);

	if (name)
		snprintf(text, size, "%s", name);
	else if (container)
		snprintf(text, size, "%.*s", CONTAINER_SHOWN, container);
	return container || unit_name(query_cgroup(partial, of->pid, of->seen_ns), text, size);
}

static const char *published_name(const struct processes *p, const struct request_process *of)
{
	const struct request_host *host = &p->hosts[of->host];
	const char *name = query_resource(host->p, of->pid, of->seen_ns, "service.name");

	if ((!name || !*name) && host->service_name)
		name = host->service_name(host->service_arg, of->pid);
	return name && *name ? name : NULL;
}

/* A host and a group of it, as a key. Returns its length. */
static size_t group_key(const struct request_process *of, const char *group, char *key, size_t size)
{
	int n = snprintf(key, size, "%u %s", of->host, group);

	return (size_t)n < size ? (size_t)n : size - 1;
}

/* Notes whether a container or unit has several programs. */
static int group_note(struct naming *n, const struct processes *p, const struct request_process *of)
{
	const struct partial *partial = p->hosts[of->host].p;
	char group[NAME_BYTES], key[NAME_BYTES + 16], program[NAME_BYTES], *kept;
	size_t length;
	int err;

	if (published_name(p, of) || !group_name(p, of, group, sizeof(group)))
		return 0;
	length = group_key(of, group, key, sizeof(key));
	program_name(partial, of->pid, of->seen_ns, program, sizeof(program));
	kept = bytes_map_get(&n->groups, key, length);
	if (kept)
		return kept == SEVERAL || strcmp(kept, program) == 0
			       ? 0
			       : bytes_map_put(&n->groups, key, length, SEVERAL);
	kept = strdup(program);
	err = kept ? vec_push(&n->programs, kept) : -ENOMEM;
	if (err) {
		free(kept);
		return err;
	}
	return bytes_map_put(&n->groups, key, length, kept);
}

static void process_name_write(struct naming *n, const struct processes *p,
			       const struct request_process *of, char *text, size_t size)
{
	const struct partial *partial = p->hosts[of->host].p;
	char group[NAME_BYTES], key[NAME_BYTES + 16], program[NAME_BYTES];
	const char *published = published_name(p, of);

	if (published) {
		snprintf(text, size, "%s", published);
		return;
	}
	program_name(partial, of->pid, of->seen_ns, program, sizeof(program));
	if (!group_name(p, of, group, sizeof(group)))
		snprintf(text, size, "%s", program);
	else if (bytes_map_get(&n->groups, key, group_key(of, group, key, sizeof(key))) == SEVERAL)
		snprintf(text, size, "%s/%s", group, program);
	else
		snprintf(text, size, "%s", group);
}

/* The number of a service, a new one if there is none of that name. 0 or -ENOMEM. */
static int service_find(struct naming *n, struct processes *p, const char *name, bool published,
			u32 *number)
{
	size_t length = strlen(name);
	uintptr_t known = (uintptr_t)bytes_map_get(&n->services, name, length);
	struct request_service service = {.published = published};
	int err;

	*number = (u32)known - 1;
	if (known)
		return 0;
	service.name = strdup(name);
	err = service.name ? vec_push(&p->services, service) : -ENOMEM;
	if (err) {
		free(service.name);
		return err;
	}
	*number = (u32)p->services.count - 1;
	return bytes_map_put(&n->services, name, length, (void *)(uintptr_t)p->services.count);
}

int processes_name(struct processes *p)
{
	struct naming n = {0};
	int err = 0;

	for (size_t i = 1; i < p->list.count && !err; i++)
		err = group_note(&n, p, &p->list.data[i]);
	for (size_t i = 1; i < p->list.count && !err; i++) {
		struct request_process *of = &p->list.data[i];
		char name[2 * NAME_BYTES + 2];

		process_name_write(&n, p, of, name, sizeof(name));
		err = service_find(&n, p, name, published_name(p, of), &of->service);
	}
	bytes_map_free(&n.services);
	bytes_map_free(&n.groups);
	for (size_t i = 0; i < n.programs.count; i++)
		free(n.programs.data[i]);
	vec_free(&n.programs);
	return err;
}

const char *process_service(const struct processes *p, u32 process)
{
	return process && process < p->list.count
		       ? p->services.data[p->list.data[process].service].name
		       : "?";
}

void processes_free(struct processes *p)
{
	for (size_t i = 0; i < p->services.count; i++)
		free(p->services.data[i].name);
	vec_free(&p->services);
	vec_free(&p->list);
	vec_free(&p->threads);
	map_free(&p->by_pid);
	map_free(&p->by_thread);
}
