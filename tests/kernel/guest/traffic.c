/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One TCP transfer in a guest.
 *
 *   traffic receive PORT
 *   traffic send ADDRESS PORT CCA SECONDS
 *
 * send chooses CCA as a user without privileges. It reads TCP_INFO every ms and keeps it until it is done: to
 * print costs virtual time. It prints a line of KEY=VALUE: the name that the socket reports, what was
 * acknowledged and sent again, how often ssthresh changed, how often it was none that a window here can give,
 * and a window every 100 ms.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define SAMPLES_MAX 1000000
#define SSTHRESH_INFINITE 0x7fffffff
#define SSTHRESH_ABSURD 1000000

static char buffer[1 << 16];
static struct sample {
	double at_s;
	unsigned int cwnd, ssthresh;
} samples[SAMPLES_MAX];

static void die(const char *what)
{
	printf("error=%s:%s\n", what, strerror(errno));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void receive(struct sockaddr_in *address)
{
	int one = 1, some = 1 << 16, listening = socket(AF_INET, SOCK_STREAM, 0), fd;

	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(listening, (struct sockaddr *)address, sizeof *address) || listen(listening, 1))
		die("listen");
	fd = accept(listening, NULL, NULL);
	if (fd < 0)
		die("accept");
	/* Reads must not trigger ACKs. */
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &some, sizeof some);
	while (read(fd, buffer, sizeof buffer) > 0)
		;
}

static void report(double seconds, const struct tcp_info *info, const char *cca, int count)
{
	int i, changes = 0, absurd = 0;
	double next_s = 0;

	for (i = 1; i < count; i++)
		changes += samples[i].ssthresh != samples[i - 1].ssthresh;
	for (i = 0; i < count; i++)
		absurd += samples[i].ssthresh > SSTHRESH_ABSURD && samples[i].ssthresh != SSTHRESH_INFINITE;
	printf("cca=%s mbps=%.2f retransmitted=%u changes=%d absurd=%d cwnd=", cca,
	       8e-6 * (double)info->tcpi_bytes_acked / seconds, info->tcpi_total_retrans, changes, absurd);
	for (i = 0; i < count; i++)
		if (samples[i].at_s >= next_s) {
			printf("%s%u", next_s > 0 ? "," : "", samples[i].cwnd);
			next_s += 0.1;
		}
	printf("\n");
}

static void send_for(struct sockaddr_in *address, const char *cca, double seconds)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), count = 0;
	char named[16] = "";
	socklen_t bytes = sizeof named;
	struct tcp_info info;
	double begin_s, at_s = 0;

	if (setuid(NOBODY))
		die("setuid");
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cca, (socklen_t)strlen(cca)))
		die("setsockopt");
	if (connect(fd, (struct sockaddr *)address, sizeof *address))
		die("connect");
	begin_s = now_s();
	while (at_s < seconds) {
		struct pollfd ready = { .fd = fd, .events = POLLOUT };

		poll(&ready, 1, 1);
		if (send(fd, buffer, sizeof buffer, MSG_DONTWAIT) < 0 && errno != EAGAIN)
			die("send");
		at_s = now_s() - begin_s;
		if (count && (at_s - samples[count - 1].at_s < 0.001 || count == SAMPLES_MAX))
			continue;
		bytes = sizeof info;
		memset(&info, 0, sizeof info);
		getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes);
		samples[count++] = (struct sample){ at_s, info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh };
	}
	bytes = sizeof named;
	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, named, &bytes);
	report(at_s, &info, named, count);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	if (argc == 3 && !strcmp(argv[1], "receive")) {
		address.sin_port = htons((unsigned short)atoi(argv[2]));
		receive(&address);
	} else if (argc == 6 && !strcmp(argv[1], "send")) {
		address.sin_port = htons((unsigned short)atoi(argv[3]));
		inet_pton(AF_INET, argv[2], &address.sin_addr);
		send_for(&address, argv[4], atof(argv[5]));
	} else {
		fprintf(stderr, "traffic receive PORT | traffic send ADDRESS PORT CCA SECONDS\n");
		return 2;
	}
	return 0;
}
