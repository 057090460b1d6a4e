package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Figure is a number used in plans.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	What  string  `json:"what"`
	// From is where it was measured, or why it is assumed.
	From string `json:"from"`
	// Low is the end of the measured range with the lowest cost, if it is not Value; else 0.
	Low float64 `json:"low,omitempty"`

	row   string // prefix of a row in a table of docs/performance.md
	quote string // part of that row with the number
}

// onPage returns a figure of a row in docs/performance.md.
func onPage(name string, value float64, unit, what, row, quote string) Figure {
	return Figure{Name: name, Value: value, Unit: unit, What: what, row: row, quote: quote}
}

const assumed = "assumed: "

// Machines of docs/performance.md.
const (
	machine      = "2 of 4 cores of a shared Xeon at 2.5 GHz"
	wholeMachine = "4 such cores, with the load on them too"
	feedMachine  = "2 shared cores of an AMD EPYC, with the load on them too"
)

// Figures returns the figures of docs/performance.md, which a test compares with the page, and the assumed ones.
func Figures() []Figure {
	f := []Figure{
		onPage("cpu_message", 31, "CPU s/million", "one node, for a message to one, stored and delivered", "the same, 1 in flight", "31 CPU s per million"),
		onPage("cluster_message", 258, "CPU s/million", "all nodes, for a message to one, where there are several", "three nodes, 4,000 messages/s", "258 CPU s per million"),
		onPage("cpu_entry", rounded(2e6/658_000), "CPU s/million", "a node, for each further entry of an inbox with its delivery", "100 groups of 100, all online, by inbox, 4 in flight in each", "658,000 deliveries/s"),
		onPage("cpu_large", 1, "CPU s/million", "a node, for a delivery of a large group", "1 to 1,000 members online of a large group, 8 in flight", "1.0 CPU s per million"),
		onPage("kb_connection", 0.8, "KB", "a node's memory for an idle connection, with presence and stream", "15,000 idle connections, authenticated, with presence and stream", "0.8 KB each"),
		onPage("connections_tried", 15_000, "", "connections on one node, as measured", "15,000 idle connections, authenticated, with presence and stream", "15,000"),
		onPage("memory_rest", 75, "MB", "a node's memory at rest", "binary; memory at rest, 75 s after its start", "75 MB"),
		onPage("stored_message", 199, "bytes", "embedded: on disk for a message of 200 bytes to one, inboxes too", "on disk for a message of 200 bytes, all copies", "199 bytes"),
		onPage("postgres_message", 78, "CPU s/million", "PostgreSQL: a message stored", "PostgreSQL, a message of 200 bytes", "78 CPU s per million"),
		onPage("postgres_entry", 35, "CPU s/million", "PostgreSQL: an entry of an inbox", "PostgreSQL, an entry of an inbox, 256 at once", "35 CPU s per million"),
		onPage("postgres_bytes_message", 485, "bytes", "PostgreSQL: on disk for a message of 200 bytes, with indexes", "PostgreSQL, a message of 200 bytes", "485 bytes"),
		onPage("postgres_bytes_entry", 123, "bytes", "PostgreSQL: on disk for an entry of an inbox", "PostgreSQL, an entry of an inbox, 256 at once", "123 bytes"),
		onPage("postgres_tried", 41_000, "messages/s", "PostgreSQL: messages stored a second, as measured", "2,048 in flight, 260 in a batch, fsync on", "41,000"),
		onPage("postgres_client_message", 10, "CPU s/million", "a node, for giving a message to PostgreSQL", "PostgreSQL, a message of 200 bytes", "10 CPU s of the node"),
		onPage("postgres_client_entry", 9, "CPU s/million", "a node, for giving an entry to PostgreSQL", "PostgreSQL, an entry of an inbox, 256 at once", "9 CPU s of the node"),
		onPage("cassandra_message", 10_800, "CPU s/million", "Cassandra: a message stored, all three copies", "Cassandra, a message of 200 bytes, three nodes", "10,800 CPU s per million"),
		onPage("cassandra_entry", 14_500, "CPU s/million", "Cassandra: an entry of an inbox, all three copies", "Cassandra, an entry of an inbox, three nodes", "14,500 CPU s per million"),
		onPage("cassandra_client_message", 340, "CPU s/million", "a node, for giving a message to Cassandra", "Cassandra, a message of 200 bytes, three nodes", "340 CPU s of the node"),
		onPage("cassandra_client_entry", 660, "CPU s/million", "a node, for giving an entry to Cassandra", "Cassandra, an entry of an inbox, three nodes", "660 CPU s of the node"),

		{Name: "cpu_bus", Value: 7, Unit: "CPU s/million", What: "nodes, for a message on the bus, both ends", From: "docs/decisions/0032-bus-by-nats.md: 7 µs a message"},
		{Name: "memory_caches", Value: 1000, Unit: "MB", What: "a node's caches, and queues that fill", From: assumed + "the bounds of the queues in docs/architecture.md come to a few hundred"},
		{Name: "kb_socket", Value: 4, Unit: "KB", What: "the kernel's memory for a quiet connection", From: assumed + "sockets without data on Linux"},
		{Name: "frame_bytes", Value: 60, Unit: "bytes", What: "a message's frame: ids, seqs, time", From: assumed + "docs/protocol.md"},
		{Name: "packet_bytes", Value: 90, Unit: "bytes", What: "IP, TCP and TLS of a packet, one message in each", From: assumed + "headers of IPv4 with timestamps, and a TLS record"},
		{Name: "receipt_bytes", Value: 40, Unit: "bytes", What: "a receipt", From: assumed + "docs/protocol.md"},
		{Name: "bus_bytes", Value: 100, Unit: "bytes", What: "a bus message beside its text: subject, frame, targets", From: assumed + "docs/formats/bus.md, docs/formats/entry.md"},
		{Name: "stored_entry", Value: 25, Unit: "bytes", What: "embedded: on disk for each further entry of an inbox", From: assumed + "18 of key and 12 of value before compression"},
		{Name: "cassandra_bytes_message", Value: 485, Unit: "bytes", What: "Cassandra: a message of 200 bytes, one copy", From: assumed + "as in PostgreSQL"},
		{Name: "cassandra_bytes_entry", Value: 123, Unit: "bytes", What: "Cassandra: an entry of an inbox, one copy", From: assumed + "as in PostgreSQL"},
		{Name: "video_cpu_low", Value: 25, Unit: "CPU s", What: "encoding a minute of 1080p30 up to 480p", From: assumed + "x264 veryfast with one thread, and a decoding for each size; rialto bench video measures yours"},
		{Name: "video_cpu_high", Value: 60, Unit: "CPU s", What: "encoding a minute of 1080p30 to 720p and 1080p", From: assumed + "as for video_cpu_low"},
		{Name: "video_mb_source", Value: 60, Unit: "MB", What: "a minute of a video as it was uploaded", From: assumed + "8 Mbit/s of a phone"},
		{Name: "video_mb_low", Value: 10, Unit: "MB", What: "a minute up to 480p, with sound", From: assumed + "the largest bit rates of the built-in pipeline at 30 frames/s"},
		{Name: "video_mb_high", Value: 60, Unit: "MB", What: "a minute in 720p and 1080p", From: assumed + "as for video_mb_low"},
		{Name: "video_mbit_watched", Value: 2, Unit: "Mbit/s", What: "what a viewer receives", From: assumed + "between 480p and 720p"},
		{Name: "bytes_user", Value: 4000, Unit: "bytes", What: "SQL data of a user", From: assumed + "some twenty rows with their indexes"},
	}
	f = append(f, feedFigures()...)
	for i := range f {
		f[i].Low = f[i].low()
		if f[i].row != "" {
			on := machine
			if f[i].Name == "cluster_message" || f[i].counts(Postgres) != f[i].counts(Cassandra) {
				on = wholeMachine
			}
			if strings.HasPrefix(f[i].Name, "feed_") && strings.HasPrefix(f[i].row, "PostgreSQL, ") {
				on = feedMachine
			}
			f[i].From = "docs/performance.md, " + f[i].row + ": " + f[i].quote + "; " + on
		}
	}
	return f
}

