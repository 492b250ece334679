// A dumbbell in ns-3: dumbbell --KEY=VALUE for every argument below. Point-to-point links with drop-tail queues, no
// traffic control, no trace but a count of the drops.

#include <iostream>
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

using namespace ns3;

static uint64_t dropped;

static void OnDrop(Ptr<const Packet>)
{
	dropped++;
}

static Ipv4InterfaceContainer Connect(Ptr<Node> a, Ptr<Node> b, double mbps, double delayMs, uint32_t bufferPkts)
{
	static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
	PointToPointHelper link;
	// Then there is no queue but the device's.
	link.DisableFlowControl();
	link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(mbps * 1e6))));
	link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(int64_t(delayMs * 1e6))));
	link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, bufferPkts)));
	NetDeviceContainer devices = link.Install(a, b);
	for (uint32_t i = 0; i < 2; i++)
		DynamicCast<PointToPointNetDevice>(devices.Get(i))->GetQueue()->TraceConnectWithoutContext(
			"Drop", MakeCallback(&OnDrop));
	Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
	addresses.NewNetwork();
	return interfaces;
}

int main(int argc, char **argv)
{
	std::string cca;
	double rate, delay, accessRate, accessDelay, stagger, duration;
	uint32_t buffer, accessBuffer, flows, payload;
	CommandLine args;
	args.AddValue("cca", "type of the algorithm", cca);
	args.AddValue("rate", "Mbps", rate);
	args.AddValue("delay", "ms", delay);
	args.AddValue("buffer", "packets", buffer);
	args.AddValue("access_rate", "Mbps", accessRate);
	args.AddValue("access_delay", "ms", accessDelay);
	args.AddValue("access_buffer", "packets", accessBuffer);
	args.AddValue("flows", "how many", flows);
	args.AddValue("stagger", "ms", stagger);
	args.AddValue("payload", "bytes", payload);
	args.AddValue("duration", "s", duration);
	args.Parse(argc, argv);

	Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cca)));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 30));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 30));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

	NodeContainer routers(2), senders(flows), receivers(flows);
	InternetStackHelper internet;
	internet.Install(routers);
	internet.Install(senders);
	internet.Install(receivers);
	// A queue of ns-3 does not count the packet that is being sent.
	Connect(routers.Get(0), routers.Get(1), rate, delay, buffer - 1);
	ApplicationContainer sinks;
	for (uint32_t i = 0; i < flows; i++) {
		Connect(senders.Get(i), routers.Get(0), accessRate, accessDelay, accessBuffer);
		auto to = Connect(routers.Get(1), receivers.Get(i), accessRate, accessDelay, accessBuffer);
		InetSocketAddress address(to.GetAddress(1), 5000);
		sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", address).Install(receivers.Get(i)));
		BulkSendHelper source("ns3::TcpSocketFactory", address);
		source.SetAttribute("SendSize", UintegerValue(payload));
		source.Install(senders.Get(i)).Start(NanoSeconds(int64_t(i * stagger * 1e6)));
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();
	Simulator::Stop(Seconds(duration));
	Simulator::Run();

	uint64_t received = 0;
	for (uint32_t i = 0; i < flows; i++)
		received += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
	std::cout << "{\"packets\": " << received / payload + dropped << ", \"lost_pkts\": " << dropped
		  << ", \"goodput_mbps\": " << received * 8 / duration / 1e6 << "}" << std::endl;
	Simulator::Destroy();
	return 0;
}
