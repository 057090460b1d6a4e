package idcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
)

const batch = 10_000 // maximum number of ids in one call

const nextAbout = `next prints ids, one per line, in the order of their generation. An id is never issued again, even if the output is lost. Only one
process can open a data directory: if a server uses it, give --url and --key of the server.
`

func (c *command) next(ctx context.Context, args []string) int {
	fs := c.flags("next")
	r := &idv1.NextRequest{}
	var scheme string
	fs.StringVar(&scheme, "scheme", "", "`name` of a scheme: snowflake, sonyflake, segment, multiprimary, sequence, readable, uuidv7, ulid or rule")
	fs.StringVar(&r.Tag, "tag", "", "`name` of a tag, instead of a scheme")
	count := fs.Int64("count", 1, "`number` of ids")
	fs.Uint64Var(&r.Key, "for", 0, "for sequences, the `key` of the counter; for readable ids, the conversation")
	typ := fs.Uint("type", 1, "for readable ids, the conversation's `type`, 0 to 15")
	if _, code, ok := c.parse(fs, args, "--scheme NAME [flags]", nextAbout, 0); !ok {
		return code
	}
	switch {
	case (scheme == "") == (r.Tag == ""):
		fmt.Fprintf(c.errOut, "%s: give a --scheme or a --tag; %s --help lists the schemes\n", c.name, c.name)
		return 2
	case scheme != "" && !slices.Contains(idservice.Schemes(), scheme):
		fmt.Fprintf(c.errOut, "%s: there is no scheme %q; the schemes are %s\n", c.name, scheme, strings.Join(idservice.Schemes(), ", "))
		return 2
	case *count < 1:
		fmt.Fprintf(c.errOut, "%s: --count must be at least 1, not %d\n", c.name, *count)
		return 2
	}
	r.Tag += scheme
	r.Type = uint32(min(*typ, 1<<31))
	if scheme == idservice.SchemeUUIDv7 || scheme == idservice.SchemeULID {
		c.open = func(context.Context, string) (IDs, func() error, error) {
			return pure{texts: idservice.NewTexts(clock.System{})}, func() error { return nil }, nil
		}
	}
	return c.with(ctx, func(ids IDs) error { return c.print(ctx, ids, r, *count) })
}

// print writes count ids, a batch at a time.
func (c *command) print(ctx context.Context, ids IDs, r *idv1.NextRequest, count int64) error {
	out := bufio.NewWriterSize(c.out, 64<<10)
	var line []byte
	for r.Count = 0; count > 0; count -= r.Count {
		// The first batch is small, so that the first ids and errors appear soon.
		r.Count = min(count, max(r.Count, 1)*10, batch)
		if ctx.Err() != nil {
			return errors.New("stopped")
		}
		got, err := retry(ctx, func() (*idv1.NextResponse, error) { return ids.Next(ctx, r) })
		if err != nil {
			if ctx.Err() != nil {
				return errors.New("stopped")
			}
			return err
		}
		for _, n := range got.Numbers {
			line = append(strconv.AppendUint(line[:0], n, 10), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		for _, s := range got.Texts {
			line = append(append(line[:0], s...), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// maxWait bounds the retries of temporary errors, such as a clock that stepped back a little.
const maxWait = 10 * time.Second

// retry repeats a call while it fails with an error that names a delay, for at most maxWait.
func retry(ctx context.Context, request func() (*idv1.NextResponse, error)) (*idv1.NextResponse, error) {
	for waited := time.Duration(0); ; {
		got, err := request()
		e := (*errs.Error)(nil)
		if !errors.As(err, &e) || e.Retry <= 0 || waited+e.Retry > maxWait {
			return got, err
		}
		waited += e.Retry
		if backoff.Sleep(ctx, e.Retry) != nil {
			return nil, err
		}
	}
}

// pure generates the ids of schemes that store nothing.
type pure struct {
	IDs
	texts *idservice.Texts
}

// Next generates ids.
func (p pure) Next(_ context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error) {
	list, err := p.texts.Next(r.Tag, int(r.Count))
	return &idv1.NextResponse{Texts: list}, err
}
