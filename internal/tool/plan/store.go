package plan

import (
	"math"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

const (
	partitions = timeline.Partitions
	// inboxDays is the default retention of inbox entries (inbox.max_age).
	inboxDays = 90
	// full is the maximum share of a disk that is used: compaction, vacuum and growth need the rest.
	full = 0.7
	// fullCassandra leaves space for compacting the largest tables.
	fullCassandra = 0.5
	copies        = 3 // copies of Cassandra
)

// store computes the stored bytes: messages for their retention, and inbox entries.
func (c *count) store() {
	section, in := "Storage", c.in
	each, entry := c.by["stored_message"], c.by["stored_entry"]
	further := true // entries beyond the two in the figure of a message
	switch c.plan.Engine {
	case Postgres:
		each, entry, further = c.by["postgres_bytes_message"], c.by["postgres_bytes_entry"], false
	case Cassandra:
		each, entry, further = c.by["cassandra_bytes_message"], c.by["cassandra_bytes_entry"], false
	}
	each += max(in.Bytes, 100) - 200
	daily := in.DailyUsers * in.Messages
	entries := (1-in.Groups-in.Large)*2 + in.Groups*in.GroupSize
	if further {
		entries = in.Groups * in.GroupSize
	}
	messages := daily * in.Retention * each
	inboxes := daily * min(in.Retention, inboxDays) * entries * entry
	records := in.Users * c.by["bytes_user"]
	c.stored, c.sql = messages+inboxes+records, records
	c.line(section, "messages", messages, "B", words("%v a day × %v days × %v bytes, for texts of %v", daily, in.Retention, each, in.Bytes))
	c.line(section, "inboxes", inboxes, "B", words("%v a day × %v days × %v entries × %v bytes%v", daily, min(in.Retention, inboxDays), entries, entry, alone(further)))
	c.line(section, "records", records, "B", words("%v users × %v bytes: accounts, sessions, friends, members, cursors", in.Users, c.by["bytes_user"]))
	c.plan.FileBytes = daily * in.Attachments * in.FileSize * in.Retention
	c.line(section, "files", c.plan.FileBytes, "B", words("%v of messages × %v × %v days", percent(in.Attachments), bytesWord(in.FileSize), in.Retention))
}

func alone(further bool) string {
	if further {
		return "; those of messages to one user are included in messages"
	}
	return ""
}

// engine computes the machines of the engines.
func (c *count) engine() {
	switch c.plan.Engine {
	case Embedded:
		c.plan.StoredBytes = c.stored
		c.line("Engine", "disk of the node", c.stored+c.plan.FileBytes, "B", words("timelines, SQL data and files; a disk of %v is used to %v", bytesWord(c.in.Disk), percent((c.stored+c.plan.FileBytes)/c.in.Disk)))
		if c.stored+c.plan.FileBytes > c.in.Disk*full {
			c.fits = false
			c.warn(words("the disk of one node is too small: %v are stored, and %v may be used to %v; choose a larger one, files on S3, or --engine postgres",
				bytesWord(c.stored+c.plan.FileBytes), bytesWord(c.in.Disk), percent(full)))
		}
	case Postgres:
		c.postgres(c.load.messages, c.load.entries, c.stored)
	case Cassandra:
		c.cassandra()
		c.postgres(0, 0, c.sql)
	}
}

// postgres computes a primary, which takes all writes, and standbys.
func (c *count) postgres(messages, entries, bytes float64) {
	const section = "PostgreSQL"
	in := c.in
	standbys := 1.0
	if in.Zones > 2 {
		standbys = 2
	}
	feed := c.feedCPU("feed_sql_")
	cores := (messages*c.by["postgres_message"]+entries*c.by["postgres_entry"])/1e6 + feed
	share := cores / (in.DBCores * in.Use)
	disk := bytes / (in.DBDisk * full)
	c.plan.PostgresNodes = int(1 + standbys)
	c.plan.StoredBytes += bytes * (1 + standbys)
	limit := words("%v of %v cores may be used: %v of that", percent(in.Use), in.DBCores, percent(share))
	switch {
	case messages > 0:
		c.line(section, "CPU of the primary", cores, "cores", words("%v CPU s a million messages, %v a million entries%v; %v", c.by["postgres_message"], c.by["postgres_entry"], c.ofFeed(feed), limit))
	case feed > 0:
		c.line(section, "CPU of the primary", cores, "cores", words("for the feed; %v", limit))
	}
	c.line(section, "disk of each", bytes, "B", words("of %v, which may be used to %v: %v of that", bytesWord(in.DBDisk), percent(full), percent(disk)))
	c.line(section, "servers", 1+standbys, "", "a primary, and a synchronous standby"+map[bool]string{true: ", and another one so that two remain without a zone", false: ""}[standbys > 1])
	if most := max(share, disk); most > 1 {
		c.fits = false
		then := "for more, use --engine cassandra"
		if c.plan.Engine == Cassandra {
			then = "its SQL data cannot be distributed yet"
		}
		c.warn(words("one PostgreSQL is not enough: %v; it is enough for %v daily users; %v", reason(share, disk), in.DailyUsers/most, then))
	}
	if messages > c.by["postgres_tried"] {
		c.warn(words("%v messages/s are more than the %v that were measured on one PostgreSQL with four shared cores: measure yours first", messages, c.by["postgres_tried"]))
	}
}

func reason(share, disk float64) string {
	if share > disk {
		return words("its CPU would be used to %v of the limit", percent(share))
	}
	return words("its disk would be used to %v of the limit", percent(disk))
}

func (c *count) cassandra() {
	const section = "Cassandra"
	in := c.in
	bytes := (c.stored - c.sql) * copies
	c.plan.StoredBytes += bytes
	feed := c.load.feed.entries * c.by["cassandra_entry"] / 1e6
	cores := (c.load.messages*c.by["cassandra_message"]+c.load.entries*c.by["cassandra_entry"])/1e6 + feed
	byCPU, byDisk := cores/(in.Cores*in.Use), bytes/(in.Disk*fullCassandra)
	least := max(copies, math.Ceil(byCPU-1e-9))
	n := max(withSpare(least, in.Zones, in.Spare), in.Zones*math.Ceil(byDisk/in.Zones-1e-9)) // disks keep their data while other machines are down
	c.plan.CassandraNodes = int(n)
	c.line(section, "CPU", cores, "cores", words("%v CPU s a million messages, %v a million entries, all copies%v; needs %v", c.by["cassandra_message"], c.by["cassandra_entry"], c.ofFeed(feed), nodesWord(byCPU)))
	c.line(section, "disk", bytes, "B", words("%v copies; a disk of %v in each, which may be used to %v; needs %v", float64(copies), bytesWord(in.Disk), percent(fullCassandra), nodesWord(byDisk)))
	c.line(section, "nodes", n, "", words("%v for the peak; a zone, or %v, may be down; and enough disks", nodesWord(least), nodesWord(in.Spare)))
	c.warn(words("SQL data stays in one PostgreSQL, and each read message moves a cursor there, up to %v a second before batching: that was not measured", c.load.deliveries))
	if byCPU > copies {
		c.warn("Cassandra's figures were measured on three small nodes that shared four busy cores, a minute after their start: they are far too high for dedicated machines. Measure your own, and pass them with --figure cassandra_message=… and cassandra_entry=…")
	}
}
