/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Between the contract of cc.h and the kernel: reads cc_window and cc_ack from struct sock, and writes back
 * what a hook changed. The including file first declares the kernel's structs, BITS and parameters():
 * program.h does so for eBPF, module.c for a module.
 *
 * What the kernel does not report, and what is used instead:
 *  - rtt_us outside pkts_acked and cong_control is that of the newest segment that arrived.
 *  - prior_in_flight in cong_avoid is the segments in flight plus those that this ACK acknowledged.
 *  - min_rtt_us is the kernel's, the smallest of five minutes.
 *  - acked in pkts_acked counts segments that are acknowledged cumulatively.
 *  - CC_ECE is never set: no hook of the contract runs where the kernel knows of it.
 *  - delivered, delivered_ce and lost_total count modulo 2^32.
 *  - owd_us is of the timestamps in the newest segment that arrived (RFC 7323), in whole milliseconds; the peer's
 *    clock has to count these, as Linux's does. 0: no timestamps.
 *  - rate_in_flight and rate_lost are 0, and segment_lost is never called: the kernel keeps no such values of a segment.
 * Without cong_control the kernel sets pacing_rate again after each ACK, to 2 or 1.2 windows per RTT.
 */
#ifndef SHIM_H
#define SHIM_H

#define TCP(sk) ((struct tcp_sock *)(sk))
#define INET(sk) ((struct inet_connection_sock *)(sk))

static inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static inline u64 pacing_rate(const struct sock *sk)
{
	return sk->sk_pacing_status == SK_PACING_NONE ? 0 : sk->sk_pacing_rate;
}

static inline struct cc_window window(const struct sock *sk)
{
	const struct tcp_sock *tp = TCP(sk);
	struct cc_window w = {
		.cwnd = tp->snd_cwnd,
		.cwnd_cnt = tp->snd_cwnd_cnt,
		.ssthresh = tp->snd_ssthresh,
		.cwnd_clamp = tp->snd_cwnd_clamp,
		.prior_cwnd = tp->prior_cwnd,
		.pacing_rate = pacing_rate(sk),
	};

	return w;
}

/* In slow start cwnd may grow to twice what is in flight. */
static inline u8 cwnd_limited(const struct tcp_sock *tp)
{
	if (BITS(tp, is_cwnd_limited))
		return CC_CWND_LIMITED;
	if (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out)
		return CC_CWND_LIMITED;
	return 0;
}

/* Modulo 2^32, as every difference of clocks. */
static inline u32 one_way_delay_us(const struct tcp_sock *tp)
{
	u32 sent_ms = tp->rx_opt.rcv_tsecr;

	return sent_ms ? (tp->rx_opt.rcv_tsval - sent_ms) * 1000 : 0;
}

static inline struct cc_ack ack(const struct sock *sk)
{
	const struct tcp_sock *tp = TCP(sk);
	u32 mss = cc_max(tp->mss_cache, 1), min_rtt_us = tp->rtt_min.s[0].v;
	struct cc_ack a = {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.delivered_ce = tp->delivered_ce,
		.lost_total = tp->lost,
		.rtt_us = tp->rack.rtt_us,
		.srtt_us = tp->srtt_us >> 3,
		.min_rtt_us = min_rtt_us == ~0U ? 0 : min_rtt_us,
		.owd_us = one_way_delay_us(tp),
		.in_flight = in_flight(tp),
		.prior_in_flight = in_flight(tp),
		.snd_wnd = tp->snd_wnd / mss,
		.mss = mss,
		.chance = (u32)tp->tcp_mstamp,
		.state = (u8)BITS(INET(sk), icsk_ca_state),
		.flags = (u8)(cwnd_limited(tp) | (tp->app_limited ? CC_APP_LIMITED : 0)),
	};

	return a;
}

static inline void set_pacing_rate(struct sock *sk, u64 rate)
{
	u64 most = sk->sk_max_pacing_rate;

	sk->sk_pacing_rate = rate && rate < most ? rate : most;
	if (rate && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	/* A socket with a maximum pacing rate of its own is paced whatever the algorithm decides. */
	if (!rate && sk->sk_pacing_status == SK_PACING_NEEDED && most == ~0UL)
		sk->sk_pacing_status = SK_PACING_NONE;
}

/* Unchanged fields are not written. */
static inline void change(struct sock *sk, const struct cc_window *before, const struct cc_window *w)
{
	struct tcp_sock *tp = TCP(sk);

	if (w->cwnd != before->cwnd)
		tp->snd_cwnd = w->cwnd;
	if (w->cwnd_cnt != before->cwnd_cnt)
		tp->snd_cwnd_cnt = w->cwnd_cnt;
	if (w->ssthresh != before->ssthresh)
		tp->snd_ssthresh = w->ssthresh;
	if (w->pacing_rate != before->pacing_rate)
		set_pacing_rate(sk, w->pacing_rate);
}

#endif /* SHIM_H */
