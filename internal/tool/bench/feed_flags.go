package bench

import (
	"flag"
	"fmt"
	"io"
	"time"
)

// feedConfig has the flags of rialto bench feed.
type feedConfig struct {
	url, key, text                  string
	authors, followers, following   int
	posts, writers, readers, online int
	rate, pageRate, depth, limit    int
	changes, bytes, check           int
	duration, patience              time.Duration
	json                            bool
	seed                            uint64
}

func (c *feedConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench feed", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas: users call different ones")
	fs.StringVar(&c.key, "api-key", "", "API `key`: it creates users faster than registration, and the rate limits of users do not apply; see rialto admin key create")
	fs.IntVar(&c.authors, "authors", 100, "`number` of users who publish")
	fs.IntVar(&c.followers, "followers", 100, "`number` of users who follow and read")
	fs.IntVar(&c.following, "following", 20, "`number` of authors whom each of them follows, by Zipf's law: the second author has half as many followers as the first, the third a third")
	fs.IntVar(&c.posts, "posts", 5, "`number` of posts of each author before the load")
	fs.IntVar(&c.writers, "writers", 4, "`number` of posts and changes that are made at the same time")
	fs.IntVar(&c.readers, "readers", 8, "`number` of pages that are read at the same time")
	fs.IntVar(&c.online, "online", 20, "`number` of followers who are connected, and are told of new posts")
	fs.IntVar(&c.rate, "rate", 50, "posts and changes a second of all authors together, independent of the answers; 0: as many as possible")
	fs.IntVar(&c.pageRate, "page-rate", 0, "pages a second of all readers together, independent of the answers (open loop); 0: as many as possible")
	fs.IntVar(&c.depth, "pages", 3, "`number` of pages that a reader scrolls through at most")
	fs.IntVar(&c.limit, "limit", 20, "posts of a page, at most 50")
	fs.IntVar(&c.changes, "changes", 10, "of 100 posts and changes, how many delete a post, or begin or cease to follow an author")
	fs.IntVar(&c.check, "check", 200, "`number` of readers whose whole timelines are compared with the naive feed after the load")
	fs.DurationVar(&c.duration, "duration", 10*time.Second, "how long to load")
	fs.DurationVar(&c.patience, "patience", defaultPatience, "how long a call may find no server before the run ends")
	fs.IntVar(&c.bytes, "size", 200, "`bytes` of each text")
	fs.StringVar(&c.text, "text", "", "`file` with text to publish; otherwise Debian's fortune packages, or built-in sentences")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of random choices")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	switch err := checkURLs(c.url); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench feed: unexpected argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case c.authors < 1 || c.followers < 1 || c.following < 1 || c.following > c.authors || c.following > maxFollowing:
		fmt.Fprintf(errOut, "--authors and --followers must be at least 1, and --following 1 to --authors, and at most %d\n", maxFollowing)
	case c.writers < 1 || c.readers < 1 || c.depth < 1 || c.limit < 1 || c.limit > 50 || c.duration <= 0 || c.patience <= 0:
		fmt.Fprintln(errOut, "--writers, --readers and --pages must be at least 1, --limit 1 to 50, --duration and --patience positive")
	case c.posts < 0 || c.online < 0 || c.rate < 0 || c.pageRate < 0 || c.check < 0 || c.changes < 0 || c.changes > 100:
		fmt.Fprintln(errOut, "--posts, --online, --rate, --page-rate and --check must not be negative, and --changes 0 to 100")
	case c.bytes < headLength+1 || c.bytes > 10_000:
		fmt.Fprintf(errOut, "--size must be %d to 10,000\n", headLength+1)
	default:
		c.online, c.check = min(c.online, c.followers), min(c.check, c.followers)
		return 0, true
	}
	return 2, false
}

// maxFollowing is how many users one user may follow.
const maxFollowing = 5000
