/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One algorithm as a module: insmod cwnd_elastic.ko beta=0.8 as=elastic_08. A parameter is written as for
 * `cwnd kernel load --param`. Parameters of a loaded module do not change: connections keep state made for them.
 * Kbuild defines HEADER and NAME.
 */
#include <linux/ctype.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/version.h>
#include <net/tcp.h>

#ifndef CONFIG_64BIT
#error "the algorithms divide 64-bit numbers: a 64-bit kernel is needed"
#endif

/* The algorithms use this name. */
#undef current

/* Sockets that use an algorithm of kind ecn ask for ECN whatever tcp_ecn is. */
#define FLAGS_loss 0
#define FLAGS_delay 0
#define FLAGS_hybrid 0
#define FLAGS_model 0
#define FLAGS_ecn TCP_CONG_NEEDS_ECN
#define FLAGS_l4s 0
#define FLAGS(name, title, year, paper, kind, status) flags_of_##name = FLAGS_##kind,
#include "registry.h"
enum { CC_REGISTRY(FLAGS) };

#include "../shim/names.h"
#define CC_HAVE_TYPES
#define CC_NO_SEGMENT_LOST
#include HEADER

#define BITS(s, field) ((s)->field)

static PARAMS params = { NAMED(NAME, _PARAMS)(CC_PARAM_DEFAULT) };

static inline const PARAMS *parameters(void)
{
	return &params;
}

#include "../shim/hooks.h"

struct parameter {
	u32 *stored;
	u32 one, min, max;
	const char *choices;
};

/* "exact|paper": the index of the choice, or -EINVAL. */
static int choice(const char *choices, const char *text)
{
	size_t bytes = strlen(text);
	int index;

	for (index = 0;; index++) {
		const char *end = strchrnul(choices, '|');

		if ((size_t)(end - choices) == bytes && !memcmp(choices, text, bytes))
			return index;
		if (!*end)
			return -EINVAL;
		choices = end + 1;
	}
}

/* Digits with at most one point, in units of 1/one and rounded, or -EINVAL. */
static s64 number(const char *text, u32 one)
{
	u64 digits = 0, scale = 1;
	bool point = false, any = false;

	for (; *text; text++) {
		if (*text == '.' && !point) {
			point = true;
			continue;
		}
		if (!isdigit(*text) || digits > U32_MAX / 10 || scale > U32_MAX / 10)
			return -EINVAL;
		digits = 10 * digits + (u64)(*text - '0');
		scale *= point ? 10 : 1;
		any = true;
	}
	return any ? (s64)div64_u64(digits * one + scale / 2, scale) : -EINVAL;
}

/* As a person writes it: up to four decimals, without zeros at the end. */
static int show(char *text, size_t bytes, const struct parameter *p, u32 stored)
{
	u32 value = (u32)div_u64((u64)stored * 10000 + p->one / 2, p->one), decimals = value % 10000;
	int digits = 4;

	if (*p->choices) {
		const char *choices = p->choices;

		for (; stored; stored--)
			choices = strchr(choices, '|') + 1;
		return scnprintf(text, bytes, "%.*s", (int)(strchrnul(choices, '|') - choices), choices);
	}
	if (!decimals)
		return scnprintf(text, bytes, "%u", (u32)div_u64((u64)stored, p->one));
	for (; decimals % 10 == 0; digits--)
		decimals /= 10;
	return scnprintf(text, bytes, "%u.%0*u", value / 10000, digits, decimals);
}

static int set_parameter(const char *text, const struct kernel_param *kp)
{
	const struct parameter *p = kp->arg;
	s64 value = *p->choices ? choice(p->choices, text) : number(text, p->one);
	char least[16], most[16];

	if (value >= p->min && value <= p->max) {
		*p->stored = (u32)value;
		return 0;
	}
	show(least, sizeof(least), p, p->min);
	show(most, sizeof(most), p, p->max);
	if (*p->choices)
		pr_err(KBUILD_MODNAME ": %s cannot be '%s'; accepted: %s\n", kp->name, text, p->choices);
	else
		pr_err(KBUILD_MODNAME ": %s cannot be '%s'; accepted: %s to %s\n", kp->name, text, least, most);
	return -EINVAL;
}

