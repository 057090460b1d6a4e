package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/lifecycle"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/tool/move"
)

const (
	keyUsage = `  rialto admin key create --data DIR --name NAME [--audit] [--bot USER [--bridge NAME]] [--role ROLE]   create an API key for a server; it is shown once.
                                                   --audit: it may read messages as they were before edits and recalls, and trace them with rialto where
                                                   --bot: it stands for one user only, by id
                                                   --bridge: and that is the bot of a bridge with this name
                                                   --role: it is for a person, in the operators' console and the commands that ask for a role (rialto backup, import,
                                                   export, rank): auditor (reads), moderator (decides about reports, and bans) or operator (all of that, and changes)
  rialto admin key list   --data DIR               list the keys, with what they may do and when they were created
  rialto admin key revoke --data DIR --name NAME   revoke the keys with a name
`
	jobsUsage = `  rialto admin jobs list    --data DIR [--state discarded] [--queue default] [--limit 100]   list background jobs
  rialto admin jobs show    --data DIR --id ID                    show a job with its arguments and its error
  rialto admin jobs retry   --data DIR --id ID | --all [--kind KIND]   run dead letters again
  rialto admin jobs discard --data DIR --id ID                    end a job that waits; stop one that runs
`
	transactionsUsage = `  rialto admin transactions list  --data DIR [--state failed] [--limit 100]   list message transactions of business servers
  rialto admin transactions show  --data DIR --id ID              show a transaction with its messages and its error
  rialto admin transactions retry --data DIR --id ID | --all      send the messages again that were refused
`
	activityUsage = `  rialto admin activity show    --data DIR [--days 30]            for each of the last days, the users who were active, and the share of
                                                   them who were active again 1, 7 and 30 days later
`
	adminNotes = `
They use a data directory, or with --postgres ADDRESS a database, also while a server uses it. create also creates the data
directory if it does not exist, like the first rialto serve. What changes something is in the audit log, which the console shows: under
the user of the operating system, with --operator NAME and --reason TEXT.
Exit codes: 0 on success, 1 after a failure, 2 for an invalid command line.
`
)

// adminGroup are the commands of rialto admin about one thing.
type adminGroup struct {
	name, usage string
	verbs       []string
	main        func(ctx context.Context, verb string, args []string, out, errOut io.Writer) int
}

// AdminMain is rialto admin. It works on a data directory or a database, also while a server runs on it.
func AdminMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	usage := "Usage:\n" + keyUsage + "\n" + jobsUsage + "\n" + transactionsUsage + "\n" + activityUsage + adminNotes
	if len(args) > 0 && isHelp(args[0]) {
		fmt.Fprint(out, usage)
		return 0
	}
	groups := []adminGroup{
		{"key", keyUsage, []string{"create", "list", "revoke"}, adminKeyMain},
		{"jobs", jobsUsage, jobVerbs, adminJobsMain},
		{"transactions", transactionsUsage, transactionVerbs, adminTransactionsMain},
		{"activity", activityUsage, []string{"show"}, adminActivityMain},
	}
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
		if len(args) == 0 || args[0] != g.name {
			continue
		}
		usage = "Usage:\n" + g.usage + adminNotes
		rest := args[1:]
		switch {
		case len(rest) > 0 && isHelp(rest[0]):
			fmt.Fprint(out, usage)
			return 0
		case len(rest) == 0 || !slices.Contains(g.verbs, rest[0]):
			return noCommand("rialto admin "+g.name, rest, g.verbs, usage, errOut)
		}
		return g.main(ctx, rest[0], rest[1:], out, errOut)
	}
	return noCommand("rialto admin", args, names, usage, errOut)
}

func isHelp(word string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, word)
}