// low returns the other end of the range that was measured, or 0.
func (f Figure) low() float64 {
	switch f.Name {
	case "cluster_message":
		return 240
	case "stored_message":
		return 188
	case "postgres_message":
		return 47
	case "postgres_entry":
		return 21
	case "postgres_bytes_message", "cassandra_bytes_message":
		return 465
	case "postgres_bytes_entry", "cassandra_bytes_entry", "feed_bytes_entry":
		return 112
	case "postgres_client_message", "postgres_client_entry":
		return 6
	case "feed_node_detail":
		return 401
	case "feed_cpu_detail":
		return 117
	case "feed_cpu_like":
		return 84
	case "feed_likes_transaction":
		return 137
	}
	return 0
}

// lowEnds returns figures with the low ends of their ranges.
func lowEnds(figures []Figure) []Figure {
	low := slices.Clone(figures)
	for i, f := range low {
		if f.Low > 0 {
			low[i].Value = f.Low
		}
	}
	return low
}

// counts reports whether plans with an engine use a figure.
func (f Figure) counts(e Engine) bool {
	if f.Name == "cluster_message" || f.Name == "cpu_bus" || f.Name == "bus_bytes" {
		return e != Embedded
	}
	if strings.HasPrefix(f.Name, "feed_sql_") || strings.HasPrefix(f.Name, "feed_node_") {
		return e != Embedded
	}
	for prefix, of := range map[string]Engine{"cassandra_": Cassandra, "postgres_": Postgres, "stored_": Embedded, "cpu_message": Embedded, "feed_cpu_": Embedded, "feed_cache": Embedded} {
		if strings.HasPrefix(f.Name, prefix) {
			return e == of
		}
	}
	return true
}

