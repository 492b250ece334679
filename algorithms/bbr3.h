/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * BBRv3: BBR that also learns how much the path can hold. As in BBR (v1) the sender paces at the rate
 * that the path delivers; new is that losses bound what is in flight (N. Cardwell, I. Swett,
 * J. Beshay, "BBR Congestion Control", draft-ietf-ccwg-bbr).
 *
 *   max_bw  = max of the delivery rate samples of this cycle of probes and the last
 *   min_rtt = min of the RTT samples of 10 s
 *   bw      = min(max_bw, bw_short)
 *   pacing_rate = pacing_gain * bw, less 1 %
 *   cwnd        = cwnd_gain * bw * min_rtt + extra_acked, at most inflight_long and inflight_short
 *
 * Two pairs of bounds. What a round with losses delivered bounds the next ones in the short term,
 * never below 0.7 of the bounds before: bw_short and inflight_short. They are forgotten before the
 * next probe. How much was in flight when a probe lost more than 2 % is what the path holds in the
 * long term: inflight_long.
 *
 *       STARTUP: 2.77 times the rate each round; pipe full: max_bw grew by less than 25 % in three
 *          |     rounds, or more than 2 % of a round and six times in it were lost
 *          v
 *        DRAIN: half the rate, until no more than a BDP is in flight, or for three rounds
 *          |
 *          v
 *   +->  DOWN: 0.9 of the rate, until no more than a BDP and 85 % of inflight_long are in flight
 *   |      |
 *   |      v
 *   |   CRUISE: the rate; 15 % of inflight_long are left to others. For 2 to 3 s since DOWN began,
 *   |      |    or as many rounds as the BDP has segments, 63 at most
 *   |      v
 *   |   REFILL: the rate for a round, without the bounds of the short term
 *   |      |
 *   |      v
 *   +--   UP: 1.25 of the rate, until max_bw no longer grows or more than 2 % are lost.
 *             inflight_long grows by 1, 2, 4, 8, ... segments a round
 *
 *   PROBE_RTT, from any of them when min_rtt was not seen for 5 s: half a BDP for 200 ms and a round
 *
 * Why these constants (the draft):
 *  - 2 %: a loss that a shallow buffer makes in a probe, not one that ends a flow. More than what
 *    random losses take, so that the flow stays near the path's rate up to 1 % of them.
 *  - 0.7 and 0.15: as CUBIC's decrease, and room in which another flow's start is not lost.
 *  - 2 to 3 s, 63 rounds: a Reno flow with a BDP of 62 segments regains its window between probes.
 *    The time is random, so that flows do not probe together.
 *  - 0.5 in PROBE_RTT every 5 s: 200 ms of half of the rate in 5 s cost 2 % of the throughput.
 *
 * Losses. A segment is lost after lost others since it was sent, with in_flight in flight then: the
 * probe was too high if lost > 2 % of in_flight, and the level that the path holds is where the losses
 * crossed 2 %: (in_flight - lost) / 0.98. After a repair cwnd is what it was before. ssthresh plays no
 * part. If a repair proves needless, the bounds and STARTUP or the probe come back; in PROBE_RTT
 * STARTUP comes back at its end, the probe does not.
 *
 * samples: "exact" looks at each lost segment with the two values above (hook segment_lost). No kernel
 * has them, and there samples is always "mainline": once for each ACK that shows losses, with
 *
 *   lost      = segments marked lost since the start of the round in which the segment was sent
 *   in_flight = segments delivered since it was sent + lost
 *
 * The first counts up to a round's losses too many, and so errs towards less in flight. Where a queue
 * overflows the two differ little; of random losses, "mainline" bears about half as many.
 *
 * variant "v3" is Google's module (branch v3 of google/bbr), as far as it differs: DRAIN at 1 / 2.885,
 * DOWN at 0.91; no end of DRAIN by rounds; max_bw's growth is looked at with every ACK; each ACK is
 * examined for too many losses, too; extra_acked covers 100 ms at most; a timeout forgets how far
 * STARTUP was and bounds what is in flight by the window before it; a probe of RTT that equals the
 * smallest renews it; in STARTUP cwnd grows up to 20 segments whatever the model says. Its other numbers
 * are the draft's in 1/256 (2.773, 5/256, 180/256, 38/256).
 *
 * Differences from the draft:
 *  - The draft has no answer to ECN, nor has this. Google's, for data centres, is left out.
 *  - Rates are in 2^-24 segments per us, times in ms; pacing is by payload without headers.
 *  - The first pacing rate is set again when the first RTT is known, as all implementations do:
 *    without a handshake it would be 2.77 initial windows in 1 ms, and never come down in STARTUP.
 *  - extra_acked is the maximum of two halves of 5 rounds instead of a filter of 10, and 2^20
 *    segments at most.
 *  - cwnd limits a flow if the stack says so and 15/16 of cwnd were in flight: stacks keep saying so for
 *    a while of a flow that is limited by its pacing, and inflight_long would grow unproved.
 *  - The step of inflight_long is that of the present cwnd, not of cwnd at the start of the round.
 *  - The room for bursts is three segments, as segments leave one by one here, or what the draft
 *    counts: see burst.
 *  - The stack cannot be asked to mark what is sent in PROBE_RTT as limited by the application.
 *    Samples count as such from the end of the first round in PROBE_RTT to that of the second after it.
 *  - Random numbers are the caller's, so that a run can be repeated.
 *  - Six discontiguous losses in a round are six ACKs that show losses. A connection without SACK is
 *    treated as one with it.
 */
#ifndef BBR3_H
#define BBR3_H

#include "cc.h"
#include "parts/delivery_rate.h"
#include "parts/fixed.h"

