/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Namespaces, devices, routes and queues, by rtnetlink. */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct node {
	int namespace, netlink;
} nodes[NODES_MAX];

static struct message {
	struct nlmsghdr header;
	char body[16384];
} message;
static char answer[65536];

/* -- messages -- */

static void *begin(unsigned short type, unsigned short flags, size_t bytes)
{
	memset(&message, 0, sizeof message.header + bytes);
	message.header.nlmsg_type = type;
	message.header.nlmsg_flags = NLM_F_REQUEST | flags;
	message.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(bytes);
	return NLMSG_DATA(&message.header);
}

static struct rtattr *attribute(unsigned short type, const void *data, size_t bytes)
{
	size_t at = NLMSG_ALIGN(message.header.nlmsg_len);
	struct rtattr *added = (struct rtattr *)((char *)&message + at);

	if (at + RTA_LENGTH(bytes) > sizeof message) {
		errno = EMSGSIZE;
		fail("a netlink message");
	}
	added->rta_type = type;
	added->rta_len = (unsigned short)RTA_LENGTH(bytes);
	if (bytes)
		memcpy(RTA_DATA(added), data, bytes);
	message.header.nlmsg_len = (uint32_t)(at + RTA_ALIGN(added->rta_len));
	return added;
}

static void attribute_u32(unsigned short type, uint32_t value)
{
	attribute(type, &value, sizeof value);
}

static void attribute_text(unsigned short type, const char *text)
{
	attribute(type, text, strlen(text) + 1);
}

static void end(struct rtattr *nested)
{
	nested->rta_len = (unsigned short)((char *)&message + message.header.nlmsg_len - (char *)nested);
}

/* Sends the message; the kernel's answer is 0 or an error. */
static void send_in(int node, const char *purpose)
{
	const struct nlmsghdr *header = (void *)answer;

	message.header.nlmsg_flags |= NLM_F_ACK;
	if (send(nodes[node].netlink, &message, message.header.nlmsg_len, 0) < 0)
		fail("%s", purpose);
	if (recv(nodes[node].netlink, answer, sizeof answer, 0) < 0)
		fail("%s", purpose);
	errno = -((struct nlmsgerr *)NLMSG_DATA(header))->error;
	if (errno)
		fail("%s", purpose);
}

/* -- nodes -- */

void node_enter(int node)
{
	if (setns(nodes[node].namespace, CLONE_NEWNET))
		fail("setns %d", node);
}

int device_index(int node, const char *device)
{
	unsigned int index;

	node_enter(node);
	index = if_nametoindex(device);
	if (!index)
		fail("device %s of node %d", device, node);
	return (int)index;
}

static void bring_up(int node, const char *device, unsigned int flags)
{
	struct ifinfomsg *info = begin(RTM_NEWLINK, 0, sizeof *info);

	info->ifi_index = device_index(node, device);
	info->ifi_flags = info->ifi_change = IFF_UP | flags;
	send_in(node, device);
}

void node_add(int node)
{
	if (node < 0 || node >= NODES_MAX)
		fail("node %d", node);
	if (unshare(CLONE_NEWNET))
		fail("namespace of node %d", node);
	nodes[node].namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	nodes[node].netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (nodes[node].namespace < 0 || nodes[node].netlink < 0)
		fail("netlink of node %d", node);
	bring_up(node, "lo", 0);
}

void sysctl_set(int node, const char *key, const char *value)
{
	char path[128];
	int fd;

	node_enter(node);
	snprintf(path, sizeof path, "/proc/sys/%s", key);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fail("sysctl %s = %s", key, value);
	close(fd);
}

/* By the counters of the kernel. */
uint64_t node_shortages(int node)
{
	static const char *const wanted[] = { "TCPMemoryPressures", "PruneCalled", "TCPRcvQDrop" };
	static char names[8192], values[8192];
	uint64_t count = 0;
	size_t i;
	FILE *file;

	node_enter(node);
	file = fopen("/proc/self/net/netstat", "r");
	if (!file)
		fail("/proc/net/netstat");
	/* A line of names, and one of values. */
	while (fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
		char *name_at = names, *value_at = values, *name, *value;

		while ((name = strsep(&name_at, " \n")) && (value = strsep(&value_at, " \n")))
			for (i = 0; i < sizeof wanted / sizeof *wanted; i++)
				if (!strcmp(name, wanted[i]))
					count += strtoull(value, NULL, 10);
	}
	fclose(file);
	return count;
}

