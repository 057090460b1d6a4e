// Package bench loads a deployment through its public doors and checks every message: that what was acknowledged arrives, once,
// in one order, with the content that was sent.
//
// It is a client like any other: it takes events in the order of its stream, notices a gap by an event's predecessor, and
// syncs. It costs as little as it can, so that the server is what is measured.
package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

const usage = `Usage:
  rialto bench chat      --url URL [--pairs N | --groups N --group-size M] [--window N | --rate R] [--duration D] [--json] …
  rialto bench idle      --url URL --connections N [--json] …
  rialto bench away      --url URL,URL --clients N --for D [--json] …
  rialto bench catchup   --url URL --events N [--data DIR] [--json] …
  rialto bench reference --data DIR [--duration D] [--json]

chat sends messages between pairs of users, or in groups, and checks each one.
idle holds open connections and reports the server's memory for each.
away holds clients of the SDK, and measures how long those are away that lose their connection while you stop a node.
catchup measures how long a device takes that has missed many messages, beside reading as many bytes from Pebble alone.
reference measures this machine's disk under Pebble, which chat's figures are compared with.

rialto bench COMMAND --help shows the flags.
`

// Main runs the command. It exits 0 when all is well, 1 when a message was lost, doubled or out of order or the load could not
// run, 2 for bad flags.
func Main(args []string, out, errOut io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errOut, usage)
		return 2
	}
	switch args[0] {
	case "chat":
		return chatMain(args[1:], out, errOut)
	case "idle":
		return idleMain(args[1:], out, errOut)
	case "away":
		return awayMain(args[1:], out, errOut)
	case "catchup":
		return catchupMain(args[1:], out, errOut)
	case "reference":
		return referenceMain(args[1:], out, errOut)
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return 0
	}
	fmt.Fprintf(errOut, "rialto bench: there is no %q.\n\n%s", args[0], usage)
	return 2
}

// parse reads a command's flags; go on where ok, else exit with code.
func parse(fs *flag.FlagSet, args []string) (code int, ok bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	}
	return 0, true
}

// progressTo says what is done, and how long after the start.
func progressTo(out io.Writer) func(format string, args ...any) {
	start := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(out, "[%5.1fs] %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
}

// report prints what came of a command, as JSON or in words, and gives its exit code.
func report(out, errOut io.Writer, result any, err error, asJSON bool, words func()) int {
	var b []byte
	if err == nil && asJSON {
		b, err = json.Marshal(result)
	}
	switch {
	case err != nil:
		fmt.Fprintln(errOut, "rialto bench:", err)
		return 1
	case asJSON:
		fmt.Fprintln(out, string(b))
	default:
		words()
	}
	return 0
}