/* A kernel reports no single losses. */
#ifdef CC_NO_SEGMENT_LOST
#define BBR3_SAMPLES 1
#else
#define BBR3_SAMPLES 0
#endif

#define bbr3_PARAMS(P)                                                                         \
	P(variant, 0, 1, 0, 1, "spec|v3",                                                      \
	  "the draft or Google's module; draft-ietf-ccwg-bbr")                                 \
	P(samples, BBR3_SAMPLES, 1, BBR3_SAMPLES, 1, "exact|mainline",                         \
	  "losses: segment by segment, or from a kernel's counters; draft-ietf-ccwg-bbr")      \
	P(startup_gain, 2770, 1000, 1100, 4000, "",                                            \
	  "pacing gain of STARTUP; draft-ietf-ccwg-bbr")                                       \
	P(cwnd_gain, 2000, 1000, 1000, 3750, "",                                               \
	  "window in bandwidth-delay products, a quarter more in UP; draft-ietf-ccwg-bbr")     \
	P(probe_rtt_interval_s, 5, 1, 1, 3600, "",                                             \
	  "how long the smallest RTT holds before PROBE_RTT, in s; draft-ietf-ccwg-bbr")       \
	P(min_cwnd, 4, 1, 2, 100, "",                                                          \
	  "smallest window; draft-ietf-ccwg-bbr")                                              \
	P(loss_threshold, 20, 1000, 1, 500, "",                                                \
	  "share of losses at which a probe was too high; draft-ietf-ccwg-bbr")                \
	P(beta, 700, 1000, 100, 999, "",                                                       \
	  "what a round with losses leaves of the bounds, at least; draft-ietf-ccwg-bbr")      \
	P(headroom, 150, 1000, 0, 900, "",                                                     \
	  "share of inflight_long that is left to others; draft-ietf-ccwg-bbr")                \
	P(burst, 0, 1, 0, 1, "segment|draft",                                                  \
	  "what leaves at once: a segment, or as much as in 1 ms, 2 segments to 64 KB; draft-ietf-ccwg-bbr")
#define bbr3_HOOKS(H, A)                                                                       \
	H(A, init) H(A, cong_control) H(A, segment_lost) H(A, ssthresh) H(A, set_state)        \
	H(A, cwnd_event) H(A, undo_cwnd)

enum bbr3_variant { BBR3_SPEC, BBR3_V3 };

enum bbr3_samples { BBR3_EXACT, BBR3_MAINLINE };

enum bbr3_mode {
	BBR3_STARTUP,
	BBR3_DRAIN,
	BBR3_DOWN,
	BBR3_CRUISE,
	BBR3_REFILL,
	BBR3_UP,
	BBR3_PROBE_RTT,
};

/* What a needless repair brings back. */
enum bbr3_undo { BBR3_UNDO_NONE, BBR3_UNDO_STARTUP, BBR3_UNDO_UP };

#define BBR3_INFINITE 0xffffffffU  /* a bound that is none, min_rtt before the first sample */
#define BBR3_ONE 1000U             /* a gain of 1 */
#define BBR3_FULL_ROUNDS 3U        /* without a growth of 25 %: the pipe is full */
#define BBR3_FULL_LOSSES 6U        /* losses in a round of STARTUP: the pipe is full */
#define BBR3_DRAIN_ROUNDS 3U
#define BBR3_PROBE_ROUNDS 63U      /* from probe to probe at most */
#define BBR3_PROBE_MS 2000U        /* from probe to probe at least, by time */
#define BBR3_MIN_RTT_MS 10000U
#define BBR3_PROBE_RTT_MS 200U
#define BBR3_EXTRA_ROUNDS 5U       /* after which the older maximum of extra_acked is forgotten */
#define BBR3_EXTRA_US 100000U      /* what extra_acked makes up for at most, in v3 */
#define BBR3_EPOCH_ACKED 0xfffffU  /* segments after which extra_acked is measured anew */
#define BBR3_UP_ROUNDS 30U
#define BBR3_INITIAL_CWND 10U

