package app

import (
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/transport/gateway"
)

// read returns a function that reads a counter.
func read(counter *atomic.Int64) func() float64 {
	return func() float64 { return float64(counter.Load()) }
}

// registerConnectionMetrics registers the metrics of sockets, and of the requests that only receive.
func (n *Node) registerConnectionMetrics(stats *gateway.Stats) {
	telemetry.Gauge(n.registry, "connections", "Open sockets, event streams and long polls.", read(&stats.Connections))
	telemetry.Gauge(n.registry, "requests_held", "Event streams and long polls.", read(&stats.Held))
	telemetry.Count(n.registry, "connections_accepted_total", "Sockets accepted.", read(&stats.Accepted))
	telemetry.Count(n.registry, "connections_refused_total", "Handshakes refused.", read(&stats.Refused))
	telemetry.Count(n.registry, "connections_slow_total", "Connections closed because the client did not read.", read(&stats.Slow))
	telemetry.Count(n.registry, "connections_throttled_total", "Times that reading from a connection paused because its user was beyond the limits.", read(&stats.Throttled))
	telemetry.Count(n.registry, "connections_deferred_total", "Handshakes of clients without any state that were asked to connect later, because many others reconnect.", read(&stats.Deferred))
	telemetry.Count(n.registry, "connections_silent_total", "Connections closed because no heartbeat arrived.", read(&stats.Silent))
}

// registerListenerMetrics registers the metrics of the listener for HTTP, which edges have too.
func (n *Node) registerListenerMetrics() {
	telemetry.Gauge(n.registry, "connections_unauthenticated", "Connections whose clients have not authenticated.", func() float64 { return float64(n.unauthenticated.Count()) })
	telemetry.Count(n.registry, "connections_unauthenticated_refused_total", "Connections closed because too many were unauthenticated, of one address or in all.", func() float64 { return float64(n.unauthenticated.Refused()) })
	telemetry.Gauge(n.registry, "connections_http", "HTTP connections, and those that have not become WebSockets yet.", func() float64 { return float64(n.open.here.Load()) })
	telemetry.Gauge(n.registry, "connections_admitted_per_second", "New connections that the listener accepts at most.", func() float64 { return float64(n.admission.current.Load()) })
	telemetry.Count(n.registry, "connections_cut_total", "Connections closed because the process has too few file descriptors left.", func() float64 { return float64(n.open.refused.Load()) })
	telemetry.Gauge(n.registry, "file_requests", "Requests for files and pages in progress, and uploads.", func() float64 { return float64(n.fileRequests.Count()) })
	telemetry.Count(n.registry, "file_requests_refused_total", "Requests for files and pages refused because too many were in progress, of one address or in all.", func() float64 { return float64(n.fileRequests.Refused()) })
	telemetry.Gauge(n.registry, "http2_streams", "Open streams of HTTP/2.", func() float64 { return float64(n.streams.Count()) })
	telemetry.Count(n.registry, "http2_streams_refused_total", "Streams of HTTP/2 reset because too many were open, of one address or in all.", func() float64 { return float64(n.streams.Refused()) })
}

