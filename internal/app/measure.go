package app

import (
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/telemetry"
)

// measure registers the rooms' figures.
func (h *House) measure() {
	stats := h.gateway.Stats()
	h.measureNodes()
	read := func(n *atomic.Int64) func() float64 { return func() float64 { return float64(n.Load()) } }
	telemetry.Gauge(h.registry, "connections", "Open sockets.", read(&stats.Connections))
	telemetry.Gauge(h.registry, "users_online", "Users who are online, or left a moment ago.", func() float64 { return float64(h.presence.Online()) })
	telemetry.Count(h.registry, "connections_accepted_total", "Sockets accepted.", read(&stats.Accepted))
	telemetry.Count(h.registry, "connections_refused_total", "Handshakes refused.", read(&stats.Refused))
	telemetry.Count(h.registry, "frames_in_total", "Frames from clients.", read(&stats.FramesIn))
	telemetry.Count(h.registry, "sends_total", "Messages that clients sent, with retries.", read(&stats.Sends))
	telemetry.Count(h.registry, "receipts_total", "Sends answered.", read(&stats.Receipts))
	telemetry.Count(h.registry, "events_total", "Events pushed to connections.", read(&stats.Events))
	telemetry.Count(h.registry, "hints_total", "Times that a slow connection was told to pull.", read(&stats.Hints))
	telemetry.Count(h.registry, "connections_slow_total", "Connections closed because they took nothing.", read(&stats.Slow))
	telemetry.Count(h.registry, "connections_silent_total", "Connections closed because no heartbeat came.", read(&stats.Silent))
	telemetry.Count(h.registry, "socket_bytes_in_total", "Bytes from sockets.", read(&stats.BytesIn))
	telemetry.Count(h.registry, "socket_bytes_out_total", "Bytes to sockets.", read(&stats.BytesOut))
	telemetry.Count(h.registry, "expired_total", "Messages removed after their time.", func() float64 { return float64(h.chat.Removed()) })
	telemetry.Count(h.registry, "ids_given_total", "Ids that the id service gave.", func() float64 { return float64(h.ids.Given()) })
	telemetry.Gauge(h.registry, "ids_years_left", "Years until the time of a scheme of ids has no more bits.", h.ids.YearsLeft)
	telemetry.Count(h.registry, "deliveries_unknown_total", "Deliveries of other nodes of a kind that this release does not know.", func() float64 { return float64(uint64(stats.Unknown.Load()) + h.fanout.Unknown()) })
	telemetry.Count(h.registry, "passed_total", "Places of streams and conversations that are damaged, and that devices were told cannot be read.", func() float64 { return float64(h.inbox.Passed()) })
	telemetry.Count(h.registry, "set_aside_total", "Entries that are damaged, or whose conversation is, and were not carried.", func() float64 { return float64(h.fanout.SetAside()) })
	telemetry.Gauge(h.registry, "partitions_stopped", "Partitions of this node that go no further, since their records are damaged.", func() float64 { return float64(h.fanout.Stopped()) })
	telemetry.Count(h.registry, "carried_total", "Entries carried by fan-out.", func() float64 { return float64(h.fanout.Carried()) })
}