/* Rates are in 2^-24 segments per us, counts of segments modulo 2^32. */
struct bbr3 {
	u32 round_end;          /* a round is over when a segment sent after these were delivered arrives */
	u32 loss_round_end;     /* the same of a round that counts losses */
	u32 min_rtt_us;
	u32 min_rtt_ms;         /* when it was seen */
	u32 probe_rtt_us;       /* smallest RTT since the last PROBE_RTT */
	u32 probe_rtt_ms;       /* when it was seen */
	u32 phase_ms;           /* when DOWN began; when the window of PROBE_RTT was reached */
	u32 prior_cwnd;         /* what to come back to after a repair or PROBE_RTT */
	u32 epoch_us;           /* since when extra_acked is measured */
	u32 undo_bw_short;      /* the bounds before the first loss of a round */
	u32 undo_inflight_short;
	u32 undo_inflight_long;
	u32 bw_latest;          /* largest sample of this round of losses */
	u32 inflight_latest;    /* segments delivered in an RTT, likewise */
	u32 bw[2];              /* largest samples of the cycles before and now */
	u32 bw_short;
	u32 inflight_short;     /* STARTUP, REFILL, UP have no such bound: there, segments acknowledged towards the next increase of inflight_long */
	u32 inflight_long;
	u32 lost[2];            /* segments lost until the last round began, and the present one */
	u32 full_bw;            /* the sample that last grew by 25 % */
	u32 epoch_acked : 20;   /* acknowledged since epoch_us */
	u32 wait_ms : 12;       /* from DOWN to the next REFILL */
	u32 extra_acked : 20;   /* the largest of these rounds */
	u32 mode : 3;           /* enum bbr3_mode */
	u32 undo : 2;           /* enum bbr3_undo */
	u32 full_rounds : 2;    /* rounds without a growth of 25 % */
	u32 full_now : 1;       /* so many that this probe found no more */
	u32 full : 1;           /* the pipe has been full */
	u32 probe_sample : 1;   /* losses are those of a probe */
	u32 stopping : 1;       /* the round after a probe */
	u32 too_high : 1;       /* the last probe lost too much */
	u32 extra_before : 20;  /* extra_acked of the rounds before these */
	u32 cautious : 1;       /* the last probe stopped at inflight_long, after one that lost too much */
	u32 loss_in_round : 1;
	u32 loss_round_start : 1; /* a round of losses is over with this ACK */
	u32 round_start : 1;    /* a round is over with this ACK */
	u32 restarting : 1;     /* sending again after an idle time */
	u32 rtt_seen : 1;       /* the first pacing rate is from a sample */
	u32 probe_rtt_timed : 1; /* phase_ms is set */
	u32 probe_rtt_round : 1; /* a round has passed since */
	u32 probe_rtt_left : 2; /* round ends till rate samples count again, PROBE_RTT being one; 3: they still count */
	u32 sampled : 1;        /* this ACK samples the rate */
	u32 timed : 1;          /* and an RTT */
	u32 state : 3;          /* the stack's at the last ACK */
	u32 drain_rounds : 3;
	u32 extra_rounds : 3;   /* rounds in extra_acked */
	u32 loss_events : 4;    /* ACKs of this round that show losses */
	u32 up_rounds : 5;      /* of this UP */
	u32 rounds : 8;         /* since DOWN began */
	/* Of this ACK; here, so that the BPF verifier forgets on which path each was found. */
	u32 app_limited : 1;    /* the application limited its sample */
	u32 cwnd_limited : 1;
	u32 loses : 1;          /* it shows losses */
	u32 recovering : 1;     /* a repair goes on */
	u32 repaired : 1;       /* it ends one */
	u32 early : 1;          /* it is one of the first, by which cwnd grows in any case */
};

/* What this ACK samples. */
struct bbr3_sample {
	u32 rate;
	u32 delivered; /* segments, in an RTT */
	u32 in_flight; /* when the newest acknowledged segment was sent */
	u32 lost;      /* since */
};

CC_DECLARE_PARAMS(bbr3);
CC_CHECK_STATE(bbr3);

static inline u32 bbr3_ms(const struct cc_ack *a)
{
	return (u32)(a->now_us / 1000);
}

static inline u32 bbr3_at_most(u64 value, u32 most)
{
	return value < most ? (u32)value : most;
}

static inline u32 bbr3_probes(u32 mode)
{
	return mode == BBR3_STARTUP || mode == BBR3_REFILL || mode == BBR3_UP;
}

static inline u32 bbr3_in_probe_bw(const struct bbr3 *ca)
{
	return ca->mode >= BBR3_DOWN && ca->mode <= BBR3_UP;
}

static inline u32 bbr3_inflight_short(const struct bbr3 *ca)
{
	return bbr3_probes(ca->mode) ? BBR3_INFINITE : ca->inflight_short;
}

static inline void bbr3_forget_short(struct bbr3 *ca)
{
	ca->bw_short = BBR3_INFINITE;
	ca->inflight_short = bbr3_probes(ca->mode) ? 0 : BBR3_INFINITE;
}

/* inflight_short is no bound while the flow probes. */
static inline void bbr3_enter(struct bbr3 *ca, u32 mode)
{
	u32 probed = bbr3_probes(ca->mode);

	ca->mode = mode & 7;
	if (probed != bbr3_probes(mode))
		bbr3_forget_short(ca);
}

static inline u32 bbr3_max_bw(const struct bbr3 *ca)
{
	return cc_max(ca->bw[0], ca->bw[1]);
}

static inline u32 bbr3_bw(const struct bbr3 *ca)
{
	return cc_min(bbr3_max_bw(ca), ca->bw_short);
}

/* gain * rate * min_rtt in segments, rounded up. */
static inline u64 bbr3_bdp(const struct bbr3 *ca, u32 rate, u32 gain)
{
	u64 product = (u64)rate * ca->min_rtt_us;

	if (ca->min_rtt_us == BBR3_INFINITE)
		return BBR3_INITIAL_CWND;
	return ((product >> 10) * gain / BBR3_ONE + 0x3fff) >> 14;
}

/* With room for the sender's bursts. */
static inline u64 bbr3_with_bursts(const struct bbr3 *ca, const struct bbr3_params *p,
				   const struct cc_window *w, const struct cc_ack *a, u64 segments)
{
	u32 mss = cc_max(a->mss, 1);
	u64 burst = p->burst ? w->pacing_rate / 1000 / mss : 1;

	if (p->burst)
		burst = cc_max(bbr3_at_most(burst, 65536 / mss), 2);
	segments = segments < 3 * burst ? 3 * burst : segments;
	segments = segments < p->min_cwnd ? p->min_cwnd : segments;
	return ca->mode == BBR3_UP ? segments + 2 : segments;
}

/* What fills the path without a queue. */
static inline u64 bbr3_inflight(const struct bbr3 *ca, const struct bbr3_params *p,
				const struct cc_window *w, const struct cc_ack *a)
{
	return bbr3_with_bursts(ca, p, w, a, bbr3_bdp(ca, bbr3_max_bw(ca), BBR3_ONE));
}

/* What this flow asks for: a BDP, or its window if that is less. */
static inline u32 bbr3_target_inflight(const struct bbr3 *ca, const struct bbr3_params *p,
				       const struct cc_window *w, const struct cc_ack *a)
{
	return bbr3_at_most(bbr3_with_bursts(ca, p, w, a, bbr3_bdp(ca, bbr3_bw(ca), BBR3_ONE)), w->cwnd);
}

