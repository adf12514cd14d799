/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <sys/socket.h>

#include "tests/truth/truth.h"

struct question {
	int family, command, attribute;
	const void *value;
	size_t size;
};

struct message {
	struct nlmsghdr head;
	struct genlmsghdr generic;
	char attributes[4096];
};

#define MESSAGE_HEAD offsetof(struct message, attributes)

static void *attribute_value(struct nlattr *attribute)
{
	return (char *)attribute + NLA_HDRLEN;
}

static struct nlattr *attribute_find(void *from, size_t size, int type)
{
	struct nlattr *attribute = from;

	while (size >= NLA_HDRLEN && attribute->nla_len >= NLA_HDRLEN &&
	       attribute->nla_len <= size) {
		size_t step = NLA_ALIGN(attribute->nla_len);

		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return attribute;
		attribute = (struct nlattr *)((char *)attribute + step);
		size -= step < size ? step : size;
	}
	return NULL;
}

/* The attribute of type `answer` of what is answered, or NULL. */
static struct nlattr *ask(int fd, const struct question *question, struct message *m, int answer)
{
	struct nlattr *attribute = (struct nlattr *)m->attributes;
	ssize_t len;

	memset(m, 0, sizeof(*m));
	attribute->nla_type = (uint16_t)question->attribute;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + question->size);
	memcpy(attribute_value(attribute), question->value, question->size);
	m->generic.cmd = (uint8_t)question->command;
	m->generic.version = 1;
	m->head.nlmsg_type = (uint16_t)question->family;
	m->head.nlmsg_flags = NLM_F_REQUEST;
	m->head.nlmsg_len = (uint32_t)(MESSAGE_HEAD + NLA_ALIGN(attribute->nla_len));
	if (send(fd, m, m->head.nlmsg_len, 0) < 0)
		return NULL;
	len = recv(fd, m, sizeof(*m), 0);
	if (len < (ssize_t)MESSAGE_HEAD || m->head.nlmsg_type != question->family)
		return NULL;
	return attribute_find(m->attributes, (size_t)len - MESSAGE_HEAD, answer);
}

static struct nlattr *ask_taskstats(int fd, struct message *m)
{
	const struct question which = {GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
				       TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME)};
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct question mine = {0, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &tid, sizeof(tid)};
	struct nlattr *found = ask(fd, &which, m, CTRL_ATTR_FAMILY_ID);

	if (!found)
		return NULL;
	mine.family = *(uint16_t *)attribute_value(found);
	found = ask(fd, &mine, m, TASKSTATS_TYPE_AGGR_PID);
	return found ? attribute_find(attribute_value(found), found->nla_len - NLA_HDRLEN,
				      TASKSTATS_TYPE_STATS)
		     : NULL;
}

int64_t truth_disk_delay(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct taskstats stats = {0};
	struct nlattr *found;
	struct message m;

	if (fd < 0)
		return -1;
	found = ask_taskstats(fd, &m);
	close(fd);
	if (!found)
		return -1;
	/* older kernels tell less at the end */
	memcpy(&stats, attribute_value(found), offsetof(struct taskstats, swapin_count));
	return (int64_t)stats.blkio_delay_total;
}