/* Both ends of a pair have one hardware address: without ARP a packet is sent to the device's own. */
static void describe(const char *name, unsigned int mtu)
{
	static const unsigned char hardware[6] = { 2, 0, 0, 0, 0, 1 };

	attribute_text(IFLA_IFNAME, name);
	attribute_u32(IFLA_MTU, mtu);
	attribute(IFLA_ADDRESS, hardware, sizeof hardware);
	attribute_u32(IFLA_TXQLEN, 1000);
	attribute_u32(IFLA_GSO_MAX_SEGS, 1);
}

/* A packet is one segment, and whoever sends it cuts it. */
static void forbid_segmentation(int node, const char *device)
{
	static const uint32_t off[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	size_t i;

	for (i = 0; i < sizeof off / sizeof *off; i++) {
		struct ethtool_value value = { .cmd = off[i] };
		struct ifreq request = { .ifr_data = (void *)&value };

		strncpy(request.ifr_name, device, IFNAMSIZ - 1);
		node_enter(node);
		if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
			fail("offloads of %s", device);
	}
	close(fd);
}

void pair_add(int from, const char *device, int to, const char *peer, unsigned int mtu)
{
	struct ifinfomsg ends = { 0 };
	struct rtattr *link, *data, *other;

	begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof ends);
	describe(device, mtu);
	link = attribute(IFLA_LINKINFO, NULL, 0);
	attribute_text(IFLA_INFO_KIND, "veth");
	data = attribute(IFLA_INFO_DATA, NULL, 0);
	other = attribute(VETH_INFO_PEER, &ends, sizeof ends);
	describe(peer, mtu);
	attribute(IFLA_NET_NS_FD, &nodes[to].namespace, sizeof nodes[to].namespace);
	end(other);
	end(data);
	end(link);
	send_in(from, device);
	node_enter(from);
	forbid_segmentation(from, device);
	node_enter(to);
	forbid_segmentation(to, peer);
	bring_up(from, device, IFF_NOARP);
	bring_up(to, peer, IFF_NOARP);
}

void address_add(int node, const char *address)
{
	struct ifaddrmsg *info = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof *info);
	struct in_addr ip;

	if (inet_pton(AF_INET, address, &ip) != 1)
		fail("address %s", address);
	info->ifa_family = AF_INET;
	info->ifa_prefixlen = 32;
	info->ifa_index = (unsigned int)device_index(node, "lo");
	attribute(IFA_LOCAL, &ip, sizeof ip);
	attribute(IFA_ADDRESS, &ip, sizeof ip);
	send_in(node, address);
}

void route_add(int node, const struct route *route)
{
	struct rtmsg *info = begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof *info);
	struct in_addr to, source;
	struct rtattr *metrics;

	if (inet_pton(AF_INET, route->to, &to) != 1 || inet_pton(AF_INET, route->source, &source) != 1)
		fail("route %s", route->to);
	info->rtm_family = AF_INET;
	info->rtm_dst_len = 32;
	info->rtm_table = RT_TABLE_MAIN;
	info->rtm_protocol = RTPROT_STATIC;
	info->rtm_scope = RT_SCOPE_LINK;
	info->rtm_type = RTN_UNICAST;
	attribute(RTA_DST, &to, sizeof to);
	if (source.s_addr)
		attribute(RTA_PREFSRC, &source, sizeof source);
	attribute_u32(RTA_OIF, (uint32_t)device_index(node, route->device));
	metrics = attribute(RTA_METRICS, NULL, 0);
	if (route->initcwnd)
		attribute_u32(RTAX_INITCWND, route->initcwnd);
	if (route->quickack)
		attribute_u32(RTAX_QUICKACK, 1);
	if (route->rto_min_ms)
		attribute_u32(RTAX_RTO_MIN, route->rto_min_ms);
	if (route->ssthresh) {
		/* Connections leave these alone. */
		attribute_u32(RTAX_LOCK, 1 << RTAX_SSTHRESH | 1 << RTAX_RTT | 1 << RTAX_RTTVAR | 1 << RTAX_REORDERING);
		attribute_u32(RTAX_SSTHRESH, route->ssthresh);
	}
	end(metrics);
	send_in(node, route->to);
}

/* -- queues -- */