static inline u32 bbr3_inflight_with_headroom(const struct bbr3 *ca, const struct bbr3_params *p)
{
	u32 headroom = cc_max(cc_part(ca->inflight_long, p->headroom, 1000), 1);

	if (ca->inflight_long == BBR3_INFINITE)
		return BBR3_INFINITE;
	return cc_max(ca->inflight_long > headroom ? ca->inflight_long - headroom : 0, p->min_cwnd);
}

static inline u32 bbr3_probe_rtt_cwnd(const struct bbr3 *ca, const struct bbr3_params *p)
{
	return cc_max(bbr3_at_most(bbr3_bdp(ca, bbr3_bw(ca), BBR3_ONE / 2), CC_SSTHRESH_INFINITE),
		      p->min_cwnd);
}

static inline u32 bbr3_pacing_gain(const struct bbr3 *ca, const struct bbr3_params *p)
{
	switch (ca->mode) {
	case BBR3_STARTUP:
		return p->startup_gain;
	case BBR3_DRAIN:
		return p->variant == BBR3_V3 ? 347 : 500;
	case BBR3_DOWN:
		return p->variant == BBR3_V3 ? 910 : 900;
	case BBR3_UP:
		return 1250;
	default:
		return BBR3_ONE;
	}
}

static inline u32 bbr3_cwnd_gain(const struct bbr3 *ca, const struct bbr3_params *p)
{
	if (ca->mode == BBR3_PROBE_RTT)
		return p->variant == BBR3_V3 ? BBR3_ONE : BBR3_ONE / 2;
	return ca->mode == BBR3_UP ? p->cwnd_gain + BBR3_ONE / 4 : p->cwnd_gain;
}

/* gain * rate in bytes/s, less 1 %. */
static inline u64 bbr3_bytes_per_s(const struct cc_ack *a, u32 rate, u32 gain)
{
	return delivery_rate_paced((u64)rate * a->mss * gain / BBR3_ONE);
}

static inline void bbr3_first_pacing_rate(struct bbr3 *ca, const struct bbr3_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	u32 rate = delivery_rate(w->cwnd, a->srtt_us ? a->srtt_us : 1000);

	ca->rtt_seen = a->srtt_us != 0;
	w->pacing_rate = bbr3_bytes_per_s(a, rate, p->startup_gain);
}

/* Until the pipe is full the pacing rate only rises. */
static inline void bbr3_set_pacing_rate(struct bbr3 *ca, const struct bbr3_params *p,
					struct cc_window *w, const struct cc_ack *a)
{
	u64 rate = bbr3_bytes_per_s(a, bbr3_bw(ca), bbr3_pacing_gain(ca, p));

	if (!ca->rtt_seen && a->srtt_us)
		bbr3_first_pacing_rate(ca, p, w, a);
	if (ca->full || rate > w->pacing_rate)
		w->pacing_rate = rate;
}

static inline void bbr3_start_round(struct bbr3 *ca, const struct cc_ack *a)
{
	ca->round_end = (u32)a->delivered;
}

static inline void bbr3_forget_full(struct bbr3 *ca, u32 rate)
{
	ca->full_now = 0;
	ca->full_rounds = 0;
	ca->full_bw = rate;
}

static inline void bbr3_start_down(struct bbr3 *ca, const struct cc_ack *a)
{
	u32 random = cc_random(a);

	bbr3_enter(ca, BBR3_DOWN);
	ca->loss_in_round = 0;
	ca->bw_latest = 0;
	ca->inflight_latest = 0;
	ca->rounds = random & 1;
	ca->wait_ms = (BBR3_PROBE_MS + (u32)((u64)random * 1000 >> 32)) & 0xfff;
	ca->phase_ms = bbr3_ms(a);
	ca->stopping = 1;
	bbr3_start_round(ca, a);
}

static inline void bbr3_start_refill(struct bbr3 *ca, const struct cc_ack *a)
{
	bbr3_enter(ca, BBR3_REFILL);
	bbr3_forget_short(ca);
	ca->up_rounds = 0;
	ca->cautious = 0;
	ca->stopping = 0;
	bbr3_start_round(ca, a);
}

static inline void bbr3_next_up_round(struct bbr3 *ca)
{
	ca->up_rounds = cc_min(ca->up_rounds + 1, BBR3_UP_ROUNDS) & 31;
}

static inline void bbr3_start_up(struct bbr3 *ca, const struct cc_ack *a, u32 rate)
{
	bbr3_enter(ca, BBR3_UP);
	ca->probe_sample = 1;
	ca->stopping = 0;
	bbr3_forget_full(ca, rate);
	bbr3_start_round(ca, a);
	bbr3_next_up_round(ca);
}

static inline u32 bbr3_is_too_high(const struct bbr3_params *p, u32 in_flight, u32 lost)
{
	return (u64)lost * 1000 > (u64)in_flight * p->loss_threshold;
}

/* More than the threshold was lost of what was in flight in a probe. */
static inline void bbr3_too_high(struct bbr3 *ca, const struct bbr3_params *p, struct cc_window *w,
				 const struct cc_ack *a, const struct bbr3_sample *s)
{
	u64 level = s->in_flight > s->lost ? s->in_flight - s->lost : 0;
	u32 least = cc_part(bbr3_target_inflight(ca, p, w, a), p->beta, 1000);

	ca->too_high = 1;
	ca->probe_sample = 0;
	if (!ca->app_limited)
		ca->inflight_long = cc_max(
			bbr3_at_most(level * 1000 / (1000 - p->loss_threshold), CC_SSTHRESH_INFINITE), least);
	if (ca->mode == BBR3_UP) {
		bbr3_start_down(ca, a);
		ca->undo = BBR3_UNDO_UP;
	}
}

