package bench

import (
	"flag"
	"fmt"
	"io"
	"time"
)

// searchConfig has the flags of rialto bench search.
type searchConfig struct {
	url, key, text                     string
	messages, users, groups, groupSize int
	senders, searchers, queries        int
	rate, probes, changes, bytes       int
	lagFor, patience                   time.Duration
	json                               bool
	seed                               uint64
}

func (c *searchConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench search", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas: users call different ones")
	fs.StringVar(&c.key, "api-key", "", "API `key`: it creates users faster than registration, and the rate limits of users do not apply; see rialto admin key create")
	fs.IntVar(&c.messages, "messages", 10_000, "`number` of messages that are sent as fast as the server answers, and found then")
	fs.IntVar(&c.users, "users", 20, "`number` of users")
	fs.IntVar(&c.groups, "groups", 20, "`number` of groups, each with as many messages as the others")
	fs.IntVar(&c.groupSize, "group-size", 5, "members of each group: so a user may read group-size / users of all messages")
	fs.IntVar(&c.senders, "senders", 32, "`number` of messages that are sent at the same time")
	fs.IntVar(&c.rate, "rate", 500, "messages a second while it is measured how soon new ones are found")
	fs.IntVar(&c.probes, "probes", 10, "of these messages, how many a second are searched for until they are found")
	fs.DurationVar(&c.lagFor, "lag-for", 10*time.Second, "how long to send at that rate")
	fs.IntVar(&c.queries, "queries", 2000, "`number` of queries that are measured and checked then")
	fs.IntVar(&c.searchers, "searchers", 1, "`number` of queries at the same time")
	fs.IntVar(&c.changes, "changes", 5, "messages a second that are edited or recalled beside the queries")
	fs.DurationVar(&c.patience, "patience", defaultPatience, "how long a call may find no server, and a message may take to be found")
	fs.IntVar(&c.bytes, "size", 200, "`bytes` of each text")
	fs.StringVar(&c.text, "text", "", "`file` with text to send; otherwise Debian's fortune packages, or built-in sentences")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of random choices")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	switch err := checkURLs(c.url); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench search: unexpected argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case c.groups < 1 || c.messages < c.groups:
		fmt.Fprintln(errOut, "--groups must be at least 1, and --messages at least --groups")
	case c.groupSize < 2 || c.users < c.groupSize:
		fmt.Fprintln(errOut, "--group-size must be at least 2, and --users at least --group-size")
	case c.senders < 1 || c.searchers < 1 || c.rate < 1 || c.queries < 1:
		fmt.Fprintln(errOut, "--senders, --searchers, --rate and --queries must be at least 1")
	case c.probes < 1 || c.probes > min(c.rate, 100) || c.changes < 0:
		fmt.Fprintln(errOut, "--probes must be 1 to 100, and at most --rate, and --changes must not be negative")
	case c.lagFor < time.Second || c.patience <= 0:
		fmt.Fprintln(errOut, "--lag-for must be at least 1s, and --patience positive")
	case c.bytes < minSearchText || c.bytes > 10_000:
		fmt.Fprintf(errOut, "--size must be %d to 10,000\n", minSearchText)
	default:
		return 0, true
	}
	return 2, false
}
