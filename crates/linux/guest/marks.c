/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Counts the packets with a mark of congestion that come to an address. */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

int marks_watch(int node, const struct sockaddr_in *to)
{
	enum { DSCP_AND_ECN_AT = 1, TO_AT = 16, CE = 3 };
	struct sock_filter is_marked[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DSCP_AND_ECN_AT),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, CE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, TO_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(to->sin_addr.s_addr), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { sizeof is_marked / sizeof *is_marked, is_marked };
	const struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int least = 0, fd;

	node_enter(node);
	/* Without a protocol it gets nothing until the filter is there. */
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ||
	    bind(fd, (const struct sockaddr *)&all, sizeof all))
		fail("counting marks");
	return fd;
}

uint64_t marks_count(int fd)
{
	/* Packets for which the socket has no room are among them. */
	struct tpacket_stats since_last;
	socklen_t bytes = sizeof since_last;

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &since_last, &bytes))
		fail("counting marks");
	return since_last.tp_packets;
}