static inline void bbr3_note_loss(struct bbr3 *ca, const struct cc_ack *a)
{
	if (ca->loss_in_round)
		return;
	ca->loss_in_round = 1;
	ca->loss_round_end = (u32)a->delivered;
	ca->undo_bw_short = ca->bw_short;
	ca->undo_inflight_short = bbr3_inflight_short(ca);
	ca->undo_inflight_long = ca->inflight_long;
	ca->undo = BBR3_UNDO_NONE;
}

/* Whether the application limited this ACK's sample, or PROBE_RTT, in which it was sent, did. */
static inline u32 bbr3_is_limited(const struct bbr3 *ca, const struct cc_ack *a)
{
	return (a->flags & CC_RATE_APP_LIMITED) || (ca->probe_rtt_left && ca->probe_rtt_left < 3);
}

/* Rounds, max_bw, and the bounds of the short term. */
static inline void bbr3_update_rounds(struct bbr3 *ca, const struct bbr3_params *p,
				      const struct cc_window *w, const struct cc_ack *a,
				      const struct bbr3_sample *s)
{
	ca->loss_round_start = 0;
	ca->round_start = 0;
	if (!ca->sampled)
		return;
	ca->bw_latest = cc_max(ca->bw_latest, s->rate);
	ca->inflight_latest = cc_max(ca->inflight_latest, s->delivered);
	if (!cc_after(ca->loss_round_end, a->rate_prior_delivered)) {
		ca->loss_round_end = (u32)a->delivered;
		ca->loss_round_start = 1;
	}
	if (!cc_after(ca->round_end, a->rate_prior_delivered)) {
		bbr3_start_round(ca, a);
		ca->round_start = 1;
		ca->rounds = cc_min(ca->rounds + 1, 255) & 255;
		ca->drain_rounds = cc_min(ca->drain_rounds + 1, 7) & 7;
		ca->lost[0] = ca->lost[1];
		ca->lost[1] = (u32)a->lost_total;
		if (ca->probe_rtt_left && (ca->mode != BBR3_PROBE_RTT || ca->probe_rtt_left == 3))
			ca->probe_rtt_left = (ca->probe_rtt_left - 1) & 3;
		ca->app_limited = bbr3_is_limited(ca, a) & 1;
	}
	if (!ca->app_limited || s->rate >= bbr3_max_bw(ca))
		ca->bw[1] = cc_max(ca->bw[1], s->rate);
	if (!ca->loss_round_start)
		return;
	if (ca->loss_in_round && !bbr3_probes(ca->mode)) {
		u32 bw = cc_min(ca->bw_short, bbr3_max_bw(ca));
		u32 inflight = ca->inflight_short == BBR3_INFINITE ? w->cwnd : ca->inflight_short;

		ca->bw_short = cc_max(ca->bw_latest, cc_part(bw, p->beta, 1000));
		ca->inflight_short = cc_max(ca->inflight_latest, cc_part(inflight, p->beta, 1000));
	}
	ca->loss_in_round = 0;
}

static inline void bbr3_update_extra_acked(struct bbr3 *ca, const struct bbr3_params *p,
					   const struct cc_window *w, const struct cc_ack *a)
{
	u32 us = (u32)a->now_us - ca->epoch_us, rounds = ca->full ? BBR3_EXTRA_ROUNDS : 1;
	u64 expected = (u64)us * bbr3_bw(ca) >> 24, extra;

	if (!ca->sampled)
		return;
	if (ca->round_start) {
		ca->extra_rounds = (ca->extra_rounds + 1) & 7;
		if (ca->extra_rounds >= rounds) {
			ca->extra_rounds = 0;
			ca->extra_before = ca->extra_acked;
			ca->extra_acked = 0;
		}
	}
	if (ca->epoch_acked <= expected || (u64)ca->epoch_acked + a->acked > BBR3_EPOCH_ACKED) {
		ca->epoch_acked = 0;
		ca->epoch_us = (u32)a->now_us;
		expected = 0;
	}
	ca->epoch_acked = bbr3_at_most((u64)ca->epoch_acked + a->acked, BBR3_EPOCH_ACKED) & BBR3_EPOCH_ACKED;
	extra = ca->epoch_acked > expected ? ca->epoch_acked - expected : 0;
	if (p->variant == BBR3_V3)
		extra = bbr3_at_most(extra, (u32)((u64)bbr3_bw(ca) * BBR3_EXTRA_US >> 24));
	ca->extra_acked = cc_max(ca->extra_acked, bbr3_at_most(extra, w->cwnd)) & BBR3_EPOCH_ACKED;
}

/* The pipe is full when max_bw grew by less than 25 % in three rounds. */
static inline void bbr3_update_full(struct bbr3 *ca, const struct bbr3_params *p,
				    const struct bbr3_sample *s)
{
	if (ca->full_now || ca->app_limited || !ca->sampled || (ca->full && !bbr3_probes(ca->mode)))
		return;
	if (!ca->round_start && p->variant != BBR3_V3)
		return;
	if ((u64)s->rate * 4 >= (u64)ca->full_bw * 5) {
		bbr3_forget_full(ca, s->rate);
		return;
	}
	if (!ca->round_start)
		return;
	ca->full_rounds = (ca->full_rounds + 1) & 3;
	ca->full_now = ca->full_rounds >= BBR3_FULL_ROUNDS;
	ca->full |= ca->full_now;
}

