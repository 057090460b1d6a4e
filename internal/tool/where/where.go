// Package where implements the command rialto where: it shows what happened to a message, when and on which node.
//
// It is a client of MessageTraceService. Main must not be called concurrently.
package where

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/sdk/go/ids"
	"google.golang.org/protobuf/encoding/protojson"
)

const about = `where shows what happened to a message: when and on which node it was stored, fanned out, pushed, acknowledged by devices and read, and what
became of push notifications. It shows no contents. MESSAGE is the message's id, such as BD8U-FCQJ-LDC5-L789, or CONVERSATION/SEQ.
Nodes remember times for a limited while; what is older is shown without. docs/operating/trace.md explains the output.
`

// command has the flags.
type command struct {
	server       apiclient.Config
	asJSON       bool
	conversation uint64
	request      chatv1.TraceMessageRequest
}

// Main runs the command.
func Main(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &command{server: apiclient.Config{URL: "http://127.0.0.1:7070", Access: "--audit", Patience: apiclient.DefaultPatience}}
	if code, ok := c.parse(args, out, errOut); !ok {
		return code
	}
	trace, err := c.ask(ctx)
	if err == nil {
		err = c.print(out, trace)
	}
	if err != nil {
		fmt.Fprintln(errOut, "rialto where:", err)
		return 1
	}
	return 0
}

func (c *command) parse(args []string, out, errOut io.Writer) (code int, ok bool) {
	fs := flag.NewFlagSet("rialto where", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // otherwise each error prints all flags
	c.server.AddFlags(fs, "a server; any node will do")
	fs.Uint64Var(&c.conversation, "conversation", 0, "`id` of the message's conversation, for a message that is too old to be found by its id alone")
	fs.Uint64Var(&c.request.User, "user", 0, "show this member only, by `id`")
	var limit int
	commandline.Int(fs, &limit, "limit", 20, 1, 200, "`number` of members to show, at most 200")
	fs.StringVar(&c.request.Page, "page", "", "continue a list of members: the `page` that the command named")
	fs.BoolVar(&c.asJSON, "json", false, "print the answer of the server as JSON")
	var words []string
	var err error
	for rest := args; ; {
		if err = fs.Parse(rest); err != nil || fs.NArg() == 0 {
			break
		}
		words, rest = append(words, fs.Arg(0)), fs.Args()[1:]
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(out, "Usage: rialto where MESSAGE --key KEY [flags]\n\n%s\nFlags:\n", about)
		fs.SetOutput(out)
		fs.PrintDefaults()
		return 0, false
	}
	c.request.Limit = uint32(limit)
	if err == nil {
		err = c.check(words)
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto where: %v; rialto where --help shows how\n", err)
		return 2, false
	}
	return 0, true
}

// check takes the message from the arguments.
func (c *command) check(words []string) error {
	if len(words) != 1 {
		return errors.New("name one message")
	}
	if err := c.server.Check(); err != nil {
		return err
	}
	c.request.Conversation = c.conversation
	conversation, seq, ok := strings.Cut(words[0], "/")
	if !ok {
		c.request.Id = words[0]
		if _, err := ids.ParseReadable(strings.ToUpper(words[0])); err != nil { // as people type it
			return fmt.Errorf("%q is neither the id of a message, as F3ZM-VZDF-A226-2222, nor CONVERSATION/SEQ: %w", words[0], err)
		}
		return nil
	}
	var err error
	if c.request.Conversation, err = strconv.ParseUint(conversation, 10, 64); err == nil {
		c.request.Seq, err = strconv.ParseUint(seq, 10, 64)
	}
	if err != nil || c.request.Conversation == 0 || c.request.Seq == 0 {
		return fmt.Errorf("%q is no CONVERSATION/SEQ: both are numbers", words[0])
	}
	return nil
}

func (c *command) ask(ctx context.Context) (*chatv1.MessageTrace, error) {
	server, err := apiclient.New(c.server)
	if err != nil {
		return nil, err
	}
	trace := &chatv1.MessageTrace{}
	return trace, server.Call(ctx, chatv1connect.MessageTraceServiceTraceMessageProcedure, &c.request, trace)
}

func (c *command) print(out io.Writer, trace *chatv1.MessageTrace) error {
	if c.asJSON {
		b, err := protojson.Marshal(trace)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", b)
		}
		return err
	}
	_, err := io.WriteString(out, Text(trace, time.Local))
	return err
}
