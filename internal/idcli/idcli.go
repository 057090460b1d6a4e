// Package idcli is rialto id: ids at the command line, from a data directory or from a running server, and what they cost.
//
// It touches the id service only, by its calls, whether it is in this process or behind an address. Main may be called once at
// a time.
package idcli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"connectrpc.com/connect"
	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
	"github.com/rialto-im/rialto/gen/rialto/id/v1/idv1connect"
	"github.com/rialto-im/rialto/internal/errs"
)

const usage = `Usage:
  rialto id next    --scheme NAME [--count N]    print ids, one per line; --tag NAME for those of a tag
  rialto id explain ID [--scheme NAME]           give an id's parts
  rialto id tag     put NAME --scheme NAME | list | delete NAME
  rialto id bench   [--url URL --key KEY]        measure how many ids come, and what they cost
  rialto id grow    DATABASE DATABASE …          add databases to those of multi-primary ids

Schemes: snowflake, sonyflake, segment, multiprimary, sequence, readable, uuidv7, ulid, rule.

Ids come from a data directory (--data, as of serve), which no server may have open; from PostgreSQL (--postgres), also beside servers;
or from a running server (--url and --key). uuidv7 and ulid need neither. rialto id COMMAND --help shows the flags.
Exit codes: 0 when it is done, 1 after a failure, 2 for a command line that cannot be used.
`

// IDs are the id service's calls.
type IDs interface {
	Next(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error)
	Explain(ctx context.Context, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error)
	PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error)
	ListTags(ctx context.Context, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error)
	DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error)
}

// Open opens the id service of a data directory, which it makes where it is missing, or of a database by its address.
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
	fmt.Fprintf(errOut, "rialto id: there is no %q.\n\n%s", args[0], usage)
	return 2
}

// command is what all of them need.
type command struct {
	out, errOut io.Writer
	open        Open

	name           string
	data, url, key string
}

// flags of a command that asks a data directory or a server.
func (c *command) flags(name string) *flag.FlagSet {
	c.name = "rialto id " + name
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.StringVar(&c.data, "data", "data", "data `directory`, made where it is missing")
	fs.Func("postgres", "in place of a directory: `address` of the database, as postgres://user@host/name; servers may run", func(address string) error {
		if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
			return errors.New("it begins with postgres://")
		}
		c.data = address
		return nil
	})
	c.server(fs)
	return fs
}

func (c *command) server(fs *flag.FlagSet) {
	fs.StringVar(&c.url, "url", "", "`URL` of a running server, as http://127.0.0.1:7070, to ask instead")
	fs.StringVar(&c.key, "key", "", "the server's API `key`, or @FILE that it is read from; rialto admin key create makes one")
}

// parse reads flags and at most want arguments between them. Where it is not ok, the command ends with the code.
func (c *command) parse(fs *flag.FlagSet, args []string, form, about string, want int) (words []string, code int, ok bool) {
	fs.SetOutput(io.Discard) // else each mistake prints all flags
	var err error
	for {
		if err = fs.Parse(args); err != nil || fs.NArg() == 0 {
			break
		}
		if words = append(words, fs.Arg(0)); len(words) > want {
			err = fmt.Errorf("it takes no argument %q", fs.Arg(0))
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
	if err == nil && (c.url == "") != (c.key == "") {
		err = errors.New("--url and --key go together")
	}
	if err != nil {
		fmt.Fprintf(c.errOut, "%s: %v; %s --help shows how\n", c.name, err, c.name)
		return nil, 2, false
	}
	return words, 0, true
}

// with gives the service to do, and says what went wrong.
func (c *command) with(ctx context.Context, do func(ids IDs) error) int {
	return c.said(c.using(ctx, do))
}

// said says what went wrong, and gives the exit code.
func (c *command) said(err error) int {
	if err == nil {
		return 0
	}
	text := err.Error()
	if e := (*errs.Error)(nil); errors.As(err, &e) {
		text = e.Message
		if e.Kind == errs.Internal && e.Cause != nil {
			text = e.Cause.Error() // it is the user's own data directory
		}
	} else if e := (*connect.Error)(nil); errors.As(err, &e) {
		text = e.Message()
	}
	fmt.Fprintf(c.errOut, "%s: %s\n", c.name, text)
	return 1
}

func (c *command) using(ctx context.Context, do func(ids IDs) error) (err error) {
	if c.url != "" {
		client, err := c.client()
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

// client of the server.
func (c *command) client() (idv1connect.IDServiceClient, error) {
	key := c.key
	if file, ok := strings.CutPrefix(key, "@"); ok {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		key = strings.TrimSpace(string(b))
	}
	if !strings.HasPrefix(c.url, "http://") && !strings.HasPrefix(c.url, "https://") {
		return nil, errors.New("--url begins with http:// or https://")
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	return idv1connect.NewIDServiceClient(&http.Client{Transport: transport}, strings.TrimRight(c.url, "/"),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
				r.Header().Set("Authorization", "Bearer "+key)
				return next(ctx, r)
			}
		}))), nil
}

// remote is a server's service.
type remote struct{ client idv1connect.IDServiceClient }

func call[Req, Res any](ctx context.Context, do func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), r *Req) (*Res, error) {
	out, err := do(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return out.Msg, nil
}

// Next asks the server.
func (r remote) Next(ctx context.Context, q *idv1.NextRequest) (*idv1.NextResponse, error) {
	return call(ctx, r.client.Next, q)
}

// Explain asks the server.
func (r remote) Explain(ctx context.Context, q *idv1.ExplainRequest) (*idv1.ExplainResponse, error) {
	return call(ctx, r.client.Explain, q)
}

// PutTag asks the server.
func (r remote) PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error) {
	return call(ctx, r.client.PutTag, &idv1.PutTagRequest{Tag: t})
}

// ListTags asks the server.
func (r remote) ListTags(ctx context.Context, q *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error) {
	return call(ctx, r.client.ListTags, q)
}

// DeleteTag asks the server.
func (r remote) DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error) {
	return call(ctx, r.client.DeleteTag, &idv1.DeleteTagRequest{Name: name})
}