static inline void bbr3_update_startup(struct bbr3 *ca, const struct bbr3_params *p,
				       const struct bbr3_sample *s)
{
	if (ca->loses)
		ca->loss_events = cc_min(ca->loss_events + 1, 15) & 15;
	if (!ca->full && ca->loss_round_start && ca->recovering &&
	    ca->loss_events >= BBR3_FULL_LOSSES && bbr3_is_too_high(p, s->in_flight, s->lost)) {
		u64 bdp = bbr3_bdp(ca, bbr3_max_bw(ca), BBR3_ONE);

		ca->full = 1;
		ca->inflight_long = cc_max(bbr3_at_most(bdp, CC_SSTHRESH_INFINITE), ca->inflight_latest);
		ca->undo = BBR3_UNDO_STARTUP;
	}
	if (ca->loss_round_start)
		ca->loss_events = 0;
	if (ca->mode == BBR3_STARTUP && ca->full) {
		bbr3_enter(ca, BBR3_DRAIN);
		ca->drain_rounds = 0;
		if (p->variant == BBR3_V3) {
			ca->loss_in_round = 0;
			ca->bw_latest = 0;
			ca->inflight_latest = 0;
		}
	}
}

static inline void bbr3_update_drain(struct bbr3 *ca, const struct bbr3_params *p,
				     const struct cc_window *w, const struct cc_ack *a)
{
	if (ca->mode != BBR3_DRAIN)
		return;
	if (a->in_flight <= bbr3_inflight(ca, p, w, a) ||
	    (p->variant == BBR3_SPEC && ca->drain_rounds > BBR3_DRAIN_ROUNDS))
		bbr3_start_down(ca, a);
}

/* What the path holds: it may grow with every ACK that shows no more losses than the threshold. */
static inline void bbr3_update_inflight_long(struct bbr3 *ca, const struct bbr3_params *p,
					     struct cc_window *w, const struct cc_ack *a,
					     const struct bbr3_sample *s)
{
	u32 limited = ca->cwnd_limited && w->cwnd >= ca->inflight_long, per;

	if (bbr3_is_too_high(p, s->in_flight, s->lost)) {
		if (ca->probe_sample &&
		    (p->variant == BBR3_V3 || (p->samples == BBR3_MAINLINE && ca->loses)))
			bbr3_too_high(ca, p, w, a, s);
		return;
	}
	if (ca->inflight_long == BBR3_INFINITE)
		return;
	ca->inflight_long = cc_max(ca->inflight_long, bbr3_at_most(s->in_flight, CC_SSTHRESH_INFINITE));
	if (ca->mode != BBR3_UP)
		return;
	if (limited) {
		per = cc_max(w->cwnd >> (ca->up_rounds ? ca->up_rounds - 1 : 0), 1);
		ca->inflight_short = bbr3_at_most((u64)ca->inflight_short + a->acked, CC_SSTHRESH_INFINITE);
		if (ca->inflight_short >= per) {
			u64 more = (u64)ca->inflight_long + ca->inflight_short / per;

			ca->inflight_long = bbr3_at_most(more, CC_SSTHRESH_INFINITE);
			ca->inflight_short %= per;
		}
	}
	if (ca->round_start)
		bbr3_next_up_round(ca);
}

static inline u32 bbr3_time_to_probe(const struct bbr3 *ca, const struct bbr3_params *p,
				     const struct cc_window *w, const struct cc_ack *a)
{
	return bbr3_ms(a) - ca->phase_ms > ca->wait_ms ||
	       ca->rounds >= cc_min(bbr3_target_inflight(ca, p, w, a), BBR3_PROBE_ROUNDS);
}

/* The cycle of DOWN, CRUISE, REFILL, UP. */
static inline void bbr3_update_phase(struct bbr3 *ca, const struct bbr3_params *p,
				     const struct cc_window *w, const struct cc_ack *a,
				     const struct bbr3_sample *s)
{
	if (!bbr3_in_probe_bw(ca))
		return;
	if (ca->mode == BBR3_REFILL) {
		if (ca->round_start)
			bbr3_start_up(ca, a, s->rate);
		return;
	}
	if (ca->mode == BBR3_UP) {
		if (ca->too_high && a->in_flight >= ca->inflight_long) {
			ca->cautious = 1;
		} else if (ca->cwnd_limited && w->cwnd >= ca->inflight_long) {
			/* inflight_long keeps max_bw from growing. */
			bbr3_forget_full(ca, s->rate);
			return;
		} else if (!ca->full_now) {
			return;
		}
		ca->too_high = 0;
		bbr3_start_down(ca, a);
		return;
	}
	if (bbr3_time_to_probe(ca, p, w, a))
		bbr3_start_refill(ca, a);
	else if (ca->mode == BBR3_DOWN && a->in_flight <= bbr3_inflight_with_headroom(ca, p) &&
		 a->in_flight <= bbr3_inflight(ca, p, w, a))
		bbr3_enter(ca, BBR3_CRUISE);
}

static inline void bbr3_update_probe_bw(struct bbr3 *ca, const struct bbr3_params *p,
					struct cc_window *w, const struct cc_ack *a,
					const struct bbr3_sample *s)
{
	if (!ca->full)
		return;
	if (ca->stopping && ca->round_start) {
		ca->probe_sample = 0;
		ca->stopping = 0;
		if (bbr3_in_probe_bw(ca) && !ca->app_limited && ca->bw[1]) {
			ca->bw[0] = ca->bw[1];
			ca->bw[1] = 0;
		}
		if (bbr3_in_probe_bw(ca) && ca->cautious && !ca->too_high) {
			bbr3_start_refill(ca, a);
			return;
		}
	}
	bbr3_update_inflight_long(ca, p, w, a, s);
	CC_FORGET();
	bbr3_update_phase(ca, p, w, a, s);
}

static inline void bbr3_save_cwnd(struct bbr3 *ca, const struct cc_window *w)
{
	if (ca->state < CC_RECOVERY && ca->mode != BBR3_PROBE_RTT)
		ca->prior_cwnd = w->cwnd;
	else
		ca->prior_cwnd = cc_max(ca->prior_cwnd, w->cwnd);
}

