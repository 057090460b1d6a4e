package plan

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// quantity is a flag for a number with an optional suffix.
type quantity struct{ *float64 }

func (q quantity) String() string {
	if q.float64 == nil {
		return ""
	}
	return compact(*q.float64)
}

func (q quantity) Set(text string) (err error) {
	*q.float64, err = parseNumber(text)
	return err
}

// compact writes a number as parseNumber reads it: 200k.
func compact(x float64) string { return strings.ToLower(strings.ReplaceAll(number(x), " ", "")) }

// Defaults returns the default input: an intensively used messenger on machines of common size.
func Defaults() Input {
	return Input{Engine: Auto, DailyUsers: 100e3, Online: 0.2, Devices: 1.5, Messages: 40, Peak: 3, Bytes: 200, Groups: 0.3, GroupSize: 10,
		Large: 0.01, LargeSize: 1000, Attachments: 0.05, FileSize: 300e3, Downloads: 2,
		VideoMinutes: 3, Watches: 10, Popularity: 0.8, Viewers: 20, EdgeDisk: 2e12,
		HomePages: 20, PostPages: 10, Likes: 10, Comments: 1, Following: 200, Followers: 0.8, PullAbove: 10e3, Readers: 0.5, Retention: 365, Use: 0.5, Spare: 1, Zones: 3,
		Cores: 16, Memory: 64e9, Disk: 4e12, Network: 10e9, Connections: 200e3, DBCores: 32, DBDisk: 20e12}
}

type bounds struct {
	name        string
	at          *float64
	least, most float64
}

// flags defines the flags of in, and returns their bounds, which are checked after parsing.
func flags(fs *flag.FlagSet, in *Input) []bounds {
	const many = 1e14
	var all []bounds
	add := func(at *float64, name string, least, most float64, about string) {
		fs.Var(quantity{at}, name, about)
		all = append(all, bounds{name, at, least, most})
	}
	add(&in.DailyUsers, "daily-users", 1, 1e10, "daily active `users`, such as 10k or 50m")
	add(&in.Users, "users", 0, 1e11, "registered `users`; 0 means three times the daily ones")
	add(&in.Online, "online", 0.0001, 1, "`share` of daily users who are connected at the peak")
	add(&in.Devices, "devices", 1, 10, "connected `devices` of each of them")
	add(&in.Messages, "messages", 0, 1e6, "`messages` a day of each daily user")
	add(&in.Peak, "peak", 1, 100, "load of the busiest second, as a `multiple` of the daily mean")
	add(&in.Bytes, "size", 1, 1e6, "`bytes` of text in a message")
	add(&in.Groups, "groups", 0, 1, "`share` of messages that go to groups of up to 500")
	add(&in.GroupSize, "group-size", 2, 500, "`members` of these groups, as a mean over their messages")
	add(&in.Large, "large", 0, 1, "`share` of messages that go to large groups")
	add(&in.LargeSize, "large-size", 500, 1e7, "`members` of large groups, as a mean over their messages")
	add(&in.Attachments, "attachments", 0, 1, "`share` of messages with a file")
	add(&in.FileSize, "attachment-size", 0, 1e12, "`bytes` of a file, such as 300k")
	add(&in.Downloads, "downloads", 0, 1e6, "`times` that each file is downloaded")
	add(&in.Videos, "videos", 0, 1000, "`videos` that each daily user uploads a day, such as 0.02; 0: the plan has none")
	add(&in.VideoMinutes, "video-minutes", 0.01, 720, "`minutes` of a video, all of which are watched")
	add(&in.Watches, "watches", 0, 1e5, "`videos` that each daily user watches a day")
	add(&in.Popularity, "popularity", 0.1, 2, "`exponent` of the curve: the video of rank n is watched in proportion to n^-exponent")
	add(&in.Viewers, "viewers", 1, 1e6, "`viewers` of a video that cause its sizes above 480p to be encoded (on_demand.viewers of the pipeline)")
	add(&in.EdgeDisk, "edge-disk", 0, many, "`bytes` of disk of an edge, such as 2t; 0: there are no edges")
	add(&in.Posts, "posts", 0, 200, "`posts` that each daily user publishes a day, such as 0.2; 0: the plan has no feed")
	add(&in.HomePages, "home-pages", 0, 1e5, "`pages` of 20 posts of home timelines that each daily user reads a day")
	add(&in.PostPages, "post-pages", 0, 1e5, "`pages` of a post with its comments that each daily user reads a day")
	add(&in.Likes, "likes", 0, 1e5, "`likes` a day of each daily user")
	add(&in.Comments, "comments", 0, 1e5, "`comments` a day of each daily user")
	add(&in.Following, "following", 0, 5000, "`authors` whom each registered user follows, as a mean")
	add(&in.Followers, "follower-curve", 0.1, 2, "`exponent` of the curve: the author of rank n has followers in proportion to n^-exponent")
	add(&in.PullAbove, "pull-above", 1, many, "`followers` from which on posts are read from their author (feed.pull_above)")
	add(&in.Readers, "readers", 0, 1, "`share` of registered users who read their home timeline, now and then at least")
	add(&in.Retention, "retention", 1, 36_500, "`days` that messages, posts and files are kept; if for ever, the number of days after which to size")
	add(&in.Use, "use", 0.05, 1, "`share` of a machine that may be used at the peak; the rest is for load that the figures do not include")
	add(&in.Spare, "spare", 0, 1000, "`nodes` that may be down at the peak")
	add(&in.Zones, "zones", 1, 20, "availability `zones`; one of several may be down at the peak")
	add(&in.Cores, "cores", 1, 1024, "`cores` of a node, and of a Cassandra node")
	add(&in.Memory, "memory", 4e9, many, "`bytes` of memory of a node, such as 64g")
	add(&in.Disk, "disk", 1e9, many, "`bytes` of disk of a node with embedded engines, and of a Cassandra node")
	add(&in.Network, "network", 1e6, many, "network bandwidth of a node in `bits` a second")
	add(&in.Connections, "connections-per-node", 100, 1e7, "maximum `connections` of a node: when it fails, they all reconnect to the others at once")
	add(&in.DBCores, "database-cores", 1, 1024, "`cores` of a PostgreSQL server")
	add(&in.DBDisk, "database-disk", 1e9, many, "`bytes` of disk of a PostgreSQL server")
	return all
}

