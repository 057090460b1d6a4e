// Package plan computes the machines, memory, storage and bandwidth that a number of daily users needs, from figures that were measured
// on one node and on each engine. Each line of a plan shows its formula, and each figure its source.
//
// It only computes: it reads nothing except the files of measurements that it is given. Make is safe for concurrent use.
package plan

import (
	"math"
)

// Engine of the timelines.
type Engine string

// Engines.
const (
	Embedded  Engine = "embedded"
	Postgres  Engine = "postgres"
	Cassandra Engine = "cassandra"
	Auto      Engine = "auto" // the first of these that is sufficient
)

// Input of a plan. Shares are 0 to 1, sizes are in bytes.
type Input struct {
	Engine      Engine  `json:"engine"`
	DailyUsers  float64 `json:"daily_users"`
	Users       float64 `json:"users"` // registered users
	Online      float64 `json:"online"`
	Devices     float64 `json:"devices"`
	Messages    float64 `json:"messages"` // a day, for each daily user
	Peak        float64 `json:"peak"`
	Bytes       float64 `json:"bytes"`
	Groups      float64 `json:"groups"`
	GroupSize   float64 `json:"group_size"`
	Large       float64 `json:"large"`
	LargeSize   float64 `json:"large_size"`
	Attachments float64 `json:"attachments"`
	FileSize    float64 `json:"attachment_size"`
	Downloads   float64 `json:"downloads"`
	// Videos that each daily user uploads a day, and watches a day; VideoMinutes is how long one is. Popularity is the exponent of the curve.
	Videos       float64 `json:"videos"`
	VideoMinutes float64 `json:"video_minutes"`
	Watches      float64 `json:"watches"`
	Popularity   float64 `json:"popularity"`
	Viewers      float64 `json:"viewers"`
	EdgeDisk     float64 `json:"edge_disk"`
	// Posts, pages, likes and comments are a day, for each daily user. Following is whom a registered user follows on average, Followers the exponent of
	// the curve of followers, PullAbove from how many on an author is pulled, and Readers the share of registered users who have a home timeline.
	Posts     float64 `json:"posts"`
	HomePages float64 `json:"home_pages"`
	PostPages float64 `json:"post_pages"`
	Likes     float64 `json:"likes"`
	Comments  float64 `json:"comments"`
	Following float64 `json:"following"`
	Followers float64 `json:"follower_curve"`
	PullAbove float64 `json:"pull_above"`
	Readers   float64 `json:"readers"`

	Retention   float64 `json:"retention_days"`
	Use         float64 `json:"use"`
	Spare       float64 `json:"spare"`
	Zones       float64 `json:"zones"`
	Cores       float64 `json:"cores"`
	Memory      float64 `json:"memory"`
	Disk        float64 `json:"disk"`
	Network     float64 `json:"network"` // bits a second
	Connections float64 `json:"connections_per_node"`
	DBCores     float64 `json:"database_cores"`
	DBDisk      float64 `json:"database_disk"`
}

// Line of a plan: an amount and its formula.
type Line struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Amount  float64 `json:"amount"`
	Unit    string  `json:"unit"`
	How     string  `json:"how"`
}

// Plan is the result of Make.
type Plan struct {
	Input  Input  `json:"input"`
	Engine Engine `json:"engine"` // the engine used
	// Number of machines.
	Nodes          int `json:"nodes"`
	PostgresNodes  int `json:"postgres_nodes"`
	CassandraNodes int `json:"cassandra_nodes"`
	// StoredBytes of all copies of timelines and SQL data; FileBytes of attachments, without copies.
	StoredBytes float64 `json:"stored_bytes"`
	FileBytes   float64 `json:"file_bytes"`
	OutBits     float64 `json:"out_bits_per_s"`
	InBits      float64 `json:"in_bits_per_s"`
	BusBits     float64 `json:"bus_bits_per_s"`
	// Low is what the plan needs by the low end of each range that was measured. The numbers above are by the high ends.
	Low      Totals   `json:"low"`
	Lines    []Line   `json:"lines"`
	Warnings []string `json:"warnings"`
	Figures  []Figure `json:"figures"`
}

// Totals of a plan.
type Totals struct {
	Nodes          int     `json:"nodes"`
	PostgresNodes  int     `json:"postgres_nodes"`
	CassandraNodes int     `json:"cassandra_nodes"`
	StoredBytes    float64 `json:"stored_bytes"`
}

