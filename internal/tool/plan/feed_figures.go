package plan

// feedFigures returns the figures of the feed.
func feedFigures() []Figure {
	const (
		post, comment = "PostgreSQL, a post of 200 bytes", "PostgreSQL, a comment of 50 bytes"
		like, follow  = "PostgreSQL, a like, 200 at once", "PostgreSQL, a follow"
		home          = "PostgreSQL, the first page of a home timeline"
		announced     = "15,000 connected followers of a pulled author with 1,000,000 (200,000) told of a new post, with the commit of the post (`FEED_FOLLOWERS`, `FEED_ONLINE`, `-bench Announce`)"
	)
	return []Figure{
		onPage("feed_cpu_post", 210, "CPU s/million", "embedded: a post published", "a post published, without a disk that syncs", "0.21 ms"),
		onPage("feed_cpu_entry", 5.63, "CPU s/million", "embedded: an entry of a home timeline", "the same, with followers in one row, and steps of five batches", "56.3 ms"),
		onPage("feed_cpu_home", 430, "CPU s/million", "embedded: a page of 20 posts of a home timeline", "first page of 20 posts, from the window", "0.43 ms"),
		onPage("feed_cpu_detail", 129, "CPU s/million", "embedded: a page of a post with comments", "the same, by a call as sockets make it, decoded and encoded", "129, 128 and 117 µs"),
		onPage("feed_cpu_like", 104, "CPU s/million", "embedded: a like, with its client", "a like, with 78 allocations instead of 133", "104 µs, on a busier machine"),
		onPage("feed_notice", 13.7, "CPU s/million", "a node, for telling a connected follower of a pulled author of a post", announced, "206 ms (150 ms)"),
		onPage("feed_likes_transaction", 135, "", "likes in a transaction, when many wait", "the same, on a disk that syncs", "135 |"),
		onPage("feed_sql_post", 1780, "CPU s/million", "PostgreSQL: a post published", post, "1,780 CPU s per million"),
		onPage("feed_sql_comment", 2220, "CPU s/million", "PostgreSQL: a comment", comment, "2,220 CPU s per million"),
		onPage("feed_sql_like", 53, "CPU s/million", "PostgreSQL: a like", like, "53 CPU s per million"),
		onPage("feed_sql_home", 525, "CPU s/million", "PostgreSQL: a page of 20 posts of a home timeline", home, "525 CPU s per million"),
		onPage("feed_node_post", 2230, "CPU s/million", "a node on PostgreSQL: a post published", post, "2,230 CPU s of the node"),
		onPage("feed_node_comment", 2920, "CPU s/million", "a node on PostgreSQL: a comment", comment, "2,920 CPU s of the node"),
		onPage("feed_node_like", 56, "CPU s/million", "a node on PostgreSQL: a like", like, "56 CPU s of the node"),
		onPage("feed_node_home", 727, "CPU s/million", "a node on PostgreSQL: a page of 20 posts of a home timeline", home, "727 CPU s of the node"),
		onPage("feed_node_detail", 663, "CPU s/million", "a node on PostgreSQL: a page of a post with comments, as with SQLite without copies of rows", "the page", "663 µs"),
		onPage("feed_bytes_post", 758, "bytes", "SQL: a post of 200 bytes, with indexes", post, "758 bytes"),
		onPage("feed_bytes_comment", 799, "bytes", "SQL: a comment of 50 bytes, with indexes", comment, "799 bytes"),
		onPage("feed_bytes_like", 250, "bytes", "SQL: a like, with indexes", like, "250 bytes"),
		onPage("feed_bytes_follow", 389, "bytes", "SQL: a follow, with indexes", follow, "389 bytes"),

		{Name: "feed_likes_tried", Value: 24_000, Unit: "likes/s", What: "likes a second on one database, as measured", From: "docs/performance.md, Pages of posts, and likes: 24,700 and 24,200 on two cores and a disk that syncs; " + machine},
		{Name: "feed_cpu_comment", Value: 210, Unit: "CPU s/million", What: "embedded: a comment", From: assumed + "as a post"},
		{Name: "feed_sql_entry", Value: 35, Unit: "CPU s/million", What: "PostgreSQL: an entry of a home timeline", From: assumed + "as an entry of an inbox"},
		{Name: "feed_sql_detail", Value: 525, Unit: "CPU s/million", What: "PostgreSQL: a page of a post with comments", From: assumed + "as a page of a home timeline"},
		{Name: "feed_node_entry", Value: 14.63, Unit: "CPU s/million", What: "a node on PostgreSQL: an entry of a home timeline", From: assumed + "feed_cpu_entry, and postgres_client_entry"},
		{Name: "feed_bytes_entry", Value: 123, Unit: "bytes", What: "an entry of a home timeline, one copy", From: assumed + "as an entry of an inbox in PostgreSQL"},
		{Name: "feed_bytes_base", Value: 12_000, Unit: "bytes", What: "the 800 posts of a home timeline as it was built, one copy", From: assumed + "15 bytes of ids for each, docs/formats/feed.md"},
		{Name: "feed_cache", Value: 98, Unit: "MB", What: "embedded: a node's copies of rows, and of the ends of home timelines", From: assumed + "68 MiB by docs/decisions/0157-snapshot-caches-of-an-embedded-database.md, and 262,144 ends of 100 bytes"},
		{Name: "feed_page_home", Value: 8000, Unit: "bytes", What: "a page of 20 posts with their authors and counts", From: assumed + "400 bytes a post of 200 bytes of text"},
		{Name: "feed_page_post", Value: 2000, Unit: "bytes", What: "a page of a post with comments", From: assumed + "a post and three comments, with their authors"},
		{Name: "feed_hint", Value: 40, Unit: "bytes", What: "a hint of a new post: two ids", From: assumed + "docs/protocol.md"},
	}
}
