package plan

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// amounts returns those of the lines of a section.
func (p *Plan) amounts(section string) map[string]float64 {
	all := map[string]float64{}
	for _, l := range p.Lines {
		if l.Section == section {
			all[l.Name] = l.Amount
		}
	}
	return all
}

func compare(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok || abs(g-w) > w*1e-6 {
			t.Errorf("%s, %s: got %v, want %v", what, name, g, w)
		}
	}
}

// smallFeed has four authors with 48, 24, 16 and 12 followers, of whom the first two are pulled. Half of all users have home timelines, and a fifth is online.
const smallFeed = "--daily-users 4 --users 4 --peak 1 --retention 1 --messages 0 --following 25 --follower-curve 1 --pull-above 20 --readers 0.5 --home-pages 5 --post-pages 3 --likes 86 --comments 6"

// rates of smallFeed, a second: 8 posts a day, each for 3.5 of 7 followers who are not those of pulled authors.
const (
	smallPosts, smallComments, smallLikes = 8 / 86_400.0, 24 / 86_400.0, 344 / 86_400.0
	smallHome, smallDetail                = 20 / 86_400.0, 12 / 86_400.0
	smallEntries                          = smallPosts * 3.5
	smallPulled                           = smallPosts * 25 * 0.72 * 0.2
)

func TestFeedMatchesHandComputation(t *testing.T) {
	by := byName(Figures())
	args := strings.Fields(smallFeed)
	without, p := planned(t, args...), planned(t, append(args, "--posts", "2")...)
	bits := 8 * (smallHome*(by["feed_page_home"]+90) + smallDetail*(by["feed_page_post"]+90) + smallPosts*7.5*(by["feed_hint"]+90))
	rows := 8*by["feed_bytes_post"] + 24*by["feed_bytes_comment"] + 344*by["feed_bytes_like"] + 100*by["feed_bytes_follow"]
	timelines := 28*by["feed_bytes_entry"] + 2*by["feed_bytes_base"]
	compare(t, "embedded", p.amounts(sectionFeed), map[string]float64{"posts": smallPosts, "comments": smallComments, "likes": smallLikes, "pages of home timelines": smallHome, "pages of posts": smallDetail,
		"transactions for likes": smallLikes / 135, "authors who are pulled": 50, "entries of home timelines": smallEntries, "hints of new posts": smallPosts * 7.5,
		"posts stored": 8 * by["feed_bytes_post"], "comments stored": 24 * by["feed_bytes_comment"], "likes stored": 344 * by["feed_bytes_like"], "follows stored": 100 * by["feed_bytes_follow"],
		"home timelines stored": timelines, "memory for copies of rows": 98e6, "to clients": bits})
	if len(without.amounts(sectionFeed)) > 0 {
		t.Errorf("without posts: got lines %v", without.amounts(sectionFeed))
	}
	cpu := (smallPosts*210 + smallComments*210 + smallLikes*104 + smallEntries*5.63 + smallHome*430 + smallDetail*129 + smallPulled*13.7) / 1e6
	compare(t, "embedded", map[string]float64{"CPU": p.amounts("Nodes")["CPU"], "stored": p.StoredBytes - without.StoredBytes, "out": p.OutBits - without.OutBits},
		map[string]float64{"CPU": cpu, "stored": rows + timelines, "out": bits})
}

// TestFeedOnSharedEngines: rows are in PostgreSQL with both engines, once for each server, and home timelines are with the timelines.
func TestFeedOnSharedEngines(t *testing.T) {
	by := byName(Figures())
	args := append(strings.Fields(smallFeed), "--posts", "2", "--engine")
	ops := func(prefix string) float64 {
		return (smallPosts*by[prefix+"post"] + smallComments*by[prefix+"comment"] + smallLikes*by[prefix+"like"] + smallEntries*by[prefix+"entry"] + smallHome*by[prefix+"home"] + smallDetail*by[prefix+"detail"]) / 1e6
	}
	rows := 8*by["feed_bytes_post"] + 24*by["feed_bytes_comment"] + 344*by["feed_bytes_like"] + 100*by["feed_bytes_follow"] + 4*by["bytes_user"]
	timelines := 28*by["feed_bytes_entry"] + 2*by["feed_bytes_base"]
	nodes := ops("feed_node_") + smallPulled*13.7/1e6
	p := planned(t, append(args, "postgres")...)
	compare(t, "nodes", p.amounts("Nodes"), map[string]float64{"CPU": nodes})
	compare(t, "on PostgreSQL", p.amounts("PostgreSQL"), map[string]float64{"disk of each": rows + timelines})
	if _, ok := p.amounts(sectionFeed)["memory for copies of rows"]; ok {
		t.Error("nodes on PostgreSQL have no copies of rows")
	}
	p = planned(t, append(args, "cassandra")...)
	compare(t, "nodes beside Cassandra", p.amounts("Nodes"), map[string]float64{"CPU": nodes + smallEntries*by["cassandra_client_entry"]/1e6})
	compare(t, "PostgreSQL beside Cassandra", p.amounts("PostgreSQL"), map[string]float64{"disk of each": rows, "CPU of the primary": ops("feed_sql_")})
	compare(t, "Cassandra", p.amounts("Cassandra"), map[string]float64{"disk": 3 * timelines, "CPU": smallEntries * by["cassandra_entry"] / 1e6})
}