// concerns reports whether plans with an input use a figure.
func (f Figure) concerns(in Input) bool {
	return (in.Videos > 0 || !strings.HasPrefix(f.Name, "video_")) && (in.Posts > 0 || !strings.HasPrefix(f.Name, "feed_"))
}

// rounded rounds to three significant digits.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return r
}

func byName(figures []Figure) map[string]float64 {
	m := make(map[string]float64, len(figures))
	for _, f := range figures {
		m[f.Name] = f.Value
	}
	return m
}

// replace replaces a figure by the user's own measurement.
func replace(figures []Figure, name string, value float64, from string) error {
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("unknown figure %q; rialto plan --figures lists them", name)
	}
	if !(value > 0 && value < 1e15) {
		return fmt.Errorf("the figure %s must be above 0, not %v", name, value)
	}
	figures[i].Value, figures[i].Low, figures[i].From = rounded(value), 0, from
	return nil
}

// measured reads the output of rialto bench chat --json or rialto bench idle --json.
func measured(figures []Figure, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r struct {
		KB          float64 `json:"kb_per_connection"`
		Connections float64 `json:"connections"`
		CPU         float64 `json:"server_cpu_s_per_million"`
		Acked       float64 `json:"acked"`
		Delivered   float64 `json:"delivered"`
		Nodes       []any   `json:"nodes"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s is not the output of rialto bench with --json: %w", file, err)
	}
	from := filepath.Base(file)
	switch {
	case r.KB != 0:
		if err := replace(figures, "kb_connection", r.KB, from); err != nil {
			return err
		}
		return replace(figures, "connections_tried", r.Connections, from)
	case r.Acked == 0:
		return fmt.Errorf("%s has neither acked nor kb_per_connection: it is not the output of rialto bench chat or idle", file)
	case r.CPU == 0:
		return fmt.Errorf("%s lacks the server's CPU time (server_cpu_s_per_million): run rialto bench chat on the server's machine", file)
	case r.Delivered > 1.5*r.Acked:
		return fmt.Errorf("%s was measured with groups or several devices, but plans need messages to one user: run rialto bench chat --pairs", file)
	}
	if len(r.Nodes) > 1 {
		return replace(figures, "cluster_message", r.CPU, from)
	}
	return replace(figures, "cpu_message", r.CPU, from)
}

// figure parses NAME=VALUE.
func figure(figures []Figure, text string) error {
	name, number, ok := strings.Cut(text, "=")
	value, err := parseNumber(number)
	if !ok || err != nil {
		return errors.New("want NAME=VALUE, such as kb_connection=1.1")
	}
	return replace(figures, name, value, "given by --figure")
}
