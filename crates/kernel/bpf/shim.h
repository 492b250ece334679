/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Between the contract of cc.h and the kernel: struct sock becomes cc_window and cc_ack, and what a
 * hook changed goes back. The structs below name only what is used; where it lies is relocated
 * when the program is loaded (CO-RE).
 *
 * What the kernel does not tell, and what stands for it:
 *  - rtt_us outside pkts_acked and cong_control is that of the newest segment that arrived.
 *  - prior_in_flight in cong_avoid is what is in flight and what this ACK acknowledged.
 *  - min_rtt_us is the kernel's, the smallest of five minutes.
 *  - acked in pkts_acked counts segments that are acknowledged cumulatively.
 *  - CC_ECE is never set: no hook of the contract runs where the kernel tells it.
 *  - delivered counts modulo 2^32.
 * Without cong_control the kernel sets pacing_rate again after each ACK, to 2 or 1.2 windows per RTT.
 */
#ifndef SHIM_H
#define SHIM_H

/* A call is a program of its own to the verifier, and may have no struct on the caller's stack. */
#define inline inline __attribute__((always_inline))
#define CC_FORGET() asm volatile("" : : : "memory")
#include HEADER

#define SEC(name) __attribute__((section(name), used))
#define RELOCATED __attribute__((preserve_access_index))

#define PACING_NONE 0
#define PACING_NEEDED 1

struct sock {
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
} RELOCATED;

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[CC_STATE_BYTES / 8];
} RELOCATED;

struct minmax_sample {
	u32 v;
} RELOCATED;

struct minmax {
	struct minmax_sample s[3];
} RELOCATED;

struct tcp_rack {
	u32 rtt_us;
} RELOCATED;

struct tcp_sock {
	u64 tcp_mstamp;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 snd_wnd;
	u32 mss_cache;
	u32 srtt_us;
	u32 delivered;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 app_limited;
	u8 is_cwnd_limited : 1;
	struct minmax rtt_min;
	struct {
		u32 rtt_us;
	} rack;
} RELOCATED;

struct ack_sample {
	u32 pkts_acked;
	int rtt_us;
} RELOCATED;

struct rate_sample {
	u32 prior_delivered;
	int delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	_Bool is_app_limited;
} RELOCATED;

/* A bit field: neither its place in a word nor the word's size is relocated by a plain access. */
#define BITS(s, field)                                                                \
	({                                                                            \
		const void *at = (const char *)(s) + __builtin_preserve_field_info((s)->field, 0); \
		u64 bits = 0;                                                         \
		asm("" : "+r"(at));                                                   \
		switch (__builtin_preserve_field_info((s)->field, 1)) {               \
		case 1: bits = *(const u8 *)at; break;                                \
		case 2: bits = *(const unsigned short *)at; break;                    \
		case 4: bits = *(const u32 *)at; break;                               \
		case 8: bits = *(const u64 *)at; break;                               \
		}                                                                     \
		bits <<= __builtin_preserve_field_info((s)->field, 4);                \
		bits >> __builtin_preserve_field_info((s)->field, 5);                 \
	})

#define TCP(sk) ((struct tcp_sock *)(sk))
#define INET(sk) ((struct inet_connection_sock *)(sk))

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
#define HOOK(hook) NAMED(NAME, NAMED(_, hook))
#define STATE struct NAME
#define PARAMS struct NAMED(NAME, _params)

/* Set before loading; constants to the verifier, which leaves out what they rule out. */
const volatile PARAMS params SEC(".rodata.params") = { NAMED(NAME, _PARAMS)(CC_PARAM_DEFAULT) };
const volatile u32 cong_control_args SEC(".rodata.kernel") = 4;

static inline const PARAMS *parameters(void)
{
	const PARAMS *p = (const PARAMS *)&params;

	/* Or the compiler would take the defaults for granted. */
	asm("" : "+r"(p));
	return p;
}

static inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static inline u64 pacing_rate(const struct sock *sk)
{
	return sk->sk_pacing_status == PACING_NONE ? 0 : sk->sk_pacing_rate;
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

static inline struct cc_ack ack(const struct sock *sk)
{
	const struct tcp_sock *tp = TCP(sk);
	u32 mss = cc_max(tp->mss_cache, 1), min_rtt_us = tp->rtt_min.s[0].v;
	struct cc_ack a = {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.rtt_us = tp->rack.rtt_us,
		.srtt_us = tp->srtt_us >> 3,
		.min_rtt_us = min_rtt_us == ~0U ? 0 : min_rtt_us,
		.in_flight = in_flight(tp),
		.prior_in_flight = in_flight(tp),
		.snd_wnd = tp->snd_wnd / mss,
		.mss = mss,
		.state = (u8)BITS(INET(sk), icsk_ca_state),
		.flags = (u8)(cwnd_limited(tp) | (tp->app_limited ? CC_APP_LIMITED : 0)),
	};

	return a;
}

static inline void set_pacing_rate(struct sock *sk, u64 rate)
{
	u64 most = sk->sk_max_pacing_rate;

	sk->sk_pacing_rate = rate && rate < most ? rate : most;
	if (rate && sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
	/* A socket with a maximum of its own is paced whatever the algorithm says. */
	if (!rate && sk->sk_pacing_status == PACING_NEEDED && most == ~0UL)
		sk->sk_pacing_status = PACING_NONE;
}

/* What was not changed is not written. */
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

/*
 * cong_control's arguments are (sk, ack, flag, rs) from kernel 6.10 on, (sk, rs) before. Loads that
 * the compiler cannot make one of: the verifier takes no computed place in the arguments.
 */
static inline const struct rate_sample *rate_sample(const u64 *ctx)
{
	const struct rate_sample *rs;

	if (cong_control_args == 4)
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));
	return rs;
}

#endif /* SHIM_H */
