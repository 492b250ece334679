/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Makes a record of a TCP connection when an ACK reaches it while it has data in flight, at most one in an
 * interval. The record has the state that the ACK before this one left.
 */
#undef HEADER
#define HEADER "cc.h"
#define trace_PARAMS(P)
struct trace_params {
	unsigned int port; /* of either end; 0: any */
	unsigned int interval_us;
	char cca[16]; /* empty: any */
};
#include "program.h"
#include "../shim/shim.h"

/* src/trace.rs has the same layout. */
struct record {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u64 cookie;
	u64 sent_bytes; /* payload, retransmissions included */
	u64 acked_bytes;
	u64 pacing_rate; /* bytes/s; 0: not paced */
	u32 netns;
	u32 cwnd;
	u32 ssthresh;
	u32 in_flight;
	u32 srtt_us;
	u32 sent_pkts; /* retransmissions included */
	u32 retransmitted_pkts;
	u32 delivered_pkts;
	u32 lost_pkts;
	u32 tcp_header_bytes;
	u8 local[16];
	u8 remote[16];
	u32 local_port;
	u32 remote_port;
	u32 ipv6;
	u32 state;
	char cca[16];
	u32 min_rtt_us; /* of the last minutes, by tcp_min_rtt_wlen */
	u32 min_cwnd; /* at the ACKs since the connection's last record */
	u32 max_cwnd;
	u32 reserved;
};

/* A connection's last record, and the windows at the ACKs since. */
struct last {
	u64 time_ns;
	u32 min_cwnd;
	u32 max_cwnd;
};

struct in6_addr {
	u8 bytes[16];
};

struct sock_common {
	unsigned short skc_family;
	unsigned short skc_num;
	unsigned short skc_dport; /* in the network's order */
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct {
		struct net *net;
	} skc_net;
} RELOCATED;

struct net {
	struct {
		u32 inum;
	} ns;
} RELOCATED;

struct tcp_congestion_ops {
	char name[16];
} RELOCATED;

struct inet_connection_sock___trace {
	const struct tcp_congestion_ops *icsk_ca_ops;
} RELOCATED;

struct tcp_sock___trace {
	unsigned short tcp_header_len;
	u64 bytes_sent;
	u64 bytes_acked;
	u32 data_segs_out;
	u32 total_retrans;
	u32 lost;
} RELOCATED;

#define AF_INET6 10

/* The numbers of bpf-helpers(7). */
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u64 (*const get_socket_cookie)(void *sk) = (void *)46;
static long (*const probe_read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static void *(*const ringbuf_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void *(*const skc_to_tcp_sock)(void *sk) = (void *)137;

#define RINGBUF_NO_WAKEUP 1

const char _license[] SEC("license") = "Dual MIT/GPL";

/* Maps by their sections' names. */
u64 ring SEC(".maps.ring");
u64 last SEC(".maps.last"); /* struct last, by the connection's cookie */

/* Records lost because the ring buffer was full. */
u64 dropped SEC(".data.dropped");

static inline int is_wanted(const char *cca)
{
	const u64 *is = (const u64 *)cca, *wanted = (const u64 *)parameters()->cca;

	return !wanted[0] || (is[0] == wanted[0] && is[1] == wanted[1]);
}

SEC("tp_btf/tcp_probe") int tcp_probe(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct sock_common *common = (const struct sock_common *)sk;
	const struct trace_params *wanted = parameters();
	const struct tcp_sock *tp = skc_to_tcp_sock(sk);
	const struct tcp_sock___trace *more = (const struct tcp_sock___trace *)tp;
	u32 local_port = common->skc_num, remote_port = __builtin_bswap16(common->skc_dport);
	u64 now = ktime_get_ns(), cookie;
	struct last *before, this;
	struct record *r;
	char cca[16] __attribute__((aligned(8)));

	if (!tp || !tp->packets_out)
		return 0;
	if (wanted->port && wanted->port != local_port && wanted->port != remote_port)
		return 0;
	probe_read_kernel(cca, sizeof(cca), ((const struct inet_connection_sock___trace *)tp)->icsk_ca_ops->name);
	if (!is_wanted(cca))
		return 0;
	cookie = get_socket_cookie(sk);
	this = (struct last){ now, tp->snd_cwnd, tp->snd_cwnd };
	before = map_lookup(&last, &cookie);
	if (before) {
		if (before->min_cwnd > this.min_cwnd)
			before->min_cwnd = this.min_cwnd;
		if (before->max_cwnd < this.max_cwnd)
			before->max_cwnd = this.max_cwnd;
		if (now - before->time_ns < (u64)wanted->interval_us * 1000)
			return 0;
	}
	r = ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&dropped, 1);
		return 0;
	}
	r->time_ns = now;
	r->cookie = cookie;
	r->sent_bytes = more->bytes_sent;
	r->acked_bytes = more->bytes_acked;
	r->pacing_rate = pacing_rate(sk);
	r->netns = common->skc_net.net->ns.inum;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->in_flight = in_flight(tp);
	r->srtt_us = tp->srtt_us >> 3;
	r->sent_pkts = more->data_segs_out;
	r->retransmitted_pkts = more->total_retrans;
	r->delivered_pkts = tp->delivered;
	r->lost_pkts = more->lost;
	r->tcp_header_bytes = more->tcp_header_len;
	r->local_port = local_port;
	r->remote_port = remote_port;
	r->ipv6 = common->skc_family == AF_INET6;
	r->state = (u8)BITS(INET(tp), icsk_ca_state);
	r->min_rtt_us = tp->rtt_min.s[0].v;
	r->min_cwnd = before ? before->min_cwnd : this.min_cwnd;
	r->max_cwnd = before ? before->max_cwnd : this.max_cwnd;
	r->reserved = 0;
	__builtin_memset(r->local, 0, sizeof(r->local));
	__builtin_memset(r->remote, 0, sizeof(r->remote));
	if (r->ipv6) {
		probe_read_kernel(r->local, sizeof(r->local), &common->skc_v6_rcv_saddr);
		probe_read_kernel(r->remote, sizeof(r->remote), &common->skc_v6_daddr);
	} else {
		*(u32 *)r->local = common->skc_rcv_saddr;
		*(u32 *)r->remote = common->skc_daddr;
	}
	__builtin_memcpy(r->cca, cca, sizeof(cca));
	ringbuf_submit(r, RINGBUF_NO_WAKEUP);
	if (before)
		*before = this;
	else
		map_update(&last, &cookie, &this, 0);
	return 0;
}
