package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

var transactionVerbs = []string{"list", "show", "retry"}

// transactionsCommand is a command line of rialto admin transactions.
type transactionsCommand struct {
	verb, state string
	id          uint64
	limit       int
	all         bool
	record      auditlog.Recorder
}

const maxTransactionsPage = 1000

// retryBatch is how many transactions retry --all reads at once.
const retryBatch = 100

// adminTransactionsMain is rialto admin transactions.
func adminTransactionsMain(ctx context.Context, verb string, args []string, out, errOut io.Writer) int {
	c := transactionsCommand{verb: verb, limit: maxTransactionsPage}
	fs := flag.NewFlagSet("rialto admin transactions "+verb, flag.ContinueOnError)
	if verb == "list" {
		fs.StringVar(&c.state, "state", "failed", "`state` of the transactions: prepared, committed, sent, failed, or rolled_back")
		commandline.Int(fs, &c.limit, "limit", 100, 1, maxTransactionsPage, "maximum `number` of transactions, 1 to 1,000")
	} else {
		fs.Uint64Var(&c.id, "id", 0, "`id` of the transaction")
	}
	if verb == "retry" {
		fs.BoolVar(&c.all, "all", false, "retry all that failed")
	}
	return withJobs(ctx, fs, args, out, errOut, adminCommand{changes: verb == "retry", check: func() string { return c.check() }, run: func(db *sqldb.DB, jobs *job.Service, by changer) error {
		c.record = by.record()
		all, err := messagetransaction.New(ctx, messagetransaction.Deps{DB: db, Jobs: jobs, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, messagetransaction.Config{})
		if err != nil {
			return err
		}
		return c.run(ctx, all, jobs, out)
	}})
}

// check returns what is wrong with the flags.
func (c transactionsCommand) check() string {
	switch {
	case c.verb == "retry" && (c.id == 0) != c.all:
		return "give either --id or --all"
	case c.verb == "show" && c.id == 0:
		return "--id is required"
	case c.verb == "list" && messagetransaction.StateOf(c.state) == 0:
		return fmt.Sprintf("unknown state %q; it is prepared, committed, sent, failed or rolled_back", c.state)
	}
	return ""
}

func (c transactionsCommand) run(ctx context.Context, all *messagetransaction.Service, jobs *job.Service, out io.Writer) error {
	switch c.verb {
	case "list":
		list, err := all.List(ctx, messagetransaction.StateOf(c.state), 0, c.limit)
		for _, i := range list {
			fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%s%s\n", i.Id, printable.Line(i.Key), printable.Line(i.Reference), messagetransaction.NameOf(i.State), moment(time.UnixMilli(i.PreparedMs)), firstLine(i.LastError), refusals(i))
		}
		return err
	case "show":
		i, err := c.find(ctx, all)
		if err != nil {
			return err
		}
		return showTransaction(ctx, out, i, jobs)
	}
	if c.all {
		return c.retryAll(ctx, all, out)
	}
	i, err := c.find(ctx, all)
	if err == nil {
		err = c.retryTransaction(ctx, all, i, out)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "sent again: 1")
	return nil
}

// find returns the transaction of --id. The service's own refusal speaks of an API key, which this command has not.
func (c transactionsCommand) find(ctx context.Context, all *messagetransaction.Service) (messagetransaction.Info, error) {
	i, err := all.Show(ctx, c.id)
	if errs.Is(err, errs.NotFound) {
		return i, fmt.Errorf("there is no transaction %d; those that have ended are kept for 3 days", c.id)
	}
	return i, err
}

// retryAll retries all transactions that failed, in batches. Those that fail again meanwhile are not tried once more.
func (c transactionsCommand) retryAll(ctx context.Context, all *messagetransaction.Service, out io.Writer) error {
	again, trimmed := 0, 0
	for below := uint64(0); ; {
		list, err := all.List(ctx, messagetransaction.StateOf("failed"), below, retryBatch)
		if err != nil {
			return err
		}
		for _, i := range list {
			err := c.retryTransaction(ctx, all, i, out)
			switch {
			case errors.Is(err, messagetransaction.ErrTrimmed):
				trimmed++
				fmt.Fprintf(out, "not sent: %d: %v\n", i.Id, err)
			case err != nil:
				return fmt.Errorf("transaction %d: %w (sent again before it: %d)", i.Id, err, again)
			default:
				again++
			}
			below = i.Id
		}
		if len(list) < retryBatch {
			break
		}
	}
	fmt.Fprintf(out, "sent again: %d\n", again)
	if trimmed > 0 {
		fmt.Fprintf(out, "cannot be sent again: %d\n", trimmed)
	}
	return nil
}

// retryTransaction retries a transaction, and says what will be sent.
func (c transactionsCommand) retryTransaction(ctx context.Context, all *messagetransaction.Service, i messagetransaction.Info, out io.Writer) error {
	if err := all.Retry(ctx, i.Id, c.record); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d of %s, %s, is committed again; a node sends:\n", i.Id, printable.Line(i.Key), printable.Line(i.Reference))
	for _, m := range i.Messages {
		if m.Seq == 0 {
			fmt.Fprintf(out, "  a message from %d to %d%s\n", m.Sender, m.Conversation, refusalOf(m))
		}
	}
	return nil
}

func refusalOf(m *transactionv1.PreparedMessage) string {
	if m.Reason == "" {
		return ""
	}
	return ", which was refused: " + m.Reason
}

// refusals are the reasons for which messages were refused.
func refusals(i messagetransaction.Info) string {
	var reasons []string
	for _, m := range i.Messages {
		if m.Reason != "" {
			reasons = append(reasons, m.Reason)
		}
	}
	return strings.Join(reasons, " ")
}

// showTransaction prints all of a transaction, with what became of its latest job.
func showTransaction(ctx context.Context, out io.Writer, i messagetransaction.Info, jobs *job.Service) error {
	ended := time.Time{}
	if i.EndedMs > 0 {
		ended = time.UnixMilli(i.EndedMs)
	}
	fmt.Fprintf(out, "id         %d\nkey        %s\nreference  %s\nstate      %s\n", i.Id, printable.Line(i.Key), printable.Line(i.Reference), messagetransaction.NameOf(i.State))
	fmt.Fprintf(out, "prepared   %s\nended      %s\nchecks     %d\nerror      %s\n", moment(time.UnixMilli(i.PreparedMs)), moment(ended), i.Checks, cmp.Or(printable.Line(i.LastError), "-"))
	switch j, err := jobs.Get(ctx, i.Job); {
	case errs.Is(err, errs.NotFound):
		fmt.Fprintf(out, "job        %d, which has ended and is deleted\n", i.Job)
	case err != nil:
		return err
	default:
		fmt.Fprintf(out, "job        %d, %s, %s\nattempts   %d, the last %s by %s\nfailures   %d of %d\njob error  %s\n", j.ID, printable.Line(j.Kind), j.State,
			j.Attempt, moment(j.Attempted), cmp.Or(printable.Line(j.AttemptedBy), "no node"), j.Failures, j.Max, cmp.Or(firstLine(j.Error), "-"))
	}
	for _, m := range i.Messages {
		fmt.Fprintf(out, "message    from %d to %d, %s", m.Sender, m.Conversation, outcomeOf(i.State, m))
		if m.Content != nil { // it is not kept of what was sent
			content, err := protojson.Marshal(m.Content)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, ": %s", printable.Line(string(content)))
		}
		fmt.Fprintln(out)
	}
	return nil
}

// outcomeOf says what became of a message.
func outcomeOf(of messagetransaction.State, m *transactionv1.PreparedMessage) string {
	switch {
	case m.Seq != 0:
		return strings.TrimSpace(fmt.Sprintf("sent as seq %d %s", m.Seq, m.Id))
	case m.Reason != "":
		return "refused: " + m.Reason
	case messagetransaction.NameOf(of) == "rolled_back":
		return "never sent"
	}
	return "not sent yet"
}
