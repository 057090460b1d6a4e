package bench

import (
	"flag"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rialto-im/rialto/internal/base/commandline"
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
	commandline.Int(fs, &c.messages, "messages", 10_000, 1, math.MaxInt, "`number` of messages that are sent as fast as the server answers, and found then")
	commandline.Int(fs, &c.users, "users", 20, 2, math.MaxInt, "`number` of users")
	commandline.Int(fs, &c.groups, "groups", 20, 1, math.MaxInt, "`number` of groups, each with as many messages as the others")
	commandline.Int(fs, &c.groupSize, "group-size", 5, 2, math.MaxInt, "members of each group: so a user may read group-size / users of all messages")
	commandline.Int(fs, &c.senders, "senders", 32, 1, math.MaxInt, "`number` of messages that are sent at the same time")
	commandline.Int(fs, &c.rate, "rate", 500, 1, math.MaxInt, "messages a second while it is measured how soon new ones are found")
	commandline.Int(fs, &c.probes, "probes", 10, 1, 100, "of these messages, how many a second are searched for until they are found")
	fs.DurationVar(&c.lagFor, "lag-for", 10*time.Second, "how long to send at that rate")
	commandline.Int(fs, &c.queries, "queries", 2000, 1, math.MaxInt, "`number` of queries that are measured and checked then")
	commandline.Int(fs, &c.searchers, "searchers", 1, 1, math.MaxInt, "`number` of queries at the same time")
	commandline.Int(fs, &c.changes, "changes", 5, 0, math.MaxInt, "messages a second that are edited or recalled beside the queries")
	fs.DurationVar(&c.patience, "patience", defaultPatience, "how long a call may find no server, and a message may take to be found")
	commandline.Int(fs, &c.bytes, "size", 200, minSearchText, 10_000, "`bytes` of each text")
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
	case c.messages < c.groups:
		fmt.Fprintln(errOut, "--messages must be at least --groups")
	case c.users < c.groupSize:
		fmt.Fprintln(errOut, "--users must be at least --group-size")
	case c.probes > c.rate:
		fmt.Fprintln(errOut, "--probes must be at most --rate")
	case c.lagFor < time.Second || c.patience <= 0:
		fmt.Fprintln(errOut, "--lag-for must be at least 1s, and --patience positive")
	default:
		return 0, true
	}
	return 2, false
}