const usage = `Usage: rialto plan --daily-users 50m [flags]

Counts nodes, memory, storage and bandwidth from figures that were measured, and says how each line was counted and what is assumed.
Numbers are written as 250, 1.5k, 50m, 4t or 20%.

Flags:
`

// request is a parsed command line.
type request struct {
	input                Input
	figures              []Figure
	json, svg, listsOnly bool
}

// Main runs the command. It exits 0 after success, 1 if a file of measurements cannot be used, 2 for bad flags.
func Main(args []string, out, errOut io.Writer) int {
	r, err := parse(args, out)
	var file unusable
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &file):
		fmt.Fprintln(errOut, "rialto plan:", err)
		return 1
	case err != nil:
		fmt.Fprintf(errOut, "rialto plan: %v\nrialto plan --help shows the flags.\n", err)
		return 2
	case r.listsOnly:
		printFigures(out, r.figures)
		return 0
	case r.svg:
		fmt.Fprint(out, chart(r.input, r.figures))
		return 0
	}
	p := Make(r.input, r.figures)
	if !r.json {
		p.print(out)
		return 0
	}
	b, err := json.Marshal(p)
	if err != nil {
		fmt.Fprintln(errOut, "rialto plan:", err)
		return 1
	}
	fmt.Fprintln(out, string(b))
	return 0
}

// unusable is an error in a file of measurements.
type unusable struct{ error }

func parse(args []string, out io.Writer) (*request, error) {
	r := &request{input: Defaults(), figures: Figures()}
	in := &r.input
	fs := flag.NewFlagSet("rialto plan", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	all := flags(fs, in)
	fs.Func("engine", "`engine` of timelines: embedded, postgres, cassandra, or auto, the first of these that is sufficient (default auto)", func(s string) error {
		switch in.Engine = Engine(s); in.Engine {
		case Auto, Embedded, Postgres, Cassandra:
			return nil
		}
		return errors.New("the engines are embedded, postgres, cassandra and auto")
	})
	fs.Func("figure", "replace a figure by your own, such as kb_connection=1.1; may be repeated", func(s string) error { return figure(r.figures, s) })
	var files []string
	fs.Func("measured", "`file` with the output of rialto bench chat --json or rialto bench idle --json, whose figures replace ours; may be repeated", func(s string) error {
		files = append(files, s)
		return nil
	})
	fs.BoolVar(&r.json, "json", false, "print the plan as JSON")
	fs.BoolVar(&r.svg, "svg", false, "draw machines and storage by daily users as SVG")
	fs.BoolVar(&r.listsOnly, "figures", false, "list the figures used in plans, and where they were measured")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		fs.SetOutput(out)
		fs.PrintDefaults()
	}
	if err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	for _, b := range all {
		if *b.at < b.least || *b.at > b.most {
			return nil, fmt.Errorf("--%s must be from %s to %s", b.name, compact(b.least), compact(b.most))
		}
	}
	for _, whole := range []string{"zones", "spare"} {
		for _, b := range all {
			if b.name == whole && *b.at != float64(int(*b.at)) {
				return nil, fmt.Errorf("--%s must be a whole number", whole)
			}
		}
	}
	if in.Groups+in.Large > 1 {
		return nil, errors.New("--groups and --large are shares of all messages, and must not exceed 100% together")
	}
	if in.Users == 0 {
		in.Users = 3 * in.DailyUsers
	}
	for _, f := range files {
		if err := measured(r.figures, f); err != nil {
			return nil, unusable{err}
		}
	}
	return r, nil
}