// TestHomeTimelinesHaveABound: a reader has at most 1,000 entries, and those who are away have none.
func TestHomeTimelinesHaveABound(t *testing.T) {
	by := byName(Figures())
	args := append(strings.Fields(smallFeed), "--posts", "200", "--retention", "365")
	p := planned(t, args...)
	compare(t, "two readers", p.amounts(sectionFeed), map[string]float64{"home timelines stored": 2000*by["feed_bytes_entry"] + 2*by["feed_bytes_base"]})
	if w := strings.Join(p.Warnings, "\n"); !strings.Contains(w, "more than 1,000 posts a day are brought to a reader") {
		t.Errorf("1,400 posts a day for each reader: got warnings %s", w)
	}
	p = planned(t, append(args, "--readers", "0")...)
	compare(t, "no readers", p.amounts(sectionFeed), map[string]float64{"home timelines stored": 0, "entries of home timelines": 0})
}

// TestFeedWarnings: one PostgreSQL has the rows of the feed, whatever the engine of timelines.
func TestFeedWarnings(t *testing.T) {
	for _, c := range []struct{ args, warning string }{
		{"--daily-users 50m --posts 0.2 --likes 20", "likes/s are more than the 24,000 that were measured"},
		{"--daily-users 50m --posts 0.2", "one PostgreSQL is not enough"},
		{"--daily-users 50m --posts 0.2", "its SQL data cannot be distributed yet"},
		{"--daily-users 1m --posts 0.2", "stay in one PostgreSQL with each engine"},
	} {
		if found := strings.Join(planned(t, strings.Fields(c.args)...).Warnings, "\n"); !strings.Contains(found, c.warning) {
			t.Errorf("plan %s: got warnings %s\nwant %q", c.args, found, c.warning)
		}
	}
	few := strings.Join(planned(t, strings.Fields("--daily-users 10k --posts 0.2 --engine embedded")...).Warnings, "\n")
	if strings.Contains(few, "likes/s") || strings.Contains(few, "PostgreSQL with each engine") || strings.Contains(few, "brought to a reader") {
		t.Errorf("a small feed on one node: got warnings %s", few)
	}
}

// TestTotalsHaveRanges: the low ends of measured ranges give the first number, and a measurement of one's own has no range.
func TestTotalsHaveRanges(t *testing.T) {
	p := planned(t, "--daily-users", "50m")
	// Only the bytes of messages and entries have a range there: 112 and 465 of 123 and 485.
	messages, inboxes, records := 2e9*365*465.0, 2e9*90*(0.69*2+0.3*10)*112, 150e6*4000.0
	if want := (messages+inboxes)*3 + records*3; abs(p.Low.StoredBytes-want) > want*1e-9 {
		t.Errorf("got at least %v bytes, want %v", p.Low.StoredBytes, want)
	}
	if p.Low.Nodes != p.Nodes || p.Low.CassandraNodes != p.CassandraNodes {
		t.Errorf("got %d to %d nodes, %d to %d of Cassandra; want as many for their connections, and for CPU time that was measured once", p.Low.Nodes, p.Nodes, p.Low.CassandraNodes, p.CassandraNodes)
	}
	// By their CPU time, a message of 240 to 258 CPU s per million needs 61.8 to 62.1 nodes in two of three zones.
	_, out, _ := run("--daily-users", "100m", "--connections-per-node", "10m")
	if want := "93 to 96 nodes, 3 of PostgreSQL, 1,938 of Cassandra; 2.57 PB to 2.71 PB of"; !strings.Contains(out, want) {
		t.Errorf("got %s\nwant %q", out[:strings.IndexByte(out, 10)], want)
	}
	own := planned(t, "--daily-users", "50m", "--figure", "cassandra_bytes_message=485", "--figure", "cassandra_bytes_entry=123")
	if own.Low.StoredBytes != own.StoredBytes || own.StoredBytes != p.StoredBytes {
		t.Errorf("with measurements of one's own: got %v to %v bytes, want %v", own.Low.StoredBytes, own.StoredBytes, p.StoredBytes)
	}
}

// TestThePageShowsTheFeed compares the table of the feed in capacity.md with plans.
func TestThePageShowsTheFeed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"10k", "100k", "1m", "10m", "50m"} {
		p := planned(t, "--daily-users", size, "--posts", "0.2")
		feed, cpu := p.amounts(sectionFeed), "none"
		if cores, ok := p.amounts("PostgreSQL")["CPU of the primary"]; ok {
			cpu = number(cores) + " cores"
		}
		row := fmt.Sprintf("| %s | %s | %s/s | %s/s | %s/s | %s/s | %s | %s |\n", size, p.Engine, number(feed["posts"]), number(feed["entries of home timelines"]),
			number(feed["pages of home timelines"]+feed["pages of posts"]), number(feed["likes"]), cpu, between(number(float64(p.Low.Nodes)), number(float64(p.Nodes))))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/operating/capacity.md does not have: %s", row)
		}
	}
}