void queue_add(int node, const struct queue *queue)
{
	unsigned short type = queue->is_class ? RTM_NEWTCLASS : RTM_NEWQDISC;
	struct tcmsg *info = begin(type, NLM_F_CREATE | (queue->is_class ? NLM_F_EXCL : NLM_F_REPLACE), sizeof *info);

	info->tcm_family = AF_UNSPEC;
	info->tcm_ifindex = device_index(node, queue->device);
	info->tcm_parent = queue->parent;
	info->tcm_handle = queue->handle;
	attribute_text(TCA_KIND, queue->kind);
	if (queue->options_bytes)
		attribute(TCA_OPTIONS, queue->options, queue->options_bytes);
	send_in(node, queue->kind);
}

/* The marks of a discipline, from its own statistics. */
static uint64_t marks_of(const char *kind, const struct rtattr *own)
{
	const uint32_t *words = RTA_DATA(own);
	size_t count = RTA_PAYLOAD(own) / sizeof *words;

	if (!strcmp(kind, "codel") && count > offsetof(struct tc_codel_xstats, ce_mark) / 4) {
		const struct tc_codel_xstats *codel = (const void *)words;

		return codel->ecn_mark + codel->ce_mark;
	}
	if (!strcmp(kind, "fq_codel") && *words == TCA_FQ_CODEL_XSTATS_QDISC) {
		const struct tc_fq_codel_qd_stats *codel = &((const struct tc_fq_codel_xstats *)words)->qdisc_stats;

		return codel->ecn_mark + codel->ce_mark;
	}
	if (!strcmp(kind, "pie"))
		return ((const struct tc_pie_xstats *)words)->ecn_mark;
	if (!strcmp(kind, "red"))
		return ((const struct tc_red_xstats *)words)->marked;
	return 0;
}

static void read_statistics(const char *kind, struct rtattr *stats, struct queue_state *state)
{
	struct rtattr *one = RTA_DATA(stats);
	int left = (int)RTA_PAYLOAD(stats);

	for (; RTA_OK(one, left); one = RTA_NEXT(one, left)) {
		switch (one->rta_type & NLA_TYPE_MASK) {
		case TCA_STATS_BASIC: {
			struct gnet_stats_basic basic;

			memcpy(&basic, RTA_DATA(one), sizeof basic);
			state->sent_bytes = basic.bytes;
			state->sent_pkts = basic.packets;
			break;
		}
		case TCA_STATS_QUEUE: {
			struct gnet_stats_queue queue;

			memcpy(&queue, RTA_DATA(one), sizeof queue);
			state->held_pkts = queue.qlen;
			state->held_bytes = queue.backlog;
			state->dropped_pkts = queue.drops;
			break;
		}
		case TCA_STATS_APP:
			state->marked_pkts = marks_of(kind, one);
			break;
		}
	}
}

void queue_read(int node, const char *device, uint32_t handle, struct queue_state *state)
{
	struct tcmsg *info = begin(RTM_GETQDISC, NLM_F_ECHO, sizeof *info);
	struct rtattr *one, *stats = NULL;
	const char *kind = "";
	struct nlmsghdr *header = (void *)answer;
	ssize_t bytes;
	int left;

	info->tcm_family = AF_UNSPEC;
	info->tcm_ifindex = device_index(node, device);
	info->tcm_handle = handle;
	/* The handle decides, whatever the parent is. Without NLM_F_ECHO there is no answer. */
	info->tcm_parent = 0;
	bytes = send(nodes[node].netlink, &message, message.header.nlmsg_len, 0);
	if (bytes >= 0)
		bytes = recv(nodes[node].netlink, answer, sizeof answer, 0);
	if (bytes < 0)
		fail("queue of %s", device);
	if (header->nlmsg_type == NLMSG_ERROR) {
		errno = -((struct nlmsgerr *)NLMSG_DATA(header))->error;
		fail("queue of %s", device);
	}
	one = TCA_RTA((struct tcmsg *)NLMSG_DATA(header));
	left = (int)TCA_PAYLOAD(header);
	for (; RTA_OK(one, left); one = RTA_NEXT(one, left)) {
		if ((one->rta_type & NLA_TYPE_MASK) == TCA_KIND)
			kind = RTA_DATA(one);
		if ((one->rta_type & NLA_TYPE_MASK) == TCA_STATS2)
			stats = one;
	}
	memset(state, 0, sizeof *state);
	if (stats)
		read_statistics(kind, stats, state);
}
