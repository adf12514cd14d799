/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of the process, as the program sets it: its service, endpoint and attributes. */
#include <errno.h>
#include <stdio.h>

#include "lib/identity.h"
#include "lib/quiet.h"
#include "lib/record_write.h"

/* Records the new identity for the listener. Readers of the process context have it already. */
static void identity_changed(struct fathom_thread *t)
{
	__atomic_fetch_add(&fathom_process.version, 1, __ATOMIC_RELEASE);
	t->told = 0;
	(void)write_wanted(t);
}

static int identity_set(const struct identity_attribute *attributes, size_t count)
{
	int err, kept = errno;
	struct fathom_thread *t;
	struct quiet quiet;

	if (fathom_process.disabled)
		return 0;
	t = thread_get();
	if (!t)
		return fathom_process.disabled ? 0 : -ENOMEM;
	fathom_quiet_begin(&quiet);
	err = fathom_identity_replace(t->pid, attributes, count);
	fathom_quiet_end(&quiet);
	if (!err)
		identity_changed(t);
	errno = kept;
	return err;
}

int fathom_resource_set(const char *key, const char *value)
{
	if (!key || !*key || !value)
		return -EINVAL;
	return identity_set(&(struct identity_attribute){key, value}, 1);
}

int fathom_init(const char *service)
{
	struct fathom_thread *t;

	if (service)
		return *service ? fathom_resource_set("service.name", service) : -EINVAL;
	t = thread_get();
	return t || fathom_process.disabled ? 0 : -ENOMEM;
}

int fathom_endpoint_set(const struct fathom_endpoint *endpoint)
{
	struct identity_attribute all[3];
	char port[8];

	if (!endpoint)
		return -EINVAL;
	snprintf(port, sizeof(port), "%u", endpoint->port);
	all[0] = (struct identity_attribute){"service.name", endpoint->name};
	all[1] = (struct identity_attribute){"network.local.address", endpoint->address};
	all[2] = (struct identity_attribute){"network.local.port", endpoint->port ? port : NULL};
	return identity_set(all, 3);
}
