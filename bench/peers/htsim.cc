// A dumbbell in htsim: htsim KEY=VALUE..., every key that is read below. Rates in Mbps, delays in ms, queues in packets.
// `exits` is how a packet leaves the bottleneck: "links" have a queue each, "delays" none; without `access` there is
// a queue and a pipe alone.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

// htsim adds whole bytes for each ACK, none above some 1,050 packets. This one adds a packet when a window is acknowledged.
class Reno : public TcpSrc {
public:
    explicit Reno(EventList &events) : TcpSrc(NULL, NULL, events), _acked(0) {}
    void inflate_window() {
        if (_cwnd < _ssthresh) {
            _cwnd += min(_ssthresh - _cwnd, (uint32_t)_mss);
        } else if (++_acked >= _cwnd / _mss) {
            _acked = 0;
            _cwnd += _mss;
        }
    }

private:
    uint32_t _acked;
};

}  // namespace

int main(int argc, char **argv) {
    std::map<std::string, std::string> settings;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const size_t equals = argument.find('=');
        settings[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    const auto number = [&](const char *key) { return atof(settings.at(key).c_str()); };
    const int packet = (int)number("packet"), payload = (int)number("payload"), flows = (int)number("flows");
    const double duration = number("duration");
    const bool access = number("access") != 0, links = settings.at("exits") == "links";

    // Nothing is freed before the program ends.
    EventList events;
    events.setEndtime(timeFromSec(duration));
    Packet::set_packet_size(packet);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<Queue *> queues;
    const auto queue = [&](const char *rate, const char *buffer) {
        const mem_b bytes = (mem_b)number(buffer) * packet;
        queues.push_back(new Queue(speedFromMbps(number(rate)), bytes, events, NULL));
        return queues.back();
    };
    const auto pipe = [&](double ms) { return new Pipe(timeFromMs(ms), events); };
    const double delay = number("delay"), access_delay = access ? number("access_delay") : 0;

    Queue *const bottleneck = queue("rate", "buffer");
    Pipe *const across = pipe(delay), *const back = pipe(delay + 2 * access_delay);
    std::vector<Reno *> sources;
    std::vector<TcpSink *> sinks;
    for (int i = 0; i < flows; i++) {
        Reno *const source = new Reno(events);
        TcpSink *const sink = new TcpSink();
        source->set_cwnd((uint64_t)number("initial_window") * packet);
        source->set_ssthresh((uint64_t)number("initial_ssthresh") * packet);
        timers.registerTcp(*source);
        Route *const there = new Route(), *const here = new Route();
        if (access) {
            there->push_back(queue("access_rate", "access_buffer"));
            there->push_back(pipe(access_delay));
        }
        there->push_back(bottleneck);
        there->push_back(across);
        if (access) {
            if (links)
                there->push_back(queue("access_rate", "access_buffer"));
            there->push_back(pipe(access_delay));
        }
        there->push_back(sink);
        here->push_back(back);
        here->push_back(source);
        source->connect(*there, *here, *sink, timeFromMs(i * number("stagger")));
        sources.push_back(source);
        sinks.push_back(sink);
    }
    while (events.doNextEvent()) {
    }

    uint64_t sent = 0, received = 0, dropped = 0;
    for (int i = 0; i < flows; i++) {
        sent += sources[i]->_packets_sent / packet;
        received += sinks[i]->_cumulative_ack / packet;
    }
    for (size_t i = 0; i < queues.size(); i++)
        dropped += queues[i]->num_drops();
    std::cout << "{\"packets\": " << sent << ", \"lost_pkts\": " << dropped
              << ", \"goodput_mbps\": " << received * payload * 8 / duration / 1e6 << "}" << std::endl;
    return 0;
}
