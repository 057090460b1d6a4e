package plan

import "math"

const (
	// windowEntries is the number of entries without a read after which a home timeline is dropped, until its reader returns.
	windowEntries = 1000
	// followersInStep is how many followers a step of fan-out brings a post to, in one transaction.
	followersInStep = 100
	sectionFeed     = "Feed"
)

// feedLoad is what the feed does in the busiest second.
type feedLoad struct {
	posts, comments, likes float64
	homePages, postPages   float64
	entries                float64 // of home timelines, that fan-out writes
	pulled                 float64 // connected followers who are told of posts that are not written to home timelines
	hints                  float64 // to connections, of all new posts
	entriesOfAPost         float64
	transactions           float64 // of the SQL database, at least
}

// feed computes what posts need: the rate of each operation, fan-out by the curve of followers, storage, and traffic. The author of rank n has followers in
// proportion to n^-curve, and all authors publish equally often.
func (c *count) feed() {
	if c.in.Posts == 0 {
		return
	}
	c.feedRates()
	c.fanout()
	c.storedFeed()
	c.feedTraffic()
}

func (c *count) feedRates() {
	in, f := c.in, &c.load.feed
	for _, rate := range []struct {
		name  string
		at    *float64
		daily float64
	}{{"posts", &f.posts, in.Posts}, {"comments", &f.comments, in.Comments}, {"likes", &f.likes, in.Likes}, {"pages of home timelines", &f.homePages, in.HomePages}, {"pages of posts", &f.postPages, in.PostPages}} {
		*rate.at = in.DailyUsers * rate.daily / day * in.Peak
		c.line(sectionFeed, rate.name, *rate.at, "/s", words("%v daily × %v ÷ 86,400 s × %v at the peak", in.DailyUsers, rate.daily, in.Peak))
	}
	c.line(sectionFeed, "transactions for likes", f.likes/c.by["feed_likes_transaction"], "/s", words("%v likes in each, when many wait; fewer share one on many nodes with few likes each", c.by["feed_likes_transaction"]))
}

// fanout computes what a post costs beyond its row: entries in the home timelines of followers who read, and hints to those who are connected.
func (c *count) fanout() {
	in, f := c.in, &c.load.feed
	follows := in.Users * in.Following
	pulledAuthors := atLeast(in.PullAbove, follows, in.Users, in.Followers)
	ofPulled := 0.0
	if pulledAuthors > 0 {
		ofPulled = harmonic(math.Round(pulledAuthors*in.Users), in.Followers) / harmonic(in.Users, in.Followers)
	}
	connected := min(1, in.DailyUsers*in.Online/in.Users)
	f.entriesOfAPost = in.Following * (1 - ofPulled) * in.Readers
	f.entries = f.posts * f.entriesOfAPost
	f.transactions = f.posts*(2+in.Following*(1-ofPulled)/followersInStep) + f.comments + f.likes/c.by["feed_likes_transaction"]
	f.pulled = f.posts * in.Following * ofPulled * connected
	f.hints = f.posts * in.Following * connected * in.Devices
	c.line(sectionFeed, "authors who are pulled", pulledAuthors*100, "%", words("of %v, with at least %v followers, rank n in proportion to n^-%v; %v of %v follows are theirs", in.Users, in.PullAbove, in.Followers, percent(ofPulled), follows))
	c.line(sectionFeed, "entries of home timelines", f.entries, "/s", words("posts × %v followers × %v of follows × %v who read; none for those who are away", in.Following, percent(1-ofPulled), percent(in.Readers)))
	c.line(sectionFeed, "hints of new posts", f.hints, "/s", words("posts × %v followers × %v online × %v devices", in.Following, percent(connected), in.Devices))
}

