package plan

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func run(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = Main(args, &o, &e)
	return code, o.String(), e.String()
}

// TestPlansMatchStoredOnes compares plans of three sizes with stored ones. To write them again: rialto plan --daily-users N >
// internal/tool/plan/testdata/N.txt.
func TestPlansMatchStoredOnes(t *testing.T) {
	for _, size := range []string{"10k", "1m", "50m"} {
		want, err := os.ReadFile(filepath.Join("testdata", size+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if code, got, errOut := run("--daily-users", size); code != 0 || got != string(want) {
			t.Errorf("plan of %s: got exit code %d, errors %s, and a plan that differs from testdata:\n%s", size, code, errOut, got)
		}
	}
}

func planned(t interface{ Fatal(...any) }, args ...string) *Plan {
	code, out, errOut := run(append(args, "--json")...)
	p := &Plan{}
	if err := json.Unmarshal([]byte(out), p); code != 0 || err != nil {
		t.Fatal("rialto plan", args, "has the exit code", code, "want 0 and JSON:", errOut, err)
	}
	return p
}

// TestPlansMatchHandComputation compares plans with computations by hand.
func TestPlansMatchHandComputation(t *testing.T) {
	p := planned(t, "--daily-users", "10k")
	if p.Engine != Embedded || p.Nodes != 1 || p.PostgresNodes+p.CassandraNodes != 0 {
		t.Errorf("10k: got engine %s with %d nodes, %d of PostgreSQL, %d of Cassandra, want one embedded node", p.Engine, p.Nodes, p.PostgresNodes, p.CassandraNodes)
	}
	// 400,000 messages a day for 365 days of 199 bytes; 3 entries of 25 for 90 days; 30,000 users of 4,000.
	if want := 400e3*365*199.0 + 400e3*90*3*25 + 30e3*4000; abs(p.StoredBytes-want) > 1 {
		t.Errorf("10k: got %v bytes, want %v", p.StoredBytes, want)
	}
	if p = planned(t, "--daily-users", "1m"); p.Engine != Postgres || p.Nodes != 3 || p.PostgresNodes != 3 {
		t.Errorf("1m: got engine %s with %d nodes, %d of PostgreSQL", p.Engine, p.Nodes, p.PostgresNodes)
	}
	p = planned(t, "--daily-users", "50m")
	// 15 million connections, 200,000 on each node that remains when one zone of three is down.
	if p.Engine != Cassandra || p.Nodes != 3*38 || p.CassandraNodes < 3 || p.CassandraNodes%3 != 0 {
		t.Errorf("50m: got engine %s with %d nodes, %d of Cassandra, want 3 times 38 nodes and Cassandra", p.Engine, p.Nodes, p.CassandraNodes)
	}
	if want := 50e6 * 40 * 0.05 * 300e3 * 365; abs(p.FileBytes-want) > 1 {
		t.Errorf("50m: got %v bytes of files, want %v", p.FileBytes, want)
	}
	// A single node sends nothing over the bus.
	if p = planned(t, "--daily-users", "10k", "--engine", "postgres", "--zones", "1", "--spare", "0"); p.Nodes != 1 || p.BusBits != 0 {
		t.Errorf("one node on PostgreSQL: got %d nodes with %v bit/s between them, want 1 with 0", p.Nodes, p.BusBits)
	}
}

// TestVideosMatchHandComputation: four videos a day for a day, of one minute, watched 12.5 times, 6.25, 4.17 and 3.125 times by rank.
func TestVideosMatchHandComputation(t *testing.T) {
	p := planned(t, strings.Fields("--daily-users 4 --videos 1 --video-minutes 1 --watches 6.510416667 --popularity 1 --viewers 6 --retention 1 --peak 1 --edge-disk 140m")...)
	got := map[string]float64{}
	for _, l := range p.Lines {
		if l.Section == sectionVideo {
			got[l.Name] = l.Amount
		}
	}
	of := 12.5 + 6.25 + 12.5/3 + 3.125
	bits := of / 86_400 * 60 * 2e6
	for name, want := range map[string]float64{"uploads": 4, "watched by enough": 50, "encoding, all at once": 4 * 85 / 86_400.0, "encoding, on demand": 4 * (25 + 0.5*60) / 86_400.0, "workers for that": 1,
		"stored, all at once": 4 * 130e6, "stored, on demand": 4 * 100e6, "to viewers": bits, "of that, by edges": bits * 18.75 / of, "edges for that": 1, "from the other nodes": bits * (of - 18.75) / of} {
		if abs(got[name]-want) > want*1e-6 {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
	without := planned(t, strings.Fields("--daily-users 4 --retention 1 --peak 1")...)
	if want := without.FileBytes + 4*100e6; abs(p.FileBytes-want) > 1 {
		t.Errorf("got %v bytes of files, want %v", p.FileBytes, want)
	}
	if want := without.OutBits + bits*(of-18.75)/of; abs(p.OutBits-want) > 1e-3 {
		t.Errorf("got %v bit/s out, want %v", p.OutBits, want)
	}
}

// TestPopularity: the sums of long curves are right, and more viewers make fewer videos popular.
func TestPopularity(t *testing.T) {
	for _, s := range []float64{0.5, 0.8, 1, 1.3} {
		want := 0.0
		for n := 1.0; n <= 200_000; n++ {
			want += math.Pow(n, -s)
		}
		if got := harmonic(200_000.9, s); abs(got-want) > want*1e-6 {
			t.Errorf("exponent %v: got %v, want %v", s, got, want)
		}
		before := 1.0
		for _, viewers := range []float64{1, 10, 100, 1e6, 1e12} {
			share := atLeast(viewers, 1e7, 1e6, s)
			if share > before || share < 0 {
				t.Errorf("exponent %v: a share of %v has %v viewers, and %v fewer", s, share, viewers, before)
			}
			before = share
		}
		if before != 0 {
			t.Errorf("exponent %v: a share of %v has more viewers than there are", s, before)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

// TestThePageShowsWhatIsPrinted compares the table in capacity.md with the defaults.
func TestThePageShowsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"10k", "100k", "1m", "5m", "10m", "50m"} {
		p := planned(t, "--daily-users", size)
		row := fmt.Sprintf("| %s | %s | %d | %d | %d | %sB | %sB |\n", size, p.Engine, p.Nodes, p.PostgresNodes, p.CassandraNodes, number(p.StoredBytes), number(p.FileBytes))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/operating/capacity.md does not have: %s", row)
		}
	}
}

// TestChartMatchesTheDocument: to draw it again, run rialto plan --svg > docs/operating/capacity.svg.
func TestChartMatchesTheDocument(t *testing.T) {
	want, err := os.ReadFile("../../../docs/operating/capacity.svg")
	if err != nil {
		t.Fatal(err)
	}
	code, got, errOut := run("--svg")
	if code != 0 || got != string(want) {
		t.Errorf("docs/operating/capacity.svg differs from the output of rialto plan --svg: exit code %d, %s", code, errOut)
	}
	if err := xml.Unmarshal([]byte(got), new(struct{})); err != nil {
		t.Errorf("the chart is not XML: %v", err)
	}
	// Series without values, and a single engine, can be drawn too.
	for _, args := range []string{"--messages 0 --attachments 0", "--engine embedded", "--engine cassandra --daily-users 7"} {
		code, got, _ := run(append(strings.Fields(args), "--svg")...)
		if err := xml.Unmarshal([]byte(got), new(struct{})); code != 0 || err != nil || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("chart with %s: got exit code %d, XML error %v:\n%s", args, code, err, got)
		}
	}
}

// TestWarnings checks the warnings of plans that exceed an engine's capacity or what was measured.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ args, warning string }{
		{"--daily-users 50m --engine embedded", "one node is not enough"},
		{"--daily-users 50k --engine embedded", "the disk of one node is too small"},
		{"--daily-users 50m --engine postgres", "one PostgreSQL is not enough"},
		{"--daily-users 50m", "fan-out has 64 partitions, so 64 of 114 nodes"},
		{"--daily-users 50m", "--figure cassandra_message"},
		{"--daily-users 300m", "the 64 nodes that write inboxes would need 18.8 cores each for that, and may use 8"},
		{"--daily-users 50m", "moves a cursor there, up to 91,250 a second"},
		{"--daily-users 50m --retention 1 --engine postgres", "more than the 41,000 that were measured"},
		{"--daily-users 1m", "more than the 15,000 that were measured"},
		{"--daily-users 1m --zones 1", "all machines are in one zone"},
		{"--daily-users 1m --zones 2", "no majority"},
		{"--daily-users 1m --users 10k", "fewer registered users"},
	} {
		found := strings.Join(planned(t, strings.Fields(c.args)...).Warnings, "\n")
		if !strings.Contains(found, c.warning) {
			t.Errorf("plan %s: got warnings %s\nwant %q", c.args, found, c.warning)
		}
	}
	for _, quiet := range []string{"10k --engine postgres", "200k --engine cassandra --online 10% --connections-per-node 15k"} {
		if w := planned(t, append([]string{"--daily-users"}, strings.Fields(quiet)...)...).Warnings; len(w) > 1 {
			t.Errorf("plan %s: got warning %q, want none", quiet, w)
		}
	}
}

// TestWarningNamesTheCapacityOfPostgres: the number of users in the warning fits one PostgreSQL, and more do not.
func TestWarningNamesTheCapacityOfPostgres(t *testing.T) {
	in := Defaults()
	in.Engine, in.Users = Postgres, 1e6
	fits := func(users float64) bool {
		in.DailyUsers, in.Users = users, 3*users
		return !strings.Contains(strings.Join(Make(in, Figures()).Warnings, "\n"), "one PostgreSQL is not enough")
	}
	low, high := 1e4, 1e9
	for high/low > 1.001 {
		if mid := (low + high) / 2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	in.DailyUsers, in.Users = 40e6, 120e6
	want := fmt.Sprintf("it is enough for %s daily users", number(low))
	if w := strings.Join(Make(in, Figures()).Warnings, "\n"); !strings.Contains(w, want) {
		t.Errorf("got warning: %s\nwant: %s", w, want)
	}
}

// TestTotalsGrowWithTheLoad: no total of a plan falls when the load grows, and larger machines never increase their number.
func TestTotalsGrowWithTheLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Defaults()
		in.Engine = rapid.SampledFrom([]Engine{Auto, Postgres, Cassandra}).Draw(t, "engine")
		float := func(name string, least, most float64) float64 { return rapid.Float64Range(least, most).Draw(t, name) }
		in.DailyUsers = float("users", 1, 1e8)
		in.Users = 3 * in.DailyUsers
		in.Online, in.Devices, in.Messages = float("online", 0.001, 0.4), float("devices", 1, 3), float("messages", 0, 200)
		in.Peak, in.Bytes, in.GroupSize = float("peak", 1, 10), float("bytes", 1, 2000), float("size", 2, 250)
		in.Groups, in.Large, in.LargeSize = float("groups", 0, 0.4), float("large", 0, 0.2), float("large size", 500, 1e5)
		in.Attachments, in.FileSize, in.Retention = float("attachments", 0, 0.5), float("file", 0, 1e7), float("retention", 1, 2000)
		in.Posts, in.HomePages, in.Likes = float("posts", 0, 1), float("home pages", 0, 100), float("likes", 0, 100)
		in.Zones, in.Spare = float64(rapid.IntRange(1, 4).Draw(t, "zones")), float64(rapid.IntRange(0, 3).Draw(t, "spare"))
		less := Make(in, Figures())
		load := map[string]*float64{"users": &in.DailyUsers, "online": &in.Online, "devices": &in.Devices, "messages": &in.Messages, "peak": &in.Peak,
			"bytes": &in.Bytes, "group size": &in.GroupSize, "large size": &in.LargeSize, "attachments": &in.Attachments, "file size": &in.FileSize,
			"retention": &in.Retention, "spare": &in.Spare, "posts": &in.Posts, "home pages": &in.HomePages, "likes": &in.Likes}
		better := map[string]*float64{"cores": &in.Cores, "memory": &in.Memory, "disk": &in.Disk, "network": &in.Network, "use": &in.Use, "connections": &in.Connections,
			"database cores": &in.DBCores, "database disk": &in.DBDisk}
		grows := rapid.SampledFrom([]string{"load", "machine"}).Draw(t, "grows")
		if grows == "load" {
			what := rapid.SampledFrom([]string{"users", "online", "devices", "messages", "peak", "bytes", "group size", "large size", "attachments", "file size", "retention", "spare", "posts", "home pages", "likes"}).Draw(t, "what")
			if *load[what] *= 1 + float("growth", 0, 1); what == "spare" {
				in.Spare = float64(int(in.Spare))
			}
			more := Make(in, Figures())
			if more.Nodes < less.Nodes || more.StoredBytes < less.StoredBytes || more.FileBytes < less.FileBytes ||
				more.CassandraNodes < less.CassandraNodes || more.OutBits < less.OutBits || more.InBits < less.InBits {
				t.Fatalf("with a larger %s: got\n%+v, want at least\n%+v", what, more, less)
			}
			order := map[Engine]int{Embedded: 0, Postgres: 1, Cassandra: 2}
			if order[more.Engine] < order[less.Engine] {
				t.Fatalf("with a larger %s: got engine %s, a smaller one than %s", what, more.Engine, less.Engine)
			}
			return
		}
		what := rapid.SampledFrom([]string{"cores", "memory", "disk", "network", "use", "connections", "database cores", "database disk"}).Draw(t, "what")
		if *better[what] *= 1 + float("growth", 0, 1); what == "use" {
			in.Use = min(in.Use, 1)
		}
		more := Make(in, Figures())
		if more.Nodes > less.Nodes || more.CassandraNodes > less.CassandraNodes {
			t.Fatalf("with larger %s: got %d and %d nodes, with smaller %d and %d", what, more.Nodes, more.CassandraNodes, less.Nodes, less.CassandraNodes)
		}
	})
}

