/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Measures the path of a flow before the run: round-trip time, rate, and how much the queue holds when it drops. */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 4000
#define TRIPS 3
#define TRIP_LIMIT_MS 20000
#define ROOM_BYTES (256 << 20)
/* The queue is looked at after so many packets of a burst, and then every so often. */
#define SENT_PER_LOOK 4
#define LOOK_NS 100000

static char datagram[65536];

struct ends {
	int sender, receiver;
	struct sockaddr_in to;
};

struct burst {
	uint64_t arrived, first_ns, last_ns;
	uint32_t most_held;
};

static int open_udp(int node)
{
	int fd, room = ROOM_BYTES;

	node_enter(node);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room))
		fail("a probe");
	return fd;
}

static int wait_for(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, TRIP_LIMIT_MS) == 1;
}

/* From the sender to the receiver and back, 0 if it got lost. */
static uint64_t trip_ns(const struct ends *ends)
{
	struct sockaddr_in from;
	socklen_t bytes = sizeof from;
	uint64_t begin_ns = now_ns();

	if (sendto(ends->sender, datagram, 1, 0, (const void *)&ends->to, sizeof ends->to) < 0)
		fail("a probe");
	if (!wait_for(ends->receiver) || recvfrom(ends->receiver, datagram, sizeof datagram, 0, (void *)&from, &bytes) < 0)
		return 0;
	if (sendto(ends->receiver, datagram, 1, 0, (const void *)&from, bytes) < 0 || !wait_for(ends->sender) ||
	    recv(ends->sender, datagram, sizeof datagram, 0) < 0)
		return 0;
	return now_ns() - begin_ns;
}

/* Takes the next datagram: 1 and when it came, by the kernel's clock; 0 if there is none. */
static int arrival_ns(int fd, uint64_t *at_ns)
{
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec place = { datagram, sizeof datagram };
	struct msghdr message = {
		.msg_iov = &place, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
	};
	struct timespec at;
	struct cmsghdr *part;

	if (recvmsg(fd, &message, MSG_DONTWAIT) < 0)
		return 0;
	part = CMSG_FIRSTHDR(&message);
	if (!part || part->cmsg_type != SCM_TIMESTAMPNS)
		fail("a probe's time");
	memcpy(&at, CMSG_DATA(part), sizeof at);
	*at_ns = (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
	return 1;
}

static void look(const struct ends *ends, int link, struct burst *burst)
{
	uint32_t held = link_held_pkts(link);

	if (held > burst->most_held)
		burst->most_held = held;
	while (arrival_ns(ends->receiver, &burst->last_ns))
		if (!burst->arrived++)
			burst->first_ns = burst->last_ns;
}

/* probe FLOW LINK PACKETS BYTES WAIT_NS: BYTES are those of a datagram, PACKETS are sent at once. */
void probe(char *line)
{
	int flow = (int)number(&line), link = (int)number(&line), from, to;
	uint64_t count = number(&line), size = number(&line), wait_ns = number(&line), best_ns = 0, until_ns, i;
	struct burst burst = { 0 };
	struct ends ends;
	const int on = 1;

	flow_ends(flow, &from, &to, &ends.to);
	ends.to.sin_port = htons((uint16_t)(PORT + flow));
	ends.sender = open_udp(from);
	ends.receiver = open_udp(to);
	if (setsockopt(ends.receiver, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
	    bind(ends.receiver, (struct sockaddr *)&ends.to, sizeof ends.to))
		fail("a probe");
	for (i = 0; i < TRIPS; i++) {
		uint64_t took_ns = trip_ns(&ends);

		if (took_ns && (!best_ns || took_ns < best_ns))
			best_ns = took_ns;
	}
	for (i = 0; i < count; i++) {
		if (sendto(ends.sender, datagram, size, 0, (void *)&ends.to, sizeof ends.to) < 0)
			fail("a probe");
		if (i % SENT_PER_LOOK == 0)
			look(&ends, link, &burst);
	}
	until_ns = now_ns() + wait_ns;
	while (now_ns() < until_ns) {
		const struct timespec pause = { 0, LOOK_NS };

		look(&ends, link, &burst);
		nanosleep(&pause, NULL);
	}
	report("probe %d %llu %llu %llu %u", flow, (unsigned long long)best_ns, (unsigned long long)burst.arrived,
	       (unsigned long long)(burst.last_ns - burst.first_ns), burst.most_held);
	close(ends.sender);
	close(ends.receiver);
}