// storedFeed adds rows, which are in the SQL database with each engine, and home timelines, which have a bound for each reader.
func (c *count) storedFeed() {
	in, rows := c.in, 0.0
	for _, of := range []struct {
		name, figure string
		daily        float64
	}{{"posts stored", "feed_bytes_post", in.Posts}, {"comments stored", "feed_bytes_comment", in.Comments}, {"likes stored", "feed_bytes_like", in.Likes}} {
		bytes := in.DailyUsers * of.daily * in.Retention * c.by[of.figure]
		c.line(sectionFeed, of.name, bytes, "B", words("%v a day × %v days × %v bytes", in.DailyUsers*of.daily, in.Retention, c.by[of.figure]))
		rows += bytes
	}
	follows := in.Users * in.Following * c.by["feed_bytes_follow"]
	c.line(sectionFeed, "follows stored", follows, "B", words("%v users × %v × %v bytes", in.Users, in.Following, c.by["feed_bytes_follow"]))
	rows += follows
	readers := in.Users * in.Readers
	entries := min(in.DailyUsers*in.Posts*c.load.feed.entriesOfAPost*in.Retention, readers*windowEntries)
	timelines := entries*c.by["feed_bytes_entry"] + readers*c.by["feed_bytes_base"]
	c.line(sectionFeed, "home timelines stored", timelines, "B", words("%v readers × %v bytes, and %v entries × %v bytes, at most %v of a reader", readers, c.by["feed_bytes_base"], entries, c.by["feed_bytes_entry"], float64(windowEntries)))
	c.sql += rows
	c.stored += rows + timelines
	if mega := c.feedMemory(); mega > 0 {
		c.line(sectionFeed, "memory for copies of rows", mega*1e6, "B", "of posts, counts and relations that many readers read, and the ends of home timelines; it has a bound")
	}
}

func (c *count) feedTraffic() {
	f, packet := c.load.feed, c.by["packet_bytes"]
	bits := 8 * (f.homePages*(c.by["feed_page_home"]+packet) + f.postPages*(c.by["feed_page_post"]+packet) + f.hints*(c.by["feed_hint"]+packet))
	c.line(sectionFeed, "to clients", bits, "bit/s", words("pages × %v and %v bytes, hints × %v, and %v of TLS, TCP and IP for each; pictures and videos are not included", c.by["feed_page_home"], c.by["feed_page_post"], c.by["feed_hint"], packet))
	c.plan.OutBits += bits
}

// feedCPU returns the cores of the feed by the figures with a prefix.
func (c *count) feedCPU(prefix string) float64 {
	f, by := c.load.feed, func(name string) float64 { return c.by[prefix+name] }
	return (f.posts*by("post") + f.comments*by("comment") + f.likes*by("like") + f.entries*by("entry") + f.homePages*by("home") + f.postPages*by("detail")) / 1e6
}

// feedNodes returns the cores of the nodes that the feed needs.
func (c *count) feedNodes() float64 {
	f, prefix := c.load.feed, "feed_node_"
	if c.plan.Engine == Embedded {
		prefix = "feed_cpu_"
	}
	cores := c.feedCPU(prefix) + f.pulled*c.by["feed_notice"]/1e6
	if c.plan.Engine == Cassandra {
		cores += f.entries * c.by["cassandra_client_entry"] / 1e6
	}
	return cores
}

// feedMemory returns the megabytes of a node for copies of rows. Only an embedded database has them.
func (c *count) feedMemory() float64 {
	if c.in.Posts == 0 || c.plan.Engine != Embedded {
		return 0
	}
	return c.by["feed_cache"]
}

// ofFeed describes the part of the feed in a line of cores.
func (c *count) ofFeed(cores float64) string {
	if c.in.Posts == 0 {
		return ""
	}
	return words(", and %v for the feed", counted(rounded(cores), "core", "cores"))
}

// warnOfFeed warns of what one database does for all nodes.
func (c *count) warnOfFeed() {
	if c.in.Posts == 0 {
		return
	}
	f := c.load.feed
	if f.likes > c.by["feed_likes_tried"] {
		c.warn(words("%v likes/s are more than the %v that were measured on one database, where most waited for each other: measure yours first", f.likes, c.by["feed_likes_tried"]))
	}
	if c.plan.Engine != Embedded {
		c.warn(words("posts, comments, likes and their pages stay in one PostgreSQL with each engine: at the peak %v pages/s, %v posts and comments/s, and %v transactions/s or more",
			f.homePages+f.postPages, f.posts+f.comments, f.transactions))
	}
	if f.entriesOfAPost*c.in.Posts*c.in.DailyUsers > c.in.Users*c.in.Readers*windowEntries {
		c.warn(words("more than %v posts a day are brought to a reader: home timelines are closed between two reads, and pages are then read from the rows, which costs several times as much", float64(windowEntries)))
	}
}
