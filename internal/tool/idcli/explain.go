package idcli

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const explainAbout = `explain shows the parts of an id. A number may be valid in several schemes; all readings are shown, the likeliest first. --scheme selects
one. To decode ids of a tag's rule, give the place of the tag by --data or --url.
`

func (c *command) explain(ctx context.Context, args []string) int {
	fs := c.flags("explain")
	data := fs.Lookup("data")
	data.DefValue = ""
	c.data = ""
	scheme := fs.String("scheme", "", "`name` of the id's scheme, if it is known")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	words, code, ok := c.parse(fs, args, "ID [flags]", explainAbout, 1)
	if !ok {
		return code
	}
	if c.data == "" {
		c.open = func(context.Context, string) (IDs, func() error, error) {
			return pure{}, func() error { return nil }, nil
		}
	}
	return c.with(ctx, func(ids IDs) error {
		got, err := ids.Explain(ctx, &idv1.ExplainRequest{Id: words[0], Scheme: *scheme})
		if err != nil {
			return err
		}
		if *asJSON {
			return c.json(got)
		}
		for i, r := range got.Readings {
			if i > 0 {
				fmt.Fprintln(c.out)
			}
			fmt.Fprintf(c.out, "%s", r.Scheme)
			if r.Doubt != "" {
				fmt.Fprintf(c.out, "  (%s)", r.Doubt)
			}
			fmt.Fprintln(c.out)
			for _, p := range r.Parts {
				fmt.Fprintf(c.out, "  %-14s %s\n", p.Name, p.Value)
			}
		}
		return nil
	})
}

// Explain returns the readings that need no stored tags.
func (p pure) Explain(_ context.Context, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error) {
	readings, err := idservice.Explain(r.Id, r.Scheme, nil, clock.System{}.Now())
	return &idv1.ExplainResponse{Readings: readings}, err
}

func (c *command) json(m proto.Message) error {
	b, err := protojson.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintf(c.out, "%s\n", b)
	}
	return err
}