static int get_parameter(char *text, const struct kernel_param *kp)
{
	const struct parameter *p = kp->arg;
	int bytes = show(text, PAGE_SIZE - 1, p, *p->stored);

	return bytes + scnprintf(text + bytes, PAGE_SIZE - (size_t)bytes, "\n");
}

static const struct kernel_param_ops parameter_ops = { .set = set_parameter, .get = get_parameter };

#define PARAMETER(field, value, one, min, max, choices, doc)                                              \
	static struct parameter field##_parameter = { &params.field, one, min, max, choices };            \
	module_param_cb(field, &parameter_ops, &field##_parameter, 0444);                                 \
	MODULE_PARM_DESC(field, choices " " doc);
NAMED(NAME, _PARAMS)(PARAMETER)

/* The one place where kernels differ. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define CONG_CONTROL_ARGUMENTS struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#else
#define CONG_CONTROL_ARGUMENTS struct sock *sk, const struct rate_sample *rs
#endif

#define DEFINE_init \
	static void init(struct sock *sk) { on_init(sk); }
#define DEFINE_pkts_acked \
	static void pkts_acked(struct sock *sk, const struct ack_sample *sample) { on_pkts_acked(sk, sample); }
#define DEFINE_cong_avoid \
	static void cong_avoid(struct sock *sk, u32 ack, u32 acked) { on_cong_avoid(sk, acked); }
#define DEFINE_cong_control \
	static void cong_control(CONG_CONTROL_ARGUMENTS) { on_cong_control(sk, rs); }
#define DEFINE_segment_lost
#define DEFINE_ssthresh \
	static u32 ssthresh(struct sock *sk) { return on_ssthresh(sk); }
#define DEFINE_set_state \
	static void set_state(struct sock *sk, u8 state) { on_set_state(sk, state); }
#define DEFINE_cwnd_event \
	static void cwnd_event(struct sock *sk, enum tcp_ca_event event) { on_cwnd_event(sk, event); }
#define DEFINE_undo_cwnd \
	static u32 undo_cwnd(struct sock *sk) { return on_undo_cwnd(sk); }
#define DEFINE(A, hook) DEFINE_##hook
NAMED(NAME, _HOOKS)(DEFINE, NAME)

#define MEMBER_init .init = init,
#define MEMBER_pkts_acked .pkts_acked = pkts_acked,
#define MEMBER_cong_avoid .cong_avoid = cong_avoid,
#define MEMBER_cong_control .cong_control = cong_control,
#define MEMBER_segment_lost
#define MEMBER_ssthresh .ssthresh = ssthresh,
#define MEMBER_set_state .set_state = set_state,
#define MEMBER_cwnd_event .cwnd_event = cwnd_event,
#define MEMBER_undo_cwnd .undo_cwnd = undo_cwnd,
#define MEMBER(A, hook) MEMBER_##hook
static struct tcp_congestion_ops ops = {
	.name = __stringify(NAME),
	.owner = THIS_MODULE,
	.flags = TCP_CONG_NON_RESTRICTED | NAMED(flags_of_, NAME),
	NAMED(NAME, _HOOKS)(MEMBER, NAME)
};

module_param_string(as, ops.name, sizeof(ops.name), 0444);
MODULE_PARM_DESC(as, "what sockets call it; " __stringify(NAME) " if not given");

static int __init enter(void)
{
	BUILD_BUG_ON(sizeof(STATE) > ICSK_CA_PRIV_SIZE);
	if (!ops.undo_cwnd)
		ops.undo_cwnd = default_undo_cwnd;
	return tcp_register_congestion_control(&ops);
}

static void __exit leave(void)
{
	tcp_unregister_congestion_control(&ops);
}

module_init(enter);
module_exit(leave);

MODULE_DESCRIPTION("TCP congestion control " __stringify(NAME));
MODULE_LICENSE("Dual MIT/GPL");
/* Choosing an algorithm that is not registered requests this alias. */
MODULE_ALIAS("tcp_" __stringify(NAME));