// adminKeyMain is rialto admin key.
func adminKeyMain(ctx context.Context, verb string, args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto admin key "+verb, flag.ContinueOnError)
	var where adminDatabase
	where.add(fs)
	key, by := account.NewKey{}, auditFlags{}
	if verb != "list" {
		fs.StringVar(&key.Name, "name", "", "`name` of the key; required")
		by.add(fs)
	}
	if verb == "create" {
		addKeyFlags(fs, &key)
	}
	if code, ok := parse(fs, "It also works while a server uses the directory.\n", args, out, errOut); !ok {
		return code
	}
	wrong := by.check()
	switch {
	case key.Name == "" && verb != "list":
		wrong = "--name is required"
	case key.Bridge != "" && key.Bot == 0:
		wrong = "--bridge needs --bot USER"
	}
	if wrong != "" {
		fmt.Fprintf(errOut, "rialto admin key %s: %s\n", verb, wrong)
		return 2
	}
	err := where.use(ctx, fs, func(db *sqldb.DB) error { return adminKey(ctx, verb, db, key, by, out) })
	if errors.As(err, new(*noDatabase)) && verb == "create" {
		err = createFirstKey(ctx, where.data, key, by, out, errOut)
	}
	if err != nil {
		fmt.Fprintln(errOut, "rialto admin:", plain(err))
		return 1
	}
	return 0
}

// addKeyFlags adds the flags of what a new key may do.
func addKeyFlags(fs *flag.FlagSet, key *account.NewKey) {
	fs.BoolVar(&key.Audit, "audit", false, "it may read messages as they were before edits and recalls, and trace them with rialto where")
	fs.Func("role", "`role` of a person, in the operators' console and the commands that ask for one: auditor (reads), moderator (decides about reports, and bans) or operator (all of that, and changes, backs up, imports and exports)", func(role string) (err error) {
		key.Role, err = operatorRole(role)
		return err
	})
	fs.Func("bot", "`id` of the user whom it stands for, as PutUser returned it; without it, all users", func(text string) error {
		bot, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errors.New("--bot takes the id that PutUser returned, a number")
		}
		key.Bot = id.User(bot)
		return nil
	})
	fs.StringVar(&key.Bridge, "bridge", "", "`name` of the bridge that uses it, with --bot")
}

// operatorRole returns a role in the operators' console by its name.
func operatorRole(name string) (id.OperatorRole, error) {
	for _, r := range []id.OperatorRole{id.Auditor, id.Operator, id.Moderator} {
		if r.String() == name {
			return r, nil
		}
	}
	return id.NoOperator, errors.New("a role is auditor, moderator or operator")
}

// noDatabase is the error of a data directory without a database.
type noDatabase struct{ data string }

func (e *noDatabase) Error() string {
	return e.data + " has no database; use the --data of a server that has run, or start with rialto admin key create"
}

// adminCommand is a command of rialto admin that uses jobs.
type adminCommand struct {
	// changes: it changes something, which the audit log has.
	changes bool
	// check returns what is wrong with the flags.
	check func() string
	// run runs it. by has no audit log unless the command changes something.
	run func(db *sqldb.DB, jobs *job.Service, by changer) error
}

// withJobs parses the flags of a command, and runs it with the jobs of a database. It returns the exit code. The command also works while servers run.
func withJobs(ctx context.Context, flags *flag.FlagSet, args []string, out, errOut io.Writer, c adminCommand) int {
	var where adminDatabase
	where.add(flags)
	by := auditFlags{}
	if c.changes {
		by.add(flags)
	}
	if code, ok := parse(flags, "It also works while servers run.\n", args, out, errOut); !ok {
		return code
	}
	if wrong := cmp.Or(c.check(), by.check()); wrong != "" {
		fmt.Fprintf(errOut, "%s: %s\n", flags.Name(), wrong)
		return 2
	}
	err := where.use(ctx, flags, func(db *sqldb.DB) error {
		jobs, err := job.New(ctx, job.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, job.Config{})
		if err != nil {
			return err
		}
		who := changer{}
		if c.changes {
			if who, err = by.changer(ctx, db); err != nil {
				return err
			}
		}
		return c.run(db, jobs, who)
	})
	if err != nil {
		fmt.Fprintln(errOut, "rialto admin:", err)
		return 1
	}
	return 0
}

// adminDatabase are the flags that say which database a command uses. Without them it is that of the environment, as for serve: in a container, the one of its server.
type adminDatabase struct{ data, postgres string }

