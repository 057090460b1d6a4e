// Package idcli implements the command rialto id: it generates and decodes ids of a data directory, a database or a running server, manages
// their tags, and measures their cost.
//
// It uses only the API of the id service, in this process or over the network. Main must not be called concurrently.
package idcli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
)

const usage = `Usage:
  rialto id next    --scheme NAME [--count N]    print ids, one per line; --tag NAME for a tag's ids
  rialto id explain ID [--scheme NAME]           decode an id
  rialto id tag     put NAME --scheme NAME | list | delete NAME
  rialto id bench   [--url URL --key KEY]        measure throughput and cost
  rialto id grow    DATABASE DATABASE …          add databases for multi-primary ids

Schemes: snowflake, sonyflake, segment, multiprimary, sequence, readable, uuidv7, ulid, redis, rule.

Ids come from a data directory (--data, as for serve) that no server uses; from PostgreSQL (--postgres), also while servers use it;
or from a running server (--url and --key). uuidv7 and ulid need neither. rialto id COMMAND --help shows the flags.
Exit codes: 0 on success, 1 after a failure, 2 for an invalid command line.
`

// IDs is the API of the id service.
type IDs interface {
	Next(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error)
	Explain(ctx context.Context, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error)
	PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error)
	ListTags(ctx context.Context, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error)
	DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error)
}

// Open opens the id service of a data directory, which it creates if it is missing, or of a database by its address.
type Open func(ctx context.Context, dir string) (ids IDs, closeIDs func() error, err error)

// Main runs the command.
func Main(ctx context.Context, args []string, out, errOut io.Writer, open Open) int {
	if len(args) == 0 {
		fmt.Fprint(errOut, usage)
		return 2
	}
	c := &command{out: out, errOut: errOut, open: open}
	switch args[0] {
	case "next":
		return c.next(ctx, args[1:])
	case "explain":
		return c.explain(ctx, args[1:])
	case "tag":
		return c.tag(ctx, args[1:])
	case "grow":
		return c.grow(ctx, args[1:])
	case "bench":
		return c.bench(ctx, args[1:])
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
		return 0
	}
	fmt.Fprintf(errOut, "rialto id: %s\n\n%s", commandline.Unknown(args[0], []string{"next", "explain", "tag", "grow", "bench"}), usage)
	return 2
}

// command has what all commands need.
type command struct {
	out, errOut io.Writer
	open        Open

	name   string
	data   string
	remote apiclient.Config
}

// flags returns the flag set of a command that uses a data directory or a server.
func (c *command) flags(name string) *flag.FlagSet {
	c.name = "rialto id " + name
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.StringVar(&c.data, "data", commandline.DefaultData(), "data `directory`; it is created if it is missing")
	fs.Func("postgres", "use a database instead of a directory: its `address`, such as postgres://user@host/name; servers may run", func(address string) error {
		if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
			return errors.New("the address must begin with postgres://")
		}
		c.data = address
		return nil
	})
	c.server(fs)
	return fs
}

func (c *command) server(fs *flag.FlagSet) {
	c.remote = apiclient.Config{Patience: apiclient.DefaultPatience}
	c.remote.AddFlags(fs, "a running server, to be used instead")
}

// parse parses flags and want arguments between them. Unless ok, the command ends with the code.
func (c *command) parse(fs *flag.FlagSet, args []string, form, about string, want int) (words []string, code int, ok bool) {
	fs.SetOutput(io.Discard) // otherwise each error prints all flags
	var err error
	for {
		if err = fs.Parse(args); err != nil || fs.NArg() == 0 {
			break
		}
		if words = append(words, fs.Arg(0)); len(words) > want {
			err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
			break
		}
		args = fs.Args()[1:]
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(c.out, "Usage: %s %s\n\n%s\nFlags:\n", c.name, form, about)
		fs.SetOutput(c.out)
		fs.PrintDefaults()
		return nil, 0, false
	}
	if err == nil && len(words) < want {
		err = errors.New("an argument is missing")
	}
	if err == nil && (c.remote.URL == "") != (c.remote.Key == "") {
		err = errors.New("--url and --key must be used together")
	}
	if err != nil {
		fmt.Fprintf(c.errOut, "%s: %v; %s --help shows how\n", c.name, err, c.name)
		return nil, 2, false
	}
	return words, 0, true
}

// with calls do with the service, and returns the exit code.
func (c *command) with(ctx context.Context, do func(ids IDs) error) int {
	return c.report(c.using(ctx, do))
}

// report prints an error, and returns the exit code.
func (c *command) report(err error) int {
	if err == nil {
		return 0
	}
	text := err.Error()
	if e := (*errs.Error)(nil); errors.As(err, &e) {
		text = e.Message
		if e.Kind == errs.Internal && e.Cause != nil {
			text = e.Cause.Error() // the data directory is the user's own
		}
	}
	fmt.Fprintf(c.errOut, "%s: %s\n", c.name, text)
	return 1
}

func (c *command) using(ctx context.Context, do func(ids IDs) error) (err error) {
	if c.remote.URL != "" {
		client, err := apiclient.New(c.remote)
		if err != nil {
			return err
		}
		return do(remote{client})
	}
	ids, closeIDs, err := c.open(ctx, c.data)
	if err != nil {
		return err
	}
	return errors.Join(do(ids), closeIDs())
}

// remote calls the id service of a server.
type remote struct{ client *apiclient.Client }

// Next calls the server, once: a repetition would have other ids.
func (r remote) Next(ctx context.Context, q *idv1.NextRequest) (*idv1.NextResponse, error) {
	a := &idv1.NextResponse{}
	return a, r.client.CallOnce(ctx, idv1connect.IDServiceNextProcedure, q, a)
}

// Explain calls the server.
func (r remote) Explain(ctx context.Context, q *idv1.ExplainRequest) (*idv1.ExplainResponse, error) {
	a := &idv1.ExplainResponse{}
	return a, r.client.Call(ctx, idv1connect.IDServiceExplainProcedure, q, a)
}

// PutTag calls the server.
func (r remote) PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error) {
	a := &idv1.Tag{}
	return a, r.client.Call(ctx, idv1connect.IDServicePutTagProcedure, &idv1.PutTagRequest{Tag: t}, a)
}

// ListTags calls the server.
func (r remote) ListTags(ctx context.Context, q *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error) {
	a := &idv1.ListTagsResponse{}
	return a, r.client.Call(ctx, idv1connect.IDServiceListTagsProcedure, q, a)
}

// DeleteTag calls the server.
func (r remote) DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error) {
	a := &idv1.DeleteTagResponse{}
	return a, r.client.CallOnce(ctx, idv1connect.IDServiceDeleteTagProcedure, &idv1.DeleteTagRequest{Name: name}, a)
}