// TestLosingAZone: enough nodes for the peak remain when a zone or the spare nodes are down, and no more than needed.
func TestLosingAZone(t *testing.T) {
	for need := 1.0; need < 60; need++ {
		for zones := 1.0; zones < 6; zones++ {
			for spare := 0.0; spare < 4; spare++ {
				n := withSpare(need, zones, spare)
				if n-spare < need || zones > 1 && (n/zones*(zones-1) < need || int(n)%int(zones) != 0) {
					t.Errorf("got %v nodes, too few: need %v, %v zones, %v spare", n, need, zones, spare)
				}
				if less := n - zones; zones > 1 && less > 0 && less-spare >= need && less/zones*(zones-1) >= need {
					t.Errorf("got %v nodes, too many: need %v, %v zones, %v spare; %v are enough", n, need, zones, spare, less)
				}
			}
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--daily-users much", "not a number"},
		{"--daily-users -5", "not a number"},
		{"--daily-users 0", "--daily-users must be from 1"},
		{"--group-size 501", "--group-size must be from 2 to 500"},
		{"--groups 0.8 --large 0.3", "must not exceed 100% together"},
		{"--zones 2.5", "--zones must be a whole number"},
		{"--engine mysql", "the engines are embedded"},
		{"--figure kb=2", "unknown figure"},
		{"--figure kb_connection", "NAME=VALUE"},
		{"--figure kb_connection=0", "must be above 0"},
		{"50m", "unexpected argument"},
	} {
		if code, out, errOut := run(strings.Fields(c.args)...); code != 2 || out != "" || !strings.Contains(errOut, c.says) {
			t.Errorf("flags %s: got exit code %d, output %q, errors %q", c.args, code, out, errOut)
		}
	}
	if code, _, errOut := run("--measured", filepath.Join(t.TempDir(), "none.json")); code != 1 || !strings.Contains(errOut, "none.json") {
		t.Errorf("missing file: got exit code %d, errors %q", code, errOut)
	}
	if code, out, _ := run("--help"); code != 0 || !strings.Contains(out, "-daily-users users") {
		t.Errorf("help: got exit code %d, output %q", code, out)
	}
	if code, out, _ := run("--figures", "--figure", "kb_connection=2"); code != 0 || !strings.Contains(out, "given by --figure") {
		t.Errorf("figures: got exit code %d, output %q", code, out)
	}
}

func TestParseAndFormatNumbers(t *testing.T) {
	for text, want := range map[string]float64{"50m": 50e6, "1.5k": 1500, "2T": 2e12, "20%": 0.2, "1,000": 1000, "3g": 3e9, "0.5": 0.5, "7": 7} {
		if got, err := parseNumber(text); err != nil || abs(got-want) > 1e-9*want {
			t.Errorf("parse %s: got %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "k", "1kk", "nan", "inf", "0x10", "1e5", "1_000", "-1", "ten"} {
		if got, err := parseNumber(text); err == nil {
			t.Errorf("parse %q: got %v, want an error", text, got)
		}
	}
	for x, want := range map[float64]string{0: "0", 7: "7", 0.8: "0.8", 3.04: "3.04", 18.25: "18.2", 100: "100", 999: "999", 1389.4: "1,389", 65_000: "65,000", 1e6: "1 M", 12.34e6: "12.3 M",
		999_999.9: "1 M", 4e12: "4 T", 0.0123: "0.012", 10: "10", 200: "200"} {
		if got := number(x); got != want {
			t.Errorf("format %v: got %q, want %q", x, got, want)
		}
	}
}

// FuzzNumbers: parsed numbers are finite, and formatted ones can be parsed again.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"50m", "1.5k", "20%", "1,000", "9t", "0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseNumber(text)
		if err != nil || x > 9e14 {
			return
		}
		again, err := parseNumber(compact(x))
		if err != nil || abs(again-x) > 0.06*x+0.005 {
			t.Errorf("%q is parsed as %v and formatted as %q, which is parsed as %v (%v)", text, x, compact(x), again, err)
		}
	})
}
