// Package rank implements the command rialto rank: it trains models of the ranked feed with what a server has logged, evaluates them offline, and stores and activates them on the server.
// It is a client of RankingAdminService.
package rank

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/service/ranking"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

const usage = `Usage: rialto rank VERB [flags]

  examples   save what the feed has shown, and what readers did: --url URL --key KEY --out examples.jsonl
  train      train a model: --url URL --key KEY, or --examples FILE, or --simulated; --out model.json
  evaluate   judge a model offline, as a page with plots: --model model.json --examples FILE or --simulated; --out report.html
  upload     store a model on the server: --url URL --key KEY --model model.json
  models     list the stored models, their evaluations, and which one is in use: --url URL --key KEY
  activate   rank by a stored model, or with --model 0 by the weights: --url URL --key KEY --model ID

rialto rank VERB --help shows a verb's flags.
`

// Sizes of the simulation: readers with their pages, and readers by whom a model is judged.
const simulatedReaders, simulatedPages, simulatedJudges = 300, 20, 60

// command is a command line.
type command struct {
	verb, examples, model, out, by, reason string
	server                                 apiclient.Config
	simulated                              bool
	seed                                   uint64
	stdout                                 io.Writer
}

// Main runs rialto rank. It returns 0 on success, 1 after a failure, and 2 for an invalid command line.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	verbs := map[string]func(*command, context.Context) error{"examples": (*command).save, "train": (*command).train, "evaluate": (*command).evaluate, "upload": (*command).upload, "models": (*command).list, "activate": (*command).activate}
	if len(args) == 0 || verbs[args[0]] == nil {
		isHelp := len(args) > 0 && (args[0] == "help" || args[0] == "--help" || args[0] == "-h")
		if isHelp {
			_, _ = io.WriteString(stdout, usage)
			return 0
		}
		problem := "a verb is missing"
		if len(args) > 0 {
			problem = commandline.Unknown(args[0], slices.Sorted(maps.Keys(verbs)))
		}
		_, _ = fmt.Fprintf(stderr, "rialto rank: %s\n\n%s", problem, usage)
		return 2
	}
	c := &command{verb: args[0], stdout: stdout, server: apiclient.Config{Patience: apiclient.DefaultPatience}}
	fs := flag.NewFlagSet("rialto rank "+c.verb, flag.ContinueOnError)
	fs.SetOutput(stderr)
	c.flags(fs)
	if err := fs.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if fault := c.check(fs.Args()); fault != "" {
		_, _ = fmt.Fprintf(stderr, "rialto rank %s: %s\n", c.verb, fault)
		return 2
	}
	if err := verbs[c.verb](c, ctx); err != nil {
		_, _ = fmt.Fprintf(stderr, "rialto rank %s: %s\n", c.verb, text(err))
		return 1
	}
	return 0
}

