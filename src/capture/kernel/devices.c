/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/kernel/devices.h"

#include <stdio.h>
#include <string.h>

#include "base/host_clock.h"

static const struct capture_stream life_stream = {.kind = CAPTURE_STREAM_LIFE};

static int device_tell(const struct capture_sink *sink, u32 dev, const char *name)
{
	union {
		struct record_device device;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} r;
	size_t len = strlen(name);

	_Static_assert(sizeof(struct record_device) <= sizeof(r), "device");
	memset(&r, 0, sizeof(r));
	r.device.head.kind = RECORD_device;
	r.device.head.time_ns = host_clock_now_ns();
	r.device.dev = dev;
	r.device.name_len = len;
	memcpy(r.device.name, name, len);
	len += offsetof(struct record_device, name);
	r.device.head.slots = (len + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	return sink->record(sink->arg, &life_stream, &r.device.head);
}

int capture_devices_tell(const struct capture_sink *sink)
{
	FILE *file = fopen("/proc/partitions", "re");
	unsigned int major, minor;
	char line[256], name[33];
	int err = 0;

	if (!file)
		return 0;
	while (!err && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%u %u %*u %32s", &major, &minor, name) == 3 &&
		    strlen(name) < sizeof(((struct record_device *)0)->name))
			err = device_tell(sink, major << 20 | minor, name);
	}
	fclose(file);
	return err;
}
