/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Every hook of one algorithm as a function of its own. HEADER, NAME and HOOKS come from bpf.rs. */
#include HEADER

#define ARGUMENTS(A) \
	struct A *ca, const struct A##_params *p, struct cc_window *w, const struct cc_ack *a
#define VOID_HOOK(A, hook)                        \
	void A##_##hook##_hook(ARGUMENTS(A));     \
	void A##_##hook##_hook(ARGUMENTS(A))      \
	{                                         \
		A##_##hook(ca, p, w, a);          \
	}
#define U32_HOOK(A, hook)                         \
	u32 A##_##hook##_hook(ARGUMENTS(A));      \
	u32 A##_##hook##_hook(ARGUMENTS(A))       \
	{                                         \
		return A##_##hook(ca, p, w, a);   \
	}
#define U8_HOOK(A, hook)                                \
	void A##_##hook##_hook(ARGUMENTS(A), u8 what);  \
	void A##_##hook##_hook(ARGUMENTS(A), u8 what)   \
	{                                               \
		A##_##hook(ca, p, w, a, what);          \
	}
#define DEFINE_init VOID_HOOK
#define DEFINE_pkts_acked VOID_HOOK
#define DEFINE_cong_avoid VOID_HOOK
#define DEFINE_cong_control VOID_HOOK
#define DEFINE_segment_lost VOID_HOOK
#define DEFINE_ssthresh U32_HOOK
#define DEFINE_undo_cwnd U32_HOOK
#define DEFINE_set_state U8_HOOK
#define DEFINE_cwnd_event U8_HOOK
#define DEFINE(A, hook) DEFINE_##hook(A, hook)

HOOKS(DEFINE, NAME)

extern const void *const defaults;
const void *const defaults = &DEFAULTS;
