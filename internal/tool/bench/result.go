package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// result of a run. Rates refer to the sending phase, counts to the whole run.
type result struct {
	Protocol      string  `json:"protocol"`
	Acked         uint64  `json:"acked"`
	Delivered     uint64  `json:"delivered"`
	AckedPerS     float64 `json:"acked_per_s"`
	DeliveredPerS float64 `json:"delivered_per_s"`
	AckP50        float64 `json:"ack_p50_ms"`
	AckP99        float64 `json:"ack_p99_ms"`
	AckP999       float64 `json:"ack_p999_ms"`
	DeliveryP50   float64 `json:"delivery_p50_ms"`
	DeliveryP99   float64 `json:"delivery_p99_ms"`
	DeliveryP999  float64 `json:"delivery_p999_ms"`
	Lost          uint64  `json:"lost"`
	Duplicated    uint64  `json:"duplicated"`
	Repeated      uint64  `json:"repeated"`
	Reordered     uint64  `json:"reordered"`
	Gaps          uint64  `json:"gaps"`
	Damaged       uint64  `json:"damaged"`
	Syncs         uint64  `json:"syncs"`
	// Of members who do not show their large group: messages that were pushed, entries of which they know by hints, and the hints of all members.
	Pushed uint64 `json:"pushed"`
	Hinted uint64 `json:"hinted"`
	Hints  uint64 `json:"hints"`
	// Reconnects after lost connections, and messages that were sent again.
	Reconnects uint64 `json:"reconnects"`
	Resent     uint64 `json:"resent"`
	// Without is the total time without any connection; AwayMax is the longest time of a client without one.
	Without float64 `json:"without_service_ms"`
	AwayMax float64 `json:"away_max_ms"`
	// History is the number of messages compared with the conversations' histories, in runs that lost connections.
	History     uint64  `json:"history"`
	Connections int     `json:"connections"`
	Window      int     `json:"window"`
	Rate        int     `json:"rate"`
	Bytes       int     `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	// ServerCPU is the server's CPU seconds for each million acknowledged messages if it runs on this machine, otherwise 0. With several
	// addresses it is the sum of their processes.
	ServerCPU float64 `json:"server_cpu_s_per_million"`
	// Nodes has the results by endpoint, if there are several.
	Nodes []nodeResult `json:"nodes,omitempty"`
	// Others has the conversations beside the load, with --others.
	Others *othersResult `json:"others,omitempty"`
	// Flapping compares the rate beside flapping connections with the rate before them, with --flapping.
	Flapping *flappingResult `json:"flapping,omitempty"`
	// Streams compares the times beside messages that grow with those before them, with --streams.
	Streams *streamsResult `json:"streams,omitempty"`
}

// result aggregates the clients' results after they have stopped.
func (l *load) result(took time.Duration, acked, delivered uint64) *result {
	r := &result{Protocol: l.config.protocol, Acked: l.acked(), Delivered: l.delivered(), AckedPerS: float64(acked) / took.Seconds(), DeliveredPerS: float64(delivered) / took.Seconds(),
		Connections: len(l.clients), Window: l.config.window, Rate: l.config.rate, Bytes: l.config.bytes, Seconds: took.Seconds()}
	l.disconnectAll() // after this, only this goroutine uses the clients
	var ack, delivery histogram
	for _, c := range l.clients {
		ack.merge(&c.ack)
		delivery.merge(&c.delivery)
		r.Duplicated += c.violations.duplicated
		r.Repeated += c.violations.repeated
		r.Reordered += c.violations.reordered
		r.Gaps += c.violations.gaps
		r.Damaged += c.violations.damaged
		r.Syncs += c.violations.syncs
		r.Reconnects += c.reconnects
		r.Resent += c.resent
		r.AwayMax = max(r.AwayMax, float64(c.away.Microseconds())/1000)
		c.countKnown(r)
		for _, s := range c.conversations {
			if s.known != nil {
				continue
			}
			for _, o := range l.clients {
				if o.to == s.conversation {
					r.Lost += o.acked.missing(s.from[o.number])
				}
			}
		}
	}
	r.Without = float64(l.outages.total().Microseconds()) / 1000
	r.Nodes = l.nodes()
	r.AckP50, r.AckP99, r.AckP999 = ack.quantile(0.5), ack.quantile(0.99), ack.quantile(0.999)
	r.DeliveryP50, r.DeliveryP99, r.DeliveryP999 = delivery.quantile(0.5), delivery.quantile(0.99), delivery.quantile(0.999)
	return r
}

// passed reports whether all guarantees held. In a cluster whose partitions move, an event may be delivered again, which devices detect
// by conversation and seq; a single node may repeat events only after a crash.
func (r *result) passed() bool {
	if r.Others != nil && !r.Others.Passed {
		return false
	}
	if r.Flapping != nil && !r.Flapping.Passed {
		return false
	}
	if r.Streams != nil && !r.Streams.Passed {
		return false
	}
	if r.Nodes == nil && r.Reconnects == 0 && r.Repeated > 0 {
		return false
	}
	return r.Lost+r.Duplicated+r.Reordered+r.Gaps+r.Damaged == 0 && r.Acked > 0
}

func (r *result) print(out io.Writer) {
	fmt.Fprintf(out, "acknowledged  %d (%.0f/s), p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n", r.Acked, r.AckedPerS, r.AckP50, r.AckP99, r.AckP999)
	fmt.Fprintf(out, "delivered     %d (%.0f/s), p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n", r.Delivered, r.DeliveredPerS, r.DeliveryP50, r.DeliveryP99, r.DeliveryP999)
	if r.Pushed+r.Hinted > 0 {
		fmt.Fprintf(out, "not shown     %d pushed, %d known by %d hints\n", r.Pushed, r.Hinted, r.Hints)
	}
	if r.Others != nil {
		r.Others.print(out)
	}
	if r.Flapping != nil {
		r.Flapping.print(out)
	}
	if r.Streams != nil {
		r.Streams.print(out)
	}
	if r.ServerCPU > 0 {
		fmt.Fprintf(out, "server CPU    %.1f s per million acknowledged\n", r.ServerCPU)
	}
	for _, n := range r.Nodes {
		fmt.Fprintf(out, "at %s: %d connections, acknowledged %d, delivered %d\n", n.URL, n.Connections, n.Acked, n.Delivered)
	}
	if r.Reconnects > 0 {
		fmt.Fprintf(out, "connections   %d reconnects; %.1f s without any in all, %.1f s at most for one client\n", r.Reconnects, r.Without/1000, r.AwayMax/1000)
	}
	if r.History > 0 {
		fmt.Fprintf(out, "histories     compared with %d acknowledged messages\n", r.History)
	}
	fmt.Fprintf(out, "checked       lost %d, duplicated %d, repeated %d, reordered %d, gaps %d, damaged %d, reconnects %d, resent %d\n", r.Lost, r.Duplicated, r.Repeated, r.Reordered, r.Gaps, r.Damaged, r.Reconnects, r.Resent)
}

// serverCPU finds the processes on this machine that listen on the URLs' ports, and returns a function that returns the CPU seconds they
// have used since; nil if a process cannot be found.
func serverCPU(bases []string) func() float64 {
	before := map[string]float64{}
	for _, base := range bases {
		pid := listener(base)
		used, ok := cpuOf(pid)
		if pid == "" || !ok {
			return nil
		}
		before[pid] = used
	}
	return func() (sum float64) {
		for pid, used := range before {
			now, ok := cpuOf(pid)
			if !ok {
				return 0
			}
			sum += now - used
		}
		return sum
	}
}

// cpuOf returns the CPU seconds of a process.
func cpuOf(pid string) (float64, bool) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100, err1 == nil && err2 == nil
}

// listener returns the process on this machine that listens on the URL's port, or "".
func listener(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return ""
	}
	inodes := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && inodes[to] {
			return strings.Split(l, "/")[2]
		}
	}
	return ""
}
