package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
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
}

const maxTransactionsPage = 1000

// adminTransactionsMain is rialto admin transactions.
func adminTransactionsMain(ctx context.Context, verb string, args []string, out, errOut io.Writer) int {
	c := transactionsCommand{verb: verb, limit: maxTransactionsPage}
	fs := flag.NewFlagSet("rialto admin transactions "+verb, flag.ContinueOnError)
	if verb == "list" {
		fs.StringVar(&c.state, "state", "failed", "`state` of the transactions: prepared, committed, sent, failed, or rolled_back")
		fs.IntVar(&c.limit, "limit", 100, "maximum `number` of transactions, 1 to 1,000")
	} else {
		fs.Uint64Var(&c.id, "id", 0, "`id` of the transaction")
	}
	if verb == "retry" {
		fs.BoolVar(&c.all, "all", false, "retry all that failed")
	}
	return withJobs(ctx, fs, args, out, errOut, func() string { return c.check() }, func(db *sqldb.DB, jobs *job.Service) error {
		all, err := messagetransaction.New(ctx, messagetransaction.Deps{DB: db, Jobs: jobs, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, messagetransaction.Config{})
		if err != nil {
			return err
		}
		return c.run(ctx, all, out)
	})
}

// check returns what is wrong with the flags.
func (c transactionsCommand) check() string {
	switch {
	case c.verb == "retry" && (c.id == 0) != c.all:
		return "give either --id or --all"
	case c.verb == "show" && c.id == 0:
		return "--id is required"
	case c.verb == "list" && stateOf(c.state) == 0:
		return fmt.Sprintf("unknown state %q; it is prepared, committed, sent, failed or rolled_back", c.state)
	case c.limit < 1 || c.limit > maxTransactionsPage:
		return "--limit is 1 to 1,000"
	}
	return ""
}

const statePrefix = "MESSAGE_TRANSACTION_STATE_"

func stateOf(name string) messagetransaction.State {
	return messagetransaction.State(transactionv1.MessageTransactionState_value[statePrefix+strings.ToUpper(name)])
}

func nameOf(s messagetransaction.State) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), statePrefix))
}

func (c transactionsCommand) run(ctx context.Context, all *messagetransaction.Service, out io.Writer) error {
	switch c.verb {
	case "list":
		list, err := all.List(ctx, stateOf(c.state), c.limit)
		for _, i := range list {
			first, _, _ := strings.Cut(i.LastError, "\n")
			fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%s%s\n", i.Id, printable.Line(i.Key), printable.Line(i.Reference), nameOf(i.State), moment(time.UnixMilli(i.PreparedMs)), printable.Line(first), refusals(i))
		}
		return err
	case "show":
		i, err := all.Show(ctx, c.id)
		if err != nil {
			return err
		}
		return showTransaction(out, i)
	}
	ids := []uint64{c.id}
	if c.all {
		list, err := all.List(ctx, stateOf("failed"), c.limit)
		if err != nil {
			return err
		}
		ids = nil
		for _, i := range list {
			ids = append(ids, i.Id)
		}
	}
	again := 0
	for _, n := range ids {
		err := all.Retry(ctx, n)
		if c.all && errors.Is(err, messagetransaction.ErrTrimmed) {
			fmt.Fprintf(out, "not sent: %d: %v\n", n, err)
			continue
		}
		if err != nil {
			return err
		}
		again++
	}
	fmt.Fprintf(out, "sent again: %d\n", again)
	return nil
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

// showTransaction prints all of a transaction.
func showTransaction(out io.Writer, i messagetransaction.Info) error {
	ended := time.Time{}
	if i.EndedMs > 0 {
		ended = time.UnixMilli(i.EndedMs)
	}
	fmt.Fprintf(out, "id         %d\nkey        %s\nreference  %s\nstate      %s\n", i.Id, printable.Line(i.Key), printable.Line(i.Reference), nameOf(i.State))
	fmt.Fprintf(out, "prepared   %s\nended      %s\nchecks     %d\nerror      %s\njob        %d\n", moment(time.UnixMilli(i.PreparedMs)), moment(ended), i.Checks, printable.Line(i.LastError), i.Job)
	for _, m := range i.Messages {
		content, err := protojson.Marshal(m.Content)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "message    from %d to %d, seq %d, %s %s\n", m.Sender, m.Conversation, m.Seq, m.Reason, printable.Line(string(content)))
	}
	return nil
}
