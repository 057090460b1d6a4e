package app

import (
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

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/lifecycle"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/tool/move"
)

const adminUsage = `Usage:
  rialto admin key create --data DIR --name NAME   create an API key for a server; it is shown once
  rialto admin key list   --data DIR               list the keys' names
  rialto admin key revoke --data DIR --name NAME   revoke the keys with a name

They use a data directory, or with --postgres ADDRESS a database, also while a server uses it. create also creates the data
directory if it does not exist, like the first rialto serve.
Exit codes: 0 on success, 1 after a failure, 2 for an invalid command line.
`

// AdminMain is rialto admin. It works on a data directory or a database, also while a server runs on it.
func AdminMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	for _, a := range args[:min(2, len(args))] {
		if a == "help" || a == "-h" || a == "-help" || a == "--help" {
			fmt.Fprint(out, adminUsage)
			return 0
		}
	}
	if len(args) < 2 || args[0] != "key" || !slices.Contains([]string{"create", "list", "revoke"}, args[1]) {
		fmt.Fprint(errOut, adminUsage)
		return 2
	}
	verb := args[1]
	fs := flag.NewFlagSet("rialto admin key "+verb, flag.ContinueOnError)
	data := fs.String("data", "data", "data `directory`")
	postgres := fs.String("postgres", "", "`address` of the database, if the server uses PostgreSQL")
	name := ""
	if verb != "list" {
		fs.StringVar(&name, "name", "", "`name` of the key; required")
	}
	if code, ok := parse(fs, "It also works while a server uses the directory.\n", args[2:], out, errOut); !ok {
		return code
	}
	if name == "" && verb != "list" {
		fmt.Fprintf(errOut, "rialto admin key %s: --name is required\n", verb)
		return 2
	}
	if err := adminKeyAt(ctx, verb, *data, *postgres, name, out, errOut); err != nil {
		fmt.Fprintln(errOut, "rialto admin:", err)
		return 1
	}
	return 0
}

// adminKeyAt runs a command in a database, or in a data directory.
func adminKeyAt(ctx context.Context, verb, data, postgres, name string, out, errOut io.Writer) (err error) {
	records := postgres
	if records == "" {
		records = filepath.Join(data, recordsFile)
		switch _, err := os.Stat(records); {
		case errors.Is(err, fs.ErrNotExist) && verb == "create":
			return createFirstKey(ctx, data, name, out, errOut)
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s has no database; use the --data of a server that has run, or start with rialto admin key create", data)
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
			return adminKeyIn(ctx, verb, dir, name, out)
		}
	}
	db, err := sqldb.Open(ctx, records)
	if err != nil {
		return err
	}
	return errors.Join(adminKey(ctx, verb, db, name, out), db.Close())
}

// adminKeyIn runs a command in a data directory that no server has locked.
func adminKeyIn(ctx context.Context, verb string, dir *dataDir, name string, out io.Writer) error {
	stores, err := datadir.OpenDatabase(ctx, dir.path, slog.New(slog.DiscardHandler))
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	return errors.Join(adminKey(ctx, verb, stores.DB, name, out), stores.Close(), dir.Close())
}

// createFirstKey opens the stores of a data directory as serve does, which creates them or refuses to, and adds the key.
func createFirstKey(ctx context.Context, data, name string, out, errOut io.Writer) error {
	c, err := config.Load("", nil, []string{"data=" + data})
	if err != nil {
		return err
	}
	n := &Node{config: c, clock: clock.System{}, logger: slog.New(slog.DiscardHandler), registry: telemetry.NewRegistry(), stack: lifecycle.New()}
	if err := n.openEngines(ctx); err != nil {
		return errors.Join(err, n.Close())
	}
	if err := errors.Join(adminKey(ctx, "create", n.db, name, out), n.Close()); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "rialto admin: the data directory %s is new; serve it with rialto serve --data %s\n", data, data)
	return nil
}

func adminKey(ctx context.Context, verb string, db *sqldb.DB, name string, out io.Writer) error {
	logger := slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(ctx, db, logger)
	if err != nil {
		return err
	}
	accounts, err := account.New(ctx, account.Deps{DB: db, Outbox: outbox, Clock: clock.System{}, Logger: logger}, account.Config{})
	if err != nil {
		return err
	}
	switch verb {
	case "create":
		key, err := accounts.CreateKey(ctx, name)
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
			fmt.Fprintln(out, k)
		}
	case "revoke":
		n, err := accounts.RevokeKey(ctx, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("unknown key %q; rialto admin key list shows the names", name)
		}
		fmt.Fprintf(out, "%d keys revoked\n", n)
	}
	return nil
}