static inline void bbr3_leave_probe_rtt(struct bbr3 *ca, struct cc_window *w, const struct cc_ack *a)
{
	if (!ca->probe_rtt_timed || bbr3_ms(a) - ca->phase_ms <= BBR3_PROBE_RTT_MS)
		return;
	ca->probe_rtt_ms = bbr3_ms(a);
	w->cwnd = cc_allowed(w, cc_max(w->cwnd, ca->prior_cwnd));
	ca->probe_rtt_left = 2;
	if (ca->full) {
		bbr3_start_down(ca, a);
		bbr3_enter(ca, BBR3_CRUISE);
		bbr3_forget_short(ca);
	} else {
		bbr3_enter(ca, BBR3_STARTUP);
	}
}

static inline void bbr3_update_min_rtt(struct bbr3 *ca, const struct bbr3_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u32 now_ms = bbr3_ms(a), expired = now_ms - ca->probe_rtt_ms > 1000 * p->probe_rtt_interval_s;
	u32 renews = p->variant == BBR3_V3 && a->rtt_us == ca->probe_rtt_us;

	if (ca->timed && (a->rtt_us < ca->probe_rtt_us || renews || expired)) {
		ca->probe_rtt_us = a->rtt_us;
		ca->probe_rtt_ms = now_ms;
	}
	if (ca->probe_rtt_us < ca->min_rtt_us || now_ms - ca->min_rtt_ms > BBR3_MIN_RTT_MS) {
		ca->min_rtt_us = ca->probe_rtt_us;
		ca->min_rtt_ms = ca->probe_rtt_ms;
	}
	if (expired && !ca->restarting && ca->mode != BBR3_PROBE_RTT) {
		bbr3_save_cwnd(ca, w);
		bbr3_enter(ca, BBR3_PROBE_RTT);
		ca->probe_rtt_timed = 0;
		ca->probe_rtt_left = 3;
		ca->stopping = 1;
		bbr3_start_round(ca, a);
	}
	if (ca->mode == BBR3_PROBE_RTT) {
		if (!ca->probe_rtt_timed && a->in_flight <= bbr3_probe_rtt_cwnd(ca, p)) {
			ca->probe_rtt_timed = 1;
			ca->phase_ms = now_ms;
			ca->probe_rtt_round = 0;
			bbr3_start_round(ca, a);
		} else if (ca->probe_rtt_timed) {
			ca->probe_rtt_round |= ca->round_start;
			if (ca->probe_rtt_round)
				bbr3_leave_probe_rtt(ca, w, a);
		}
	}
	if (ca->sampled)
		ca->restarting = 0;
}

/* The bounds that the model sets. */
static inline u32 bbr3_bound(const struct bbr3 *ca, const struct bbr3_params *p)
{
	u32 most = BBR3_INFINITE;

	if (ca->mode == BBR3_CRUISE || ca->mode == BBR3_PROBE_RTT)
		most = bbr3_inflight_with_headroom(ca, p);
	else if (bbr3_in_probe_bw(ca))
		most = ca->inflight_long;
	return cc_max(cc_min(most, bbr3_inflight_short(ca)), p->min_cwnd);
}

static inline void bbr3_set_cwnd(struct bbr3 *ca, const struct bbr3_params *p, struct cc_window *w,
				 const struct cc_ack *a)
{
	u64 cwnd = w->cwnd, target = bbr3_bdp(ca, bbr3_bw(ca), bbr3_cwnd_gain(ca, p));

	target = CC_FORGET_VALUE(target, ca->round_end) + cc_max(ca->extra_acked, ca->extra_before);
	target = CC_FORGET_VALUE(bbr3_with_bursts(ca, p, w, a, target), ca->round_end);
	CC_FORGET();
	if (ca->repaired)
		cwnd = cwnd < ca->prior_cwnd ? ca->prior_cwnd : cwnd;
	cwnd = CC_FORGET_VALUE(cwnd, ca->round_end);
	CC_FORGET();
	if (ca->full)
		cwnd = cwnd + a->acked < target ? cwnd + a->acked : target;
	else if (ca->early || cwnd < target)
		cwnd += a->acked;
	cwnd = CC_FORGET_VALUE(cwnd < p->min_cwnd ? p->min_cwnd : cwnd, ca->round_end);
	CC_FORGET();
	if (ca->mode == BBR3_PROBE_RTT)
		cwnd = bbr3_at_most(cwnd, bbr3_probe_rtt_cwnd(ca, p));
	cwnd = CC_FORGET_VALUE(cwnd, ca->round_end);
	CC_FORGET();
	cwnd = bbr3_at_most(cwnd, bbr3_bound(ca, p));
	cwnd = CC_FORGET_VALUE(cwnd, ca->round_end);
	w->cwnd = cc_allowed(w, cwnd);
}

static inline void bbr3_init(struct bbr3 *ca, const struct bbr3_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	w->ssthresh = CC_SSTHRESH_INFINITE;
	bbr3_start_round(ca, a);
	ca->loss_round_end = (u32)a->delivered;
	ca->min_rtt_us = a->srtt_us ? a->srtt_us : BBR3_INFINITE;
	ca->probe_rtt_us = ca->min_rtt_us;
	ca->min_rtt_ms = bbr3_ms(a);
	ca->probe_rtt_ms = bbr3_ms(a);
	ca->epoch_us = (u32)a->now_us;
	ca->bw_short = BBR3_INFINITE;
	ca->inflight_long = BBR3_INFINITE;
	ca->lost[0] = ca->lost[1] = (u32)a->lost_total;
	bbr3_first_pacing_rate(ca, p, w, a);
}

