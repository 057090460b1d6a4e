// Package bench generates load through the public API of a deployment and checks every message: each acknowledged message must arrive
// once, in order, and with the text that was sent. Each page of a home timeline must be right.
//
// It behaves like any client: it processes events in the order of its stream, detects a gap by an event's predecessor, and syncs. It uses as
// little CPU as possible, so that it measures the server.
package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"

	"github.com/rialto-im/rialto/internal/base/commandline"
)

const usage = `Usage:
  rialto bench chat      --url URL [--pairs N | --groups N --group-size M] [--window N | --rate R] [--duration D] [--json] …
  rialto bench feed      --url URL [--authors N] [--followers N] [--rate R] [--page-rate R] [--duration D] [--json] …
  rialto bench overload  --url URL [--pairs N] [--factor F] [--for D] [--json] …
  rialto bench video     --url URL [--files N] [--seconds N] [--codec CODEC] [--json] …
  rialto bench search    --url URL [--messages N] [--users N] [--groups N] [--queries N] [--json] …
  rialto bench idle      --url URL --connections N [--json] …
  rialto bench away      --url URL,URL --clients N --for D [--json] …
  rialto bench reconnect --url URL --connections N [--senders N] [--json] …
  rialto bench catchup   --url URL --events N [--data DIR] [--json] …
  rialto bench reference --data DIR [--duration D] [--json]

chat sends messages between pairs of users, in groups, or in channels, and checks each one.
feed publishes posts, reads home timelines, and compares each page with all posts, deletions and follows that it made.
overload sends at a multiple of what the server can do, and measures how much of that it still does, and how soon it recovers.
video uploads files that ffmpeg makes, measures how soon they can be played, and checks each frame.
search sends messages, measures how soon they are found and how long queries take, and compares the hits with what each reader may read.
idle holds open connections and reports the server's memory for each.
away holds clients of the SDK, and measures how long those are away that lose their connection while you stop a node.
reconnect cuts many connections at once, and measures how soon all clients have resumed, and what that costs others.
catchup measures how long a device takes that has missed many messages, beside reading as many bytes from Pebble alone.
reference measures this machine's disk under Pebble, which chat's figures are compared with.

rialto bench COMMAND --help shows the flags.
`

// Main runs the command. It exits 0 after success, 1 if a message was lost, duplicated or reordered or the load could not run, 2 for bad
// flags.
func Main(args []string, out, errOut io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintf(errOut, "rialto bench: a command is missing\n\n%s", usage)
		return 2
	}
	switch args[0] {
	case "chat":
		return chatMain(args[1:], out, errOut)
	case "feed":
		return feedMain(args[1:], out, errOut)
	case "overload":
		return overloadMain(args[1:], out, errOut)
	case "video":
		return videoMain(args[1:], out, errOut)
	case "search":
		return searchMain(args[1:], out, errOut)
	case "idle":
		return idleMain(args[1:], out, errOut)
	case "away":
		return awayMain(args[1:], out, errOut)
	case "reconnect":
		return reconnectMain(args[1:], out, errOut)
	case "catchup":
		return catchupMain(args[1:], out, errOut)
	case "reference":
		return referenceMain(args[1:], out, errOut)
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return 0
	}
	names := []string{"chat", "feed", "overload", "video", "search", "idle", "away", "reconnect", "catchup", "reference"}
	fmt.Fprintf(errOut, "rialto bench: %s\n\n%s", commandline.Unknown(args[0], names), usage)
	return 2
}

// parse parses a command's flags. If ok is false, the caller exits with code.
func parse(fs *flag.FlagSet, args []string) (code int, ok bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	}
	return 0, true
}

// withAdvice says what to do where no server can be reached.
func withAdvice(err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("%w; start the server, or give its address with --url", err)
	}
	return err
}

// report prints the result of a command as JSON or text, and returns the exit code.
func report(out, errOut io.Writer, result any, err error, asJSON bool, words func()) int {
	var b []byte
	if err == nil && asJSON {
		b, err = json.Marshal(result)
	}
	switch {
	case err != nil:
		fmt.Fprintln(errOut, "rialto bench:", withAdvice(err))
		return 1
	case asJSON:
		fmt.Fprintln(out, string(b))
	default:
		words()
	}
	return 0
}
