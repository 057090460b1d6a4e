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

// result of a run. Rates are of the time of sending; counts of all.
type result struct {
	Acked         uint64  `json:"acked"`
	Delivered     uint64  `json:"delivered"`
	AckedPerS     float64 `json:"acked_per_s"`
	DeliveredPerS float64 `json:"delivered_per_s"`
	AckP50        float64 `json:"ack_p50_ms"`
	AckP99        float64 `json:"ack_p99_ms"`
	DeliveryP50   float64 `json:"delivery_p50_ms"`
	DeliveryP99   float64 `json:"delivery_p99_ms"`
	Lost          uint64  `json:"lost"`
	Duplicated    uint64  `json:"duplicated"`
	Repeated      uint64  `json:"repeated"`
	Reordered     uint64  `json:"reordered"`
	Gaps          uint64  `json:"gaps"`
	Damaged       uint64  `json:"damaged"`
	Syncs         uint64  `json:"syncs"`
	Connections   int     `json:"connections"`
	Window        int     `json:"window"`
	Rate          int     `json:"rate"`
	Bytes         int     `json:"bytes"`
	Seconds       float64 `json:"seconds"`
	// ServerCPU is the server's CPU seconds for each million messages acknowledged, where it runs on this machine; else 0.
	// With several addresses it is of all their processes.
	ServerCPU float64 `json:"server_cpu_s_per_million"`
	// Nodes has what came of each address, where there are several.
	Nodes []nodeResult `json:"nodes,omitempty"`
}

// result gathers the clients' findings after they stood still.
func (l *load) result(took time.Duration, acked, delivered uint64) *result {
	r := &result{Acked: l.acked(), Delivered: l.delivered(), AckedPerS: float64(acked) / took.Seconds(), DeliveredPerS: float64(delivered) / took.Seconds(),
		Connections: len(l.clients), Window: l.config.window, Rate: l.config.rate, Bytes: l.config.bytes, Seconds: took.Seconds()}
	l.hangUp() // from here on all is this goroutine's
	var ack, delivery histogram
	highest := map[uint32]uint32{}
	for _, c := range l.clients {
		if c.to != nil {
			highest[c.number] = c.acked
		}
	}
	for _, c := range l.clients {
		ack.merge(&c.ack)
		delivery.merge(&c.delivery)
		r.Duplicated += c.faults.duplicated
		r.Repeated += c.faults.repeated
		r.Reordered += c.faults.reordered
		r.Gaps += c.faults.gaps
		r.Damaged += c.faults.damaged
		r.Syncs += c.faults.syncs
		for _, s := range c.rooms {
			for _, o := range l.clients {
				if o.to == s.room {
					r.Lost += s.from[o.number].missing(highest[o.number])
				}
			}
		}
	}
	r.Nodes = l.nodes()
	r.AckP50, r.AckP99 = ack.quantile(0.5), ack.quantile(0.99)
	r.DeliveryP50, r.DeliveryP99 = delivery.quantile(0.5), delivery.quantile(0.99)
	return r
}

// sound tells whether every promise held. Where partitions move between nodes an event may come again, which devices know by
// conversation and seq; one node repeats nothing while it runs.
func (r *result) sound() bool {
	if r.Nodes == nil && r.Repeated > 0 {
		return false
	}
	return r.Lost+r.Duplicated+r.Reordered+r.Gaps+r.Damaged == 0 && r.Acked > 0
}

func (r *result) print(out io.Writer) {
	fmt.Fprintf(out, "acknowledged  %d (%.0f/s), p50 %.2f ms, p99 %.2f ms\n", r.Acked, r.AckedPerS, r.AckP50, r.AckP99)
	fmt.Fprintf(out, "delivered     %d (%.0f/s), p50 %.2f ms, p99 %.2f ms\n", r.Delivered, r.DeliveredPerS, r.DeliveryP50, r.DeliveryP99)
	if r.ServerCPU > 0 {
		fmt.Fprintf(out, "server CPU    %.1f s per million acknowledged\n", r.ServerCPU)
	}
	for _, n := range r.Nodes {
		fmt.Fprintf(out, "at %s: %d connections, acknowledged %d, delivered %d\n", n.URL, n.Connections, n.Acked, n.Delivered)
	}
	fmt.Fprintf(out, "checked       lost %d, duplicated %d, repeated %d, reordered %d, gaps %d, damaged %d\n", r.Lost, r.Duplicated, r.Repeated, r.Reordered, r.Gaps, r.Damaged)
}

// serverCPU finds the processes that listen on the URLs' ports of this machine, and gives a function that says how many seconds
// of CPU they have used since; nil where one of them is not to be seen.
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

// cpuOf a process in seconds.
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

// listener gives the process on this machine that listens on the URL's port, "" when there is none to be seen.
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