// Make computes a plan.
func Make(in Input, figures []Figure) *Plan {
	engines := []Engine{in.Engine}
	if in.Engine == Auto {
		engines = []Engine{Embedded, Postgres, Cassandra}
	}
	var p *Plan
	for _, e := range engines {
		c := compute(in, e, figures)
		p = c.plan
		if c.fits {
			break
		}
	}
	low := compute(in, p.Engine, lowEnds(figures)).plan
	p.Low = Totals{low.Nodes, low.PostgresNodes, low.CassandraNodes, low.StoredBytes}
	return p
}

// compute computes a plan for an engine.
func compute(in Input, e Engine, figures []Figure) *count {
	c := &count{in: in, by: byName(figures), plan: &Plan{Input: in, Engine: e, Figures: figures, Lines: []Line{}, Warnings: []string{}}}
	c.all()
	return c
}

// count is the state of a computation.
type count struct {
	in   Input
	by   map[string]float64
	plan *Plan
	load load
	fits bool // the engine is sufficient

	stored float64 // bytes of timelines and SQL data, one copy
	sql    float64 // of these, SQL data
}

// load at the peak; rates are per second unless noted.
type load struct {
	users, connections float64 // online
	messages           float64
	direct, small      float64 // messages to one user, to a group with inboxes
	large              float64 // messages to a large group
	entries            float64 // of inboxes
	deliveries         float64 // to connections, through inboxes
	largeDeliveries    float64
	feed               feedLoad
}

func (c *count) all() {
	c.fits = true
	c.measureLoad()
	c.store()
	c.traffic()
	c.video()
	c.feed()
	c.nodes()
	c.engine()
	c.warnOfLimits()
	c.warnOfFeed()
}

func (c *count) line(section, name string, amount float64, unit, how string) {
	c.plan.Lines = append(c.plan.Lines, Line{section, name, amount, unit, how})
}

func (c *count) warn(text string) { c.plan.Warnings = append(c.plan.Warnings, text) }

const day = 86_400

// measureLoad computes the load of the busiest second.
func (c *count) measureLoad() {
	const section = "Load at the peak"
	in, l := c.in, &c.load
	l.users = in.DailyUsers * in.Online
	l.connections = l.users * in.Devices
	l.messages = in.DailyUsers * in.Messages / day * in.Peak
	l.large, l.small = l.messages*in.Large, l.messages*in.Groups
	l.direct = l.messages - l.large - l.small
	l.entries = l.direct*2 + l.small*in.GroupSize
	l.deliveries = l.entries * in.Online * in.Devices
	l.largeDeliveries = l.large * in.LargeSize * in.Online * in.Devices
	c.line(section, "users online", l.users, "", words("%v daily × %v online", in.DailyUsers, percent(in.Online)))
	c.line(section, "connections", l.connections, "", words("users online × %v devices", in.Devices))
	c.line(section, "messages", l.messages, "/s", words("%v daily × %v messages ÷ 86,400 s × %v at the peak", in.DailyUsers, in.Messages, in.Peak))
	c.line(section, "entries of inboxes", l.entries, "/s", words("%v of messages to one × 2, %v to groups × %v members; including the sender's own", percent(1-in.Groups-in.Large), percent(in.Groups), in.GroupSize))
	c.line(section, "deliveries by inbox", l.deliveries, "/s", words("entries × %v online × %v devices", percent(in.Online), in.Devices))
	c.line(section, "deliveries of large groups", l.largeDeliveries, "/s", words("%v of messages × %v members × %v online × %v devices", percent(in.Large), in.LargeSize, percent(in.Online), in.Devices))
}

// distinct returns how many other nodes of n a number of independent draws hits, on average.
func distinct(n, draws float64) float64 {
	if n <= 1 {
		return 0
	}
	return (n - 1) * (1 - math.Pow(1-1/n, draws))
}

// bus returns the messages a second between n nodes if no batch had two of them.
func (c *count) bus(n float64) float64 {
	if c.plan.Engine == Embedded {
		return 0
	}
	l, in := c.load, c.in
	online := in.Online * in.Devices
	gives := l.direct*distinct(n, 2) + l.small*distinct(n, in.GroupSize)
	notices := l.direct*distinct(n, 2*online) + l.small*distinct(n, in.GroupSize*online) + l.large*distinct(n, in.LargeSize*online)
	return gives*2 + notices // a request and its answer
}
