package rank

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// data are examples for training and judging.
type data struct {
	Features []string
	Examples []clickmodel.Example
	// Judges are other examples to judge by; nil: the same.
	Judges       []clickmodel.Example
	Name         string
	FromMs, ToMs int64
}

const (
	fileFormat = 1
	maxLine    = 1 << 20
	// maxExamples is how many a server's log has at most.
	maxExamples = 1_000_000
)

// header is the first line of a file of examples.
type header struct {
	Format   int      `json:"format"`
	Features []string `json:"features"`
	Name     string   `json:"name"`
	FromMs   int64    `json:"from_ms"`
	ToMs     int64    `json:"to_ms"`
}

// line is an example in a file (docs/formats/ranking.md).
type line struct {
	List      uint64    `json:"list"`
	Post      uint64    `json:"post"`
	Features  []float64 `json:"features"`
	Clicked   bool      `json:"clicked,omitempty"`
	Goods     bool      `json:"goods,omitempty"`
	Converted bool      `json:"converted,omitempty"`
}

// write writes a file of examples.
func (d *data) write(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	to := json.NewEncoder(w)
	if err := to.Encode(header{fileFormat, d.Features, d.Name, d.FromMs, d.ToMs}); err != nil {
		return err
	}
	for i := range d.Examples {
		e := &d.Examples[i]
		if err := to.Encode(line{e.List, e.Post, e.Features, e.Clicked, e.Goods, e.Converted}); err != nil {
			return err
		}
	}
	return w.Flush()
}

// readFile reads a file of examples.
func readFile(name string) (*data, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return parse(f, name)
}

func parse(r io.Reader, name string) (*data, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var h header
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil || h.Format != fileFormat {
		return nil, fmt.Errorf("%s is no file of examples of this version; rialto rank examples makes one", name)
	}
	d := &data{Features: h.Features, Name: h.Name, FromMs: h.FromMs, ToMs: h.ToMs}
	for n := 2; lines.Scan(); n++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		if len(l.Features) != len(h.Features) {
			return nil, fmt.Errorf("%s, line %d: %d features, want %d", name, n, len(l.Features), len(h.Features))
		}
		d.Examples = append(d.Examples, clickmodel.Example{List: l.List, Post: l.Post, Features: l.Features, Clicked: l.Clicked, Goods: l.Goods, Converted: l.Converted})
	}
	return d, lines.Err()
}

// examples reads all examples of the server.
func examples(ctx context.Context, server *apiclient.Client) (*data, error) {
	d := &data{Name: "what " + server.URL() + " showed"}
	for page := ""; ; {
		r := &rankingv1.ListRankingExamplesResponse{}
		if err := server.Call(ctx, rankingv1connect.RankingAdminServiceListRankingExamplesProcedure, &rankingv1.ListRankingExamplesRequest{Page: page}, r); err != nil {
			return nil, err
		}
		d.Features = r.Features
		for _, e := range r.Examples {
			x := clickmodel.Example{List: e.List, Post: e.Post, Clicked: e.Clicked, Goods: e.Goods, Converted: e.Converted}
			for _, v := range e.Features {
				x.Features = append(x.Features, float64(v))
			}
			if d.FromMs == 0 {
				d.FromMs = e.ShownMs
			}
			d.ToMs = e.ShownMs
			d.Examples = append(d.Examples, x)
		}
		if page = r.Next; page == "" || len(d.Examples) >= maxExamples {
			return d, nil
		}
	}
}