// text returns what to say of an error: of our own ones without their kinds.
func text(err error) string {
	if e := (*errs.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// flags adds the flags of the verb.
func (c *command) flags(fs *flag.FlagSet) {
	uses := func(verbs string) bool { return strings.Contains(" "+verbs+" ", " "+c.verb+" ") }
	if uses("examples train evaluate upload models activate") {
		c.server.AddFlags(fs, "a listener of the server")
	}
	if uses("train evaluate") {
		fs.StringVar(&c.examples, "examples", "", "`file` of rialto rank examples, in place of --url")
		fs.BoolVar(&c.simulated, "simulated", false, "simulated readers whose tastes are known, in place of --url")
		fs.Uint64Var(&c.seed, "seed", 1, "`number` of the simulation")
	}
	switch c.verb {
	case "evaluate", "upload":
		fs.StringVar(&c.model, "model", "", "`file` of rialto rank train")
	case "activate":
		fs.StringVar(&c.model, "model", "", "`id` of a stored model; 0: the weights")
	}
	if uses("examples train evaluate") {
		fs.StringVar(&c.out, "out", map[string]string{"examples": "examples.jsonl", "train": "model.json", "evaluate": "ranking-report.html"}[c.verb], "`file` to write")
	}
	if uses("upload activate") {
		fs.StringVar(&c.by, "by", "", "who does it, for the records; of a key with a role it is the key")
		fs.StringVar(&c.reason, "reason", "", "`text` for the records")
	}
}

// check returns what is wrong with the command line.
func (c *command) check(rest []string) string {
	sources := 0
	for _, given := range []bool{c.server.URL != "", c.examples != "", c.simulated} {
		if given {
			sources++
		}
	}
	switch {
	case len(rest) > 0:
		return fmt.Sprintf("unexpected argument %q", rest[0])
	case sources != 1 && (c.verb == "train" || c.verb == "evaluate"):
		return "give one of --url, --examples and --simulated"
	case sources != 1:
		return "--url is required"
	case c.server.URL != "" && c.server.Check() != nil:
		return c.server.Check().Error()
	case c.model == "" && (c.verb == "evaluate" || c.verb == "upload" || c.verb == "activate"):
		return "--model is required"
	}
	return ""
}

// load returns the examples that the command names.
func (c *command) load(ctx context.Context) (*data, error) {
	switch {
	case c.simulated:
		return simulated(c.seed), nil
	case c.examples != "":
		return readFile(c.examples)
	}
	s, err := apiclient.New(c.server)
	if err != nil {
		return nil, err
	}
	return examples(ctx, s)
}

// simulated returns what simulated readers did: for training, and for judging.
func simulated(seed uint64) *data {
	s := ranking.Simulate(seed, simulatedReaders, simulatedPages, simulatedJudges)
	return &data{Features: ranking.ModelFeatures(), Examples: s.Impressions, Judges: s.Candidates, Name: fmt.Sprintf("%d simulated readers with known tastes, each with 1,000 candidates (seed %d)", simulatedJudges, seed)}
}

func (c *command) save(ctx context.Context) error {
	d, err := c.load(ctx)
	if err != nil {
		return err
	}
	if err := d.write(c.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "%d examples are in %s\n", len(d.Examples), c.out)
	return err
}

func (c *command) train(ctx context.Context) error {
	d, err := c.load(ctx)
	if err != nil {
		return err
	}
	m, err := clickmodel.Train(d.Features, d.Examples)
	if err != nil {
		return err
	}
	m.FromMs, m.ToMs = d.FromMs, d.ToMs
	b, err := clickmodel.Encode(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.out, b, 0o644); err != nil {
		return err
	}
	e := &m.Evaluation
	_, err = fmt.Fprintf(c.stdout, `%s: trained with %d posts that were shown, %d of them opened; judged by %d others in %d lists
                 AUC    NDCG@20
  this model     %.3f  %.3f
  by popularity  %.3f  %.3f
  by age         %.3f  %.3f
calibration error %.4f%s
`, c.out, m.Click.Examples, m.Click.Positives, e.Examples, e.Lists, e.Model.AUC, e.Model.NDCG, e.Popularity.AUC, e.Popularity.NDCG, e.Recency.AUC, e.Recency.NDCG, e.CalibrationError, conversions(m))
	return err
}

func conversions(m *clickmodel.Model) string {
	if m.Conversion == nil {
		return "\nno estimates of conversions: " + m.NoConversion
	}
	return fmt.Sprintf("; of conversions %.4f", m.Evaluation.Conversions.CalibrationError)
}

func (c *command) evaluate(ctx context.Context) error {
	b, err := os.ReadFile(c.model)
	if err != nil {
		return err
	}
	m, err := clickmodel.Decode(b, ranking.ModelFeatures())
	if err != nil {
		return err
	}
	d, err := c.load(ctx)
	if err != nil {
		return err
	}
	judges := d.Judges
	if judges == nil {
		judges = clickmodel.Held(d.Examples) // the model may have been trained with the others
	}
	if len(judges) == 0 {
		return errors.New("there are no examples: nothing was shown, or clients do not record views and clicks")
	}
	r := &report{Name: c.model, Data: d.Name, Model: m, Evaluation: clickmodel.Evaluate(m, judges)}
	if err := r.write(c.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "%s: NDCG@20 %.3f, by popularity %.3f, by age %.3f; AUC %.3f; calibration error %.4f\n", c.out, r.Evaluation.Model.NDCG, r.Evaluation.Popularity.NDCG, r.Evaluation.Recency.NDCG, r.Evaluation.Model.AUC, r.Evaluation.CalibrationError)
	return err
}

func (c *command) upload(ctx context.Context) error {
	b, err := os.ReadFile(c.model)
	if err != nil {
		return err
	}
	s, err := apiclient.New(c.server)
	if err != nil {
		return err
	}
	m := &rankingv1.RankingModel{}
	if err := s.CallOnce(ctx, rankingv1connect.RankingAdminServicePutRankingModelProcedure, &rankingv1.PutRankingModelRequest{File: b, By: c.by, Reason: c.reason}, m); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "the server has it as model %d; rialto rank activate --model %d makes all nodes rank by it\n", m.Id, m.Id)
	return err
}

func (c *command) activate(ctx context.Context) error {
	n := uint64(0)
	if _, err := fmt.Sscanf(c.model, "%d", &n); err != nil {
		return fmt.Errorf("--model is the id of a stored model, and not %q", c.model)
	}
	s, err := apiclient.New(c.server)
	if err != nil {
		return err
	}
	r := &rankingv1.ListRankingModelsResponse{}
	if err := s.Call(ctx, rankingv1connect.RankingAdminServiceActivateRankingModelProcedure, &rankingv1.ActivateRankingModelRequest{Model: n, By: c.by, Reason: c.reason}, r); err != nil {
		return err
	}
	return c.print(r)
}

func (c *command) list(ctx context.Context) error {
	s, err := apiclient.New(c.server)
	if err != nil {
		return err
	}
	r := &rankingv1.ListRankingModelsResponse{}
	if err := s.Call(ctx, rankingv1connect.RankingAdminServiceListRankingModelsProcedure, &rankingv1.ListRankingModelsRequest{}, r); err != nil {
		return err
	}
	return c.print(r)
}

// print prints the models of a server.
func (c *command) print(r *rankingv1.ListRankingModelsResponse) error {
	if r.Fallback != "" {
		_, _ = fmt.Fprintln(c.stdout, r.Fallback) // the flush below reports a failure
	}
	_, _ = fmt.Fprintf(c.stdout, "%d shown posts are in the log\n", r.Shown)
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "model\tstored\tby\tclicks\tNDCG@20\tby popularity\tcalibration error\tin use")
	for _, m := range r.Models {
		use := ""
		if m.Id == r.Active {
			use = "yes"
		}
		e := m.Evaluation
		if e == nil {
			_, _ = fmt.Fprintf(w, "%d\t%s\t%s\tcannot be used: %s\t\t\t\t%s\n", m.Id, time.UnixMilli(m.CreatedMs).UTC().Format(time.DateTime), m.By, m.Reason, use)
			continue
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%.3f\t%.3f\t%.4f\t%s\n", m.Id, time.UnixMilli(m.CreatedMs).UTC().Format(time.DateTime), m.By, m.Clicks, e.Model.GetNdcg(), e.Popularity.GetNdcg(), e.CalibrationError, use)
	}
	return w.Flush()
}