// registerMetrics registers the metrics of the services.
func (n *Node) registerMetrics() {
	stats := n.gateway.Stats()
	telemetry.ThisBuild().Info(n.registry)
	n.registry.MustRegister(n.calls, n.outgoing, n.jobs.Metrics(), n.caches.metrics, n.reconciliation)
	n.registerClusterMetrics()
	n.registerColdMetrics()
	n.registerFileCacheMetrics(n.fileCache)
	n.registerCounterMetrics()
	n.registerActivityMetrics()
	n.registerConnectionMetrics(stats)
	n.registerOverloadMetrics()
	n.registerLimitMetrics()
	n.registerTraceMetrics()
	telemetry.Gauge(n.registry, "users_online", "Users who are online, or disconnected less than the grace period ago.", func() float64 { return float64(n.directory.Online()) })
	telemetry.Gauge(n.registry, "input_bytes", "Bytes of incomplete input that the server buffers.", func() float64 { return float64(n.input.Used()) })
	telemetry.Gauge(n.registry, "input_bytes_limit", "Limit of the bytes of incomplete input.", func() float64 { return float64(n.input.Limit()) })
	telemetry.Count(n.registry, "input_refused_total", "Times that incomplete input was refused because its limit was reached.", func() float64 { return float64(n.input.Refused()) })
	n.registerListenerMetrics()
	telemetry.Count(n.registry, "frames_in_total", "Frames from clients.", read(&stats.FramesIn))
	telemetry.Count(n.registry, "sends_total", "Messages that clients sent, with retries.", read(&stats.Sends))
	telemetry.Gauge(n.registry, "sends_held", "Messages that the server could not store yet, and tries again.", read(&stats.SendsHeld))
	telemetry.Count(n.registry, "moderation_flags_dropped_total", "Texts with a word of a list that were not put into the queue of moderators, for lack of room.", func() float64 { return float64(n.moderation.DroppedFlags()) })
	telemetry.Count(n.registry, "sends_held_total", "Messages that were held because the server could not store them at once.", read(&stats.SendsHeldTotal))
	telemetry.Count(n.registry, "receipts_total", "Sends answered.", read(&stats.Receipts))
	telemetry.Count(n.registry, "events_total", "Events pushed to connections.", read(&stats.Events))
	telemetry.Count(n.registry, "hints_total", "Times that a slow connection was told to sync.", read(&stats.Hints))
	for how, counter := range map[string]*atomic.Int64{"pushed": &stats.LargePushed, "withheld": &stats.LargeWithheld} {
		telemetry.CountBy(n.registry, "large_group_pushes_total", "Pushes of large groups' messages to connections, and those that were left out because the group was hot.", "result", how, read(counter))
	}
	telemetry.Count(n.registry, "large_group_hints_total", "Hints to connections in place of hot groups' messages.", read(&stats.LargeHints))
	for to, counter := range map[string]*atomic.Int64{"hint": &stats.HeatRises, "push": &stats.HeatFalls} {
		telemetry.CountBy(n.registry, "large_group_switches_total", "Times that a large group was switched from pushes to hints, and back.", "to", to, read(counter))
	}
	telemetry.Gauge(n.registry, "large_groups_hot", "Large groups with followers on this node that get hints in place of pushes.", read(&stats.Hot))
	telemetry.Count(n.registry, "socket_bytes_in_total", "Bytes from sockets.", read(&stats.BytesIn))
	telemetry.Count(n.registry, "socket_bytes_out_total", "Bytes to sockets.", read(&stats.BytesOut))
	telemetry.Count(n.registry, "expired_total", "Messages removed after their retention time.", func() float64 { return float64(n.chat.ExpiredMessages()) })
	abandoned := n.officials.Abandoned()
	for what, counter := range map[string]*atomic.Int64{"message": &abandoned.Messages, "reply": &abandoned.Replies, "broadcast": &abandoned.Broadcasts} {
		telemetry.CountBy(n.registry, "official_accounts_given_up_total", "Messages, replies and broadcasts that official accounts gave up after too many attempts.", "what", what, read(counter))
	}
	n.registerVideoMetrics()
	telemetry.Count(n.registry, "ids_given_total", "IDs that the ID service issued.", func() float64 { return float64(n.ids.Given()) })
	telemetry.Gauge(n.registry, "ids_years_left", "Years until the time of a scheme of ids has no more bits.", n.ids.YearsLeft)
	telemetry.Count(n.registry, "deliveries_unknown_total", "Deliveries of other nodes of a kind that this release does not know.", func() float64 { return float64(uint64(stats.Unknown.Load()) + n.fanout.UnknownDeliveries()) })
	telemetry.Count(n.registry, "corrupt_skipped_total", "Corrupt entries of streams and conversations that syncs skipped; devices were told that they cannot be read.", func() float64 { return float64(n.inbox.CorruptSkipped()) })
	telemetry.Count(n.registry, "quarantined_total", "Corrupt entries, and entries of corrupt conversations, that the fan-out put into quarantine.", func() float64 { return float64(n.fanout.Quarantined()) })
	telemetry.Gauge(n.registry, "partitions_stopped", "Partitions of this node that have stopped because their fan-out records are corrupt.", func() float64 { return float64(n.fanout.StoppedPartitions()) })
	telemetry.Gauge(n.registry, "answers_waiting_bytes", "Bytes of answers that wait to be written.", func() float64 { return float64(n.answers.Held()) })
	telemetry.Count(n.registry, "answers_refused_total", "Answers refused because too many were waiting unread.", func() float64 { return float64(n.answers.Refused()) })
	telemetry.Count(n.registry, "answers_cut_total", "Answers over HTTP that were ended because their clients read nothing while much waited.", func() float64 { return float64(n.answers.Cut()) })
	telemetry.Gauge(n.registry, "database_damaged", "1 if damage was found in the database file of the data directory.", func() float64 {
		if n.damaged() != "" {
			return 1
		}
		return 0
	})
	for _, r := range ratelimit.Routes() {
		if r == ratelimit.Frame {
			continue // they wait, and are not refused
		}
		telemetry.CountBy(n.registry, "rate_limited_total", "Requests refused by a rate limit, by route.", "route", r.String(), func() float64 { return float64(n.limits.Refused(r)) })
	}
	telemetry.Count(n.registry, "fanout_entries_total", "Entries that the fan-out has dispatched.", func() float64 { return float64(n.fanout.Dispatched()) })
}

// registerVideoMetrics registers what videos cost, and what becomes of renditions on demand.
func (n *Node) registerVideoMetrics() {
	renditions := n.videos.Stats()
	for what, counter := range map[string]*atomic.Int64{"requested": &renditions.Requested, "popular": &renditions.Popular, "completed": &renditions.Completed, "failed": &renditions.Failed, "dropped": &renditions.Dropped} {
		telemetry.CountBy(n.registry, "video_renditions_on_demand_total", "Renditions on demand, by what: begun for a user, begun because a video became popular, completed, given up, deleted because nobody played them.", "what", what, read(counter))
	}
	for _, c := range n.videos.Costs() {
		telemetry.CountBy(n.registry, "video_processing_seconds_total", "Time that a part of videos took: a rendition, copied pictures, audio, images, or stages of the operator's own.", "part", c.Part, func() float64 { return float64(c.SpentMs.Load()) / 1000 })
		telemetry.CountBy(n.registry, "video_stored_bytes_total", "Bytes that were stored of a part of videos.", "part", c.Part, read(&c.Bytes))
		telemetry.CountBy(n.registry, "video_tasks_total", "Tasks of a part of videos that are done, such as chunks of a rendition.", "part", c.Part, read(&c.Tasks))
	}
}
