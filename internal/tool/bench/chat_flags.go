package bench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// chatConfig has the flags of rialto bench chat.
type chatConfig struct {
	url, key, text               string
	protocol, sockets            string
	pairs, groups, size, senders int
	devices, window, rate, bytes int
	open, others                 int
	channel                      bool
	followers                    int
	flapping, streams            int
	flapEvery                    time.Duration
	duration, drain, patience    time.Duration
	json, oneWay, whole, history bool
	allDevices                   bool
	seed                         uint64
}

func (c *chatConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench chat", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas: the devices of a user, and the two users of a pair, connect to different ones")
	fs.StringVar(&c.key, "api-key", "", "API `key`, which creates users faster than registration; see rialto admin key create")
	fs.StringVar(&c.protocol, "protocol", protocolWS, "how clients connect: `ws`, ws-json, tcp, stomp, sse or poll. ws is WebSocket with protobuf. sse (event streams) and poll (long polls) only receive: each message is sent by a call, after the answer to the one before it. stomp shows no large groups. tcp and stomp need --sockets")
	fs.StringVar(&c.sockets, "sockets", "", "with --protocol tcp or stomp: `HOST:PORT` of its listener, or those of the nodes of --url, in their order; with TLS if the URL is https")
	fs.IntVar(&c.pairs, "pairs", 0, "`number` of pairs of users who write to each other (default 100 without --groups)")
	fs.BoolVar(&c.oneWay, "one-way", false, "only one of each pair writes")
	fs.IntVar(&c.groups, "groups", 0, "`number` of groups")
	fs.IntVar(&c.size, "group-size", 100, "members of each group; above 500 it is a large group")
	fs.IntVar(&c.senders, "senders", 1, "members of each group who write")
	fs.IntVar(&c.open, "open", 10_000, "members of each large group who show it and check each message; the others only have to know how far it has come, by pushes or hints")
	fs.IntVar(&c.others, "others", 0, "`number` of pairs that chat before and beside the load; the result compares their times")
	fs.BoolVar(&c.channel, "channel", false, "each group is a channel, in which the first member writes and the others follow; needs --api-key, and allows a --group-size of 20,000")
	fs.IntVar(&c.followers, "followers", 0, "`number` of users who follow each channel besides its --group-size, without a connection")
	fs.IntVar(&c.flapping, "flapping", 0, "`number` of users whom the pairs watch, and whose connections break and come back, one after the other, during the load; the result compares the rate with that before it")
	fs.DurationVar(&c.flapEvery, "flap-every", time.Minute, "how often the connection of each --flapping user breaks")
	fs.IntVar(&c.streams, "streams", 0, "`number` of messages that bots write in parts during the load; the result compares the times with those before it")
	fs.IntVar(&c.devices, "devices", 1, "devices of each user, each with a connection; the first writes")
	fs.BoolVar(&c.allDevices, "all-devices", false, "all --devices of a user write. With --pairs 1 --one-way --others, it shows what a user who floods the server costs others")
	fs.IntVar(&c.window, "window", 1, "messages that a sender has in flight")
	fs.BoolVar(&c.whole, "whole", false, "a message counts in --window until it is delivered to all, instead of until it is acknowledged; needs a single sender in each conversation")
	fs.IntVar(&c.rate, "rate", 0, "messages a second of all senders together, independent of the answers (open loop); replaces --window")
	fs.DurationVar(&c.duration, "duration", 10*time.Second, "how long to send")
	fs.DurationVar(&c.drain, "drain", 30*time.Second, "how long to wait afterwards, without any delivery, for messages in flight")
	fs.DurationVar(&c.patience, "patience", defaultPatience, "how long no server may accept a connection before the run ends")
	fs.BoolVar(&c.history, "history", false, "compare the conversations' histories at the end even if no connection was lost")
	fs.IntVar(&c.bytes, "size", 200, "`bytes` of each text")
	fs.StringVar(&c.text, "text", "", "`file` with text to send; otherwise Debian's fortune packages, or built-in sentences")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of random choices")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	if c.pairs == 0 && c.groups == 0 {
		c.pairs = 100
	}
	largest := 10_000
	if c.channel {
		largest = 20_000
	}
	switch err := checkURLs(c.url); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench chat: unexpected argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case c.checkProtocol() != nil:
		fmt.Fprintln(errOut, c.checkProtocol())
	case c.others < 0 || c.open < 0:
		fmt.Fprintln(errOut, "--others and --open must not be negative")
	case c.pairs < 0 || c.groups < 0 || c.devices < 1 || c.window < 1 || c.window > 512 || c.rate < 0 || c.duration <= 0 || c.patience <= 0:
		fmt.Fprintln(errOut, "--pairs, --groups and --rate must not be negative, --devices at least 1, --window 1 to 512, --duration and --patience positive")
	case c.groups > 0 && (c.size < 2 || c.size > largest || c.senders < 1 || c.senders > c.size):
		fmt.Fprintf(errOut, "--group-size must be 2 to %d, and --senders 1 to --group-size\n", largest)
	case c.channel && (c.groups == 0 || c.senders > 1 || c.key == "") || c.followers != 0 && !c.channel || c.followers < 0:
		fmt.Fprintln(errOut, "--channel needs --groups, a single sender and --api-key; --followers needs --channel")
	case c.flapping < 0 || c.flapping > maxFlapping || c.flapping > 0 && (c.flapEvery < time.Second || c.pairs == 0 || c.flapping > maxWatched*2*c.pairs):
		fmt.Fprintf(errOut, "--flapping must be 0 to %d, and at most %d for each user of --pairs, with a --flap-every of at least 1s\n", maxFlapping, maxWatched)
	case c.streams < 0 || c.streams > maxStreams || c.streams > 0 && (c.flapping > 0 || c.others > 0):
		fmt.Fprintf(errOut, "--streams must be 0 to %d, without --flapping and --others\n", maxStreams)
	case c.whole && (c.rate > 0 || c.senders > 1 || c.allDevices || c.pairs > 0 && !c.oneWay):
		fmt.Fprintln(errOut, "--whole needs a window and a single sender in each conversation, without --all-devices: --one-way for pairs, --senders 1 for groups")
	case c.bytes < headLength+1 || c.bytes > 100_000:
		fmt.Fprintf(errOut, "--size must be %d to 100,000\n", headLength+1)
	default:
		return 0, true
	}
	return 2, false
}

// checkProtocol checks what depends on --protocol.
func (c *chatConfig) checkProtocol() error {
	switch err := checkProtocol(c.protocol, c.sockets, c.url); {
	case err != nil:
		return err
	case !isSocket(c.protocol) && c.flapping > 0:
		return errors.New("--flapping needs sockets, which can watch users: --protocol ws, ws-json or tcp")
	case c.protocol == protocolStomp && c.groups > 0 && (c.channel || c.size > 500):
		return errors.New("--protocol stomp shows no large groups and channels, whose missed messages are read by calls: use a --group-size up to 500")
	}
	return nil
}
