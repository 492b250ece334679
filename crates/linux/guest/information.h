/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef INFORMATION_H
#define INFORMATION_H

#include <linux/tcp.h>
#include <stddef.h>
#include <stdint.h>

/* What TCP_INFO reports. The headers of the machine that compiles this may lack the last fields, which guests report. */
union information {
	struct tcp_info of;
	struct {
		char before[offsetof(struct tcp_info, tcpi_snd_wnd)];
		uint32_t snd_wnd, rcv_wnd, rehash;
		uint16_t total_rto, total_rto_recoveries;
	} later;
	char all[512];
};

/* Returns 0 if the kernel describes it. */
int information_read(int fd, union information *info);

#endif
