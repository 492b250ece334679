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
#define WARM_UP_PORT 3999
#define TRIPS 3
/* Of these so many arrive, on a path that loses packets. */
#define TRIES 20
#define TRIP_LIMIT_MS 20000
#define ROOM_BYTES (256 << 20)
/* The queue is looked at after so many packets of a burst, and then every so often. */
#define SENT_PER_LOOK 4
#define LOOK_NS 100000
/* So many packets are sent after one is dropped: a queue that is looked at now and then is full at one of these looks. */
#define SENT_AFTER_DROP 64
/* A queue of 50,000 packets, and what is sent beyond it. */
#define ARRIVALS_MAX (1 << 16)

static char datagram[65536];
static uint64_t arrivals_ns[ARRIVALS_MAX];

struct ends {
	int sender, receiver;
	/* Where the receiver is, and the sender as the receiver sees it. */
	struct sockaddr_in to, back;
};

struct burst {
	uint64_t arrived;
	uint32_t most_held;
	/* Whether the link has dropped a packet. */
	int dropped;
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

static void open_ends(int flow, struct ends *ends)
{
	int from, to;

	flow_ends(flow, &from, &to, &ends->to);
	ends->to.sin_port = htons((uint16_t)(PORT + flow));
	ends->sender = open_udp(from);
	ends->receiver = open_udp(to);
	if (bind(ends->receiver, (struct sockaddr *)&ends->to, sizeof ends->to))
		fail("a probe");
}

static void close_ends(const struct ends *ends)
{
	close(ends->sender);
	close(ends->receiver);
}

/* From the sender to the receiver and back, 0 if it got lost. */
static uint64_t trip_ns(struct ends *ends)
{
	socklen_t bytes = sizeof ends->back;
	uint64_t begin_ns = now_ns();

	if (sendto(ends->sender, datagram, 1, 0, (const void *)&ends->to, sizeof ends->to) < 0)
		fail("a probe");
	if (!wait_for(ends->receiver) ||
	    recvfrom(ends->receiver, datagram, sizeof datagram, 0, (void *)&ends->back, &bytes) < 0)
		return 0;
	if (sendto(ends->receiver, datagram, 1, 0, (const void *)&ends->back, bytes) < 0 || !wait_for(ends->sender) ||
	    recv(ends->sender, datagram, sizeof datagram, 0) < 0)
		return 0;
	return now_ns() - begin_ns;
}

/* trip FLOW: reports the shortest of the first trips that arrive. */
void probe_trip(char *line)
{
	int flow = (int)number(&line), arrived = 0, tries;
	uint64_t best_ns = 0;
	struct ends ends;

	open_ends(flow, &ends);
	for (tries = 0; tries < TRIES && arrived < TRIPS; tries++) {
		uint64_t took_ns = trip_ns(&ends);

		arrived += took_ns > 0;
		if (took_ns && (!best_ns || took_ns < best_ns))
			best_ns = took_ns;
	}
	report("trip %d %llu", flow, (unsigned long long)best_ns);
	close_ends(&ends);
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

static void look(int receiver, int link, uint64_t dropped_before, struct burst *burst)
{
	struct queue_state state;

	link_read(link, &state);
	burst->dropped |= state.dropped_pkts > dropped_before;
	if (state.held_pkts > burst->most_held)
		burst->most_held = state.held_pkts;
	while (burst->arrived < ARRIVALS_MAX && arrival_ns(receiver, &arrivals_ns[burst->arrived]))
		burst->arrived++;
}

/*
 * burst FLOW LINK IS_BACK PACKETS BYTES WAIT_NS: datagrams of BYTES at once, over the link there or, if IS_BACK, from the flow's
 * receiver to its sender, until it drops some, at most PACKETS.
 */
void probe_burst(char *line)
{
	int flow = (int)number(&line), link = (int)number(&line), is_back = (int)number(&line), from, to;
	uint64_t count = number(&line), size = number(&line), wait_ns = number(&line), until_ns, took_ns, first, i;
	struct burst burst = { 0 };
	struct queue_state before;
	const struct sockaddr_in *address;
	struct ends ends;
	const int on = 1;

	open_ends(flow, &ends);
	for (i = 0; is_back && i < TRIES && !trip_ns(&ends); i++)
		;
	from = is_back ? ends.receiver : ends.sender;
	to = is_back ? ends.sender : ends.receiver;
	address = is_back ? &ends.back : &ends.to;
	if (setsockopt(to, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on))
		fail("a probe");
	link_read(link, &before);
	for (i = 0; i < count; i++) {
		if (sendto(from, datagram, size, 0, (const void *)address, sizeof *address) < 0)
			fail("a probe");
		if (i % SENT_PER_LOOK == 0)
			look(to, link, before.dropped_pkts, &burst);
		if (burst.dropped && count > i + SENT_AFTER_DROP)
			count = i + SENT_AFTER_DROP;
	}
	until_ns = now_ns() + wait_ns;
	while (now_ns() < until_ns) {
		const struct timespec pause = { 0, LOOK_NS };

		look(to, link, before.dropped_pkts, &burst);
		nanosleep(&pause, NULL);
	}
	/* The sender may pause after the first packets. The later half came from a queue: it shows the link's rate. */
	first = burst.arrived / 2;
	took_ns = burst.arrived ? arrivals_ns[burst.arrived - 1] - arrivals_ns[first] : 0;
	report("burst %d %llu %llu %u %d", flow, (unsigned long long)(burst.arrived - first),
	       (unsigned long long)took_ns, burst.most_held, burst.dropped);
	close_ends(&ends);
}

/* The kernel readies some of its parts when a first connection carries data, which would make that connection's data late by
 * a round trip: a connection within a node comes before all others. */
void probe_warm_up(int node)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(WARM_UP_PORT) };
	int listening, sender, receiver;
	ssize_t sent, got = 0;

	node_enter(node);
	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listening < 0 || sender < 0 || bind(listening, (struct sockaddr *)&here, sizeof here) ||
	    listen(listening, 1) || connect(sender, (struct sockaddr *)&here, sizeof here))
		fail("warming up");
	receiver = accept(listening, NULL, NULL);
	sent = send(sender, datagram, sizeof datagram / 4, MSG_NOSIGNAL);
	while (got < sent) {
		ssize_t more = recv(receiver, datagram, sizeof datagram, 0);

		if (more <= 0)
			fail("warming up");
		got += more;
	}
	close(sender);
	close(receiver);
	close(listening);
}