static inline void bbr3_cong_control(struct bbr3 *ca, const struct bbr3_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	struct bbr3_sample s = { .in_flight = a->rate_in_flight, .lost = a->rate_lost };

	ca->sampled = a->rate_interval_us && a->acked;
	ca->timed = a->rtt_us != 0;
	ca->app_limited = bbr3_is_limited(ca, a) & 1;
	ca->cwnd_limited = cc_cwnd_limited(a) && (u64)a->prior_in_flight + (w->cwnd >> 4) >= w->cwnd;
	ca->loses = a->lost != 0;
	ca->recovering = a->state == CC_RECOVERY;
	ca->repaired = ca->state >= CC_RECOVERY && a->state < CC_RECOVERY;
	ca->state = a->state & 7U;
	ca->early = p->variant == BBR3_V3 ? w->cwnd < 2 * BBR3_INITIAL_CWND :
					    a->delivered < BBR3_INITIAL_CWND;
	if (p->samples == BBR3_MAINLINE && a->lost)
		bbr3_note_loss(ca, a);
	CC_FORGET();
	if (ca->sampled) {
		s.rate = delivery_rate(a->rate_delivered, cc_max(a->rate_interval_us, 1));
		s.delivered = a->rate_delivered;
	}
	bbr3_update_rounds(ca, p, w, a, &s);
	CC_FORGET();
	if (p->samples == BBR3_MAINLINE) {
		s.lost = ca->sampled ? cc_since(a->lost_total, ca->lost[0]) : 0;
		s.in_flight = bbr3_at_most((u64)s.delivered + s.lost, BBR3_INFINITE);
	}
	CC_FORGET();
	bbr3_update_extra_acked(ca, p, w, a);
	CC_FORGET();
	bbr3_update_full(ca, p, &s);
	CC_FORGET();
	bbr3_update_startup(ca, p, &s);
	CC_FORGET();
	bbr3_update_drain(ca, p, w, a);
	CC_FORGET();
	bbr3_update_probe_bw(ca, p, w, a, &s);
	CC_FORGET();
	bbr3_update_min_rtt(ca, p, w, a);
	CC_FORGET();
	if (ca->loss_round_start) {
		ca->bw_latest = s.rate;
		ca->inflight_latest = s.delivered;
	}
	bbr3_set_pacing_rate(ca, p, w, a);
	CC_FORGET();
	bbr3_set_cwnd(ca, p, w, a);
}

static inline void bbr3_segment_lost(struct bbr3 *ca, const struct bbr3_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	struct bbr3_sample s = { .in_flight = a->rate_in_flight, .lost = a->rate_lost };

	if (p->samples != BBR3_EXACT)
		return;
	bbr3_note_loss(ca, a);
	ca->app_limited = (a->flags & CC_RATE_APP_LIMITED) != 0;
	if (ca->probe_sample && bbr3_is_too_high(p, s.in_flight, s.lost))
		bbr3_too_high(ca, p, w, a, &s);
}

static inline u32 bbr3_ssthresh(struct bbr3 *ca, const struct bbr3_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	(void)p;
	(void)a;
	bbr3_save_cwnd(ca, w);
	return w->ssthresh;
}

static inline void bbr3_set_state(struct bbr3 *ca, const struct bbr3_params *p, struct cc_window *w,
				  const struct cc_ack *a, u8 state)
{
	(void)w;
	if (state != CC_LOSS)
		return;
	ca->state = CC_LOSS;
	if (p->samples == BBR3_MAINLINE)
		bbr3_note_loss(ca, a);
	if (p->variant == BBR3_SPEC)
		return;
	bbr3_forget_full(ca, 0);
	if (!bbr3_probes(ca->mode) && ca->inflight_short == BBR3_INFINITE)
		ca->inflight_short = ca->prior_cwnd;
}

static inline void bbr3_cwnd_event(struct bbr3 *ca, const struct bbr3_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)p;
	if (event != CC_TX_START || !(a->flags & CC_APP_LIMITED))
		return;
	ca->restarting = 1;
	ca->epoch_us = (u32)a->now_us;
	ca->epoch_acked = 0;
	/* No burst above the path's rate into an empty pipe, and no pause either. */
	if (bbr3_in_probe_bw(ca))
		w->pacing_rate = bbr3_bytes_per_s(a, bbr3_bw(ca), BBR3_ONE);
	else if (ca->mode == BBR3_PROBE_RTT)
		bbr3_leave_probe_rtt(ca, w, a);
}

/* A needless repair: what it changed comes back. */
static inline u32 bbr3_undo_cwnd(struct bbr3 *ca, const struct bbr3_params *p, struct cc_window *w,
				 const struct cc_ack *a)
{
	(void)p;
	ca->loss_in_round = 0;
	bbr3_forget_full(ca, 0);
	ca->inflight_long = cc_max(ca->inflight_long, ca->undo_inflight_long);
	if (!bbr3_probes(ca->mode)) {
		ca->bw_short = cc_max(ca->bw_short, ca->undo_bw_short);
		ca->inflight_short = cc_max(ca->inflight_short, ca->undo_inflight_short);
	}
	if (ca->undo == BBR3_UNDO_STARTUP) {
		ca->full = 0;
		if (ca->mode != BBR3_PROBE_RTT)
			bbr3_enter(ca, BBR3_STARTUP);
	} else if (ca->undo == BBR3_UNDO_UP && ca->mode != BBR3_PROBE_RTT && ca->mode != BBR3_UP) {
		bbr3_start_refill(ca, a);
	}
	ca->undo = BBR3_UNDO_NONE;
	return cc_allowed(w, cc_max(w->cwnd, ca->prior_cwnd));
}

#endif /* BBR3_H */
