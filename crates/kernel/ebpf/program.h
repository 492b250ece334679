/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel as eBPF programs see it. The structs name only the members in use; their offsets are relocated
 * when the program is loaded (CO-RE).
 */
#ifndef PROGRAM_H
#define PROGRAM_H

/* A call is a program of its own to the verifier, and may have no struct on the caller's stack. */
#define inline inline __attribute__((always_inline))
#define CC_RARE static inline
#define CC_FORGET() asm volatile("" : : : "memory")
/* The verifier does not see that a sum less one of its terms is the other. */
#define CC_FORGET_VALUE(value, state)               \
	({                                          \
		u64 term = (state), sum = (value) + term; \
		asm volatile("" : "+r"(sum), "+r"(term)); \
		sum - term;                         \
	})
#include "../shim/names.h"
#include HEADER

#define SEC(name) __attribute__((section(name), used))
#define RELOCATED __attribute__((preserve_access_index))

enum { SK_PACING_NONE, SK_PACING_NEEDED };

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

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
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
	u32 delivered_ce;
	u32 lost;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 app_limited;
	u8 is_cwnd_limited : 1;
	struct tcp_options_received rx_opt;
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

/* A bit field: an ordinary access relocates neither its place in the word nor the word's size. */
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

/* Set before loading; the verifier takes them as constants and removes code that they make dead. */
const volatile PARAMS params SEC(".rodata.params") = { NAMED(NAME, _PARAMS)(CC_PARAM_DEFAULT) };
const volatile u32 cong_control_args SEC(".rodata.kernel") = 4;

static inline const PARAMS *parameters(void)
{
	const PARAMS *p = (const PARAMS *)&params;

	/* Keeps the compiler from using the defaults as constants. */
	asm("" : "+r"(p));
	return p;
}

/*
 * cong_control's arguments are (sk, ack, flag, rs) from kernel 6.10 on, (sk, rs) before. Two loads that the
 * compiler cannot merge: the verifier refuses a computed offset into the arguments.
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

#endif /* PROGRAM_H */