func (d *adminDatabase) add(fs *flag.FlagSet) {
	fs.StringVar(&d.data, "data", commandline.DefaultData(), "data `directory`")
	fs.StringVar(&d.postgres, "postgres", "", "`address` of the database, if the server uses PostgreSQL (default: RIALTO_POSTGRES of the environment, without --data)")
}

// use calls do with the database, after the flags were parsed.
func (d *adminDatabase) use(ctx context.Context, fs *flag.FlagSet, do func(*sqldb.DB) error) error {
	named := false
	fs.Visit(func(f *flag.Flag) { named = named || f.Name == "data" || f.Name == "postgres" })
	if !named {
		d.postgres = os.Getenv("RIALTO_POSTGRES")
	}
	return inDatabase(ctx, d.data, d.postgres, do)
}

// inDatabase calls do with a database, or with that of a data directory.
func inDatabase(ctx context.Context, data, postgres string, do func(*sqldb.DB) error) (err error) {
	records := postgres
	if records == "" {
		records = filepath.Join(data, recordsFile)
		switch _, err := os.Stat(records); {
		case errors.Is(err, fs.ErrNotExist):
			return &noDatabase{data}
		case err != nil:
			return err
		}
		if err := move.CheckSource(data); err != nil {
			return err
		}
	}
	if postgres == "" {
		dir, err := lockDataDir(data)
		if !isInUse(err) {
			if err != nil {
				return err
			}
			return inLockedDir(ctx, dir, do)
		}
	}
	db, err := sqldb.OpenWith(ctx, records, sqldb.Options{Store: sqldb.StoreOptions{OtherProcesses: postgres == ""}})
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// inLockedDir calls do with the database of a data directory that no server has locked.
func inLockedDir(ctx context.Context, dir *dataDir, do func(*sqldb.DB) error) error {
	stores, err := datadir.OpenDatabase(ctx, dir.path, slog.New(slog.DiscardHandler))
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	return errors.Join(do(stores.DB), stores.Close(), dir.Close())
}

// createFirstKey opens the stores of a data directory as serve does, which creates them or refuses to, and adds the key.
func createFirstKey(ctx context.Context, data string, key account.NewKey, by auditFlags, out, errOut io.Writer) error {
	c, err := config.Load("", nil, []string{"data=" + data})
	if err != nil {
		return err
	}
	n := &Node{config: c, dictionary: sync.OnceValues(c.Search.ReadDictionary), clock: clock.System{}, logger: slog.New(slog.DiscardHandler), registry: telemetry.NewRegistry(), stack: lifecycle.New()}
	if err := n.openEngines(ctx); err != nil {
		return errors.Join(err, n.Close())
	}
	if err := errors.Join(adminKey(ctx, "create", n.db, key, by, out), n.Close()); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "rialto admin: the data directory %s is new; serve it with rialto serve --data %s\n", data, data)
	return nil
}

func adminKey(ctx context.Context, verb string, db *sqldb.DB, of account.NewKey, by auditFlags, out io.Writer) error {
	logger := slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(ctx, db, logger)
	if err != nil {
		return err
	}
	accounts, err := account.New(ctx, account.Deps{DB: db, Outbox: outbox, Clock: clock.System{}, Logger: logger}, account.Config{})
	if err != nil {
		return err
	}
	who, err := by.changer(ctx, db)
	if err != nil {
		return err
	}
	switch verb {
	case "create":
		key, err := accounts.CreateKey(ctx, of, who.record())
		if err != nil {
			return err
		}
		fmt.Fprintln(out, key)
	case "list":
		keys, err := accounts.ListKeys(ctx)
		if err != nil {
			return err
		}
		for _, k := range keys {
			fmt.Fprintf(out, "%s\t%s\t%s\n", printable.Line(k.Name), k.Access, moment(time.UnixMilli(k.CreatedMs)))
		}
	case "revoke":
		n, err := accounts.RevokeKey(ctx, of.Name, who.record())
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("unknown key %q; rialto admin key list shows the names", of.Name)
		}
		fmt.Fprintln(out, printable.Count(n, "key"), "revoked")
	}
	return nil
}
