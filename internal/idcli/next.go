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

	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
)

const batch = 10_000 // ids of one call

const nextAbout = `next prints ids, one per line, in the order in which they were given. Each is given once, whatever becomes of the output. A
data directory is for one process at a time: where a server has it open, ask the server.
`

func (c *command) next(ctx context.Context, args []string) int {
	fs := c.flags("next")
	r := &idv1.NextRequest{}
	var scheme string
	fs.StringVar(&scheme, "scheme", "", "`name` of a scheme: snowflake, sonyflake, segment, multiprimary, sequence, readable, uuidv7, ulid or rule")
	fs.StringVar(&r.Tag, "tag", "", "`name` of a tag, instead of a scheme")
	count := fs.Int64("count", 1, "how `many`")
	fs.Uint64Var(&r.Key, "for", 0, "of sequences the `number` whose counter it is; of readable ids, of the conversation")
	typ := fs.Uint("type", 1, "of readable ids the conversation's `type`, 0 to 15")
	if _, code, ok := c.parse(fs, args, "--scheme NAME [flags]", nextAbout, 0); !ok {
		return code
	}
	switch {
	case (scheme == "") == (r.Tag == ""):
		fmt.Fprintf(c.errOut, "%s: give a --scheme or a --tag; %s --help lists the schemes\n", c.name, c.name)
		return 2
	case scheme != "" && !slices.Contains(idgen.Schemes(), scheme):
		fmt.Fprintf(c.errOut, "%s: there is no scheme %q; there are %s\n", c.name, scheme, strings.Join(idgen.Schemes(), ", "))
		return 2
	case *count < 1:
		fmt.Fprintf(c.errOut, "%s: --count is at least 1, not %d\n", c.name, *count)
		return 2
	}
	r.Tag += scheme
	r.Type = uint32(min(*typ, 1<<31))
	if scheme == idgen.SchemeUUIDv7 || scheme == idgen.SchemeULID {
		c.open = func(context.Context, string) (IDs, func() error, error) {
			return pure{texts: idgen.NewTexts(clock.System{})}, func() error { return nil }, nil
		}
	}
	return c.with(ctx, func(ids IDs) error { return c.print(ctx, ids, r, *count) })
}

// print writes count ids, a batch at a time.
func (c *command) print(ctx context.Context, ids IDs, r *idv1.NextRequest, count int64) error {
	out := bufio.NewWriterSize(c.out, 64<<10)
	var line []byte
	for r.Count = 0; count > 0; count -= r.Count {
		// One at first: it is out soon, and what is wrong is told soon.
		r.Count = min(count, max(r.Count, 1)*10, batch)
		if ctx.Err() != nil {
			return errors.New("stopped")
		}
		got, err := patiently(ctx, func() (*idv1.NextResponse, error) { return ids.Next(ctx, r) })
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

// patience with what will be over soon, as a clock that stepped back a little.
const patience = 10 * time.Second

// patiently asks again as long as the answer is to come again, and soon.
func patiently(ctx context.Context, ask func() (*idv1.NextResponse, error)) (*idv1.NextResponse, error) {
	for waited := time.Duration(0); ; {
		got, err := ask()
		e := (*errs.Error)(nil)
		if !errors.As(err, &e) || e.Retry <= 0 || waited+e.Retry > patience {
			return got, err
		}
		waited += e.Retry
		again := time.NewTimer(e.Retry)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, err
		}
	}
}

// pure gives the ids of schemes that need no records.
type pure struct {
	IDs
	texts *idgen.Texts
}

// Next gives ids.
func (p pure) Next(_ context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error) {
	list, err := p.texts.Next(r.Tag, int(r.Count))
	return &idv1.NextResponse{Texts: list}, err
}
