package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/move"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/telemetry"
)

// Version of the build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "rialto, of an unknown build"
	}
	version, revision := info.Main.Version, ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "rialto " + version + revision + " " + info.GoVersion
}

// settings collects repeated --set flags.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

// Set adds one.
func (s *settings) Set(v string) error {
	*s = append(*s, v)
	return nil
}

// flags of serve and check.
type flags struct {
	file, data, listen, admin string
	set                       settings
}

func (f *flags) parse(name, summary string, args []string, out, errOut io.Writer, more func(*flag.FlagSet)) (int, bool) {
	fs := flag.NewFlagSet("rialto "+name, flag.ContinueOnError)
	fs.StringVar(&f.file, "config", "", "configuration `file` (YAML)")
	fs.StringVar(&f.data, "data", "", "data `directory` (default ./data)")
	fs.StringVar(&f.listen, "listen", "", "`HOST:PORT` for the web app, the API and sockets (default 127.0.0.1:7070)")
	fs.StringVar(&f.admin, "admin", "", "`HOST:PORT` for metrics, profiles and health (default: 127.0.0.1, one port above --listen)")
	fs.Var(&f.set, "set", "any setting as `NAME=VALUE`, as gateway.heartbeat=10s; may be repeated")
	if more != nil {
		more(fs)
	}
	return parse(fs, summary+`
Settings come from the file, then the environment (RIALTO_GATEWAY_HEARTBEAT=10s), then flags; later ones win. rialto check
--reference lists them.
`, args, out, errOut)
}

// parse reads flags. Where it is not ok, the command ends with the code: 0 when help was asked for, 2 for what it does not know.
func parse(fs *flag.FlagSet, summary string, args []string, out, errOut io.Writer) (code int, ok bool) {
	fs.SetOutput(io.Discard) // else each mistake prints all flags
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(out, "Usage: %s [flags]\n\n%s\nFlags:\n", fs.Name(), summary)
		fs.SetOutput(out)
		fs.PrintDefaults()
		return 0, false
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("it takes no argument %q", fs.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v; %s --help lists the flags\n", fs.Name(), err, fs.Name())
		return 2, false
	}
	return 0, true
}

func (f *flags) load(environ []string) (*config.Config, error) {
	set := f.set
	for _, v := range []struct{ name, text string }{{"data", f.data}, {"listen", f.listen}, {"admin", f.admin}} {
		if v.text != "" {
			set = append(set, v.name+"="+v.text)
		}
	}
	return config.Load(f.file, environ, set)
}

const serveHelp = `serve runs a node until it gets SIGINT or SIGTERM. It then tells clients to come back, finishes what is under way and ends; a
second signal ends it at once, and loses nothing that was acknowledged.
Exit codes: 0 after a clean stop, 1 after a failure, 2 for a configuration that cannot be used.
`

const checkHelp = `check says every fault of the configuration that serve would have with the same flags, and starts nothing.
Exit codes: 0 when it can be used, 2 when not.
`

// ServeMain is rialto serve: it runs a node until ctx ends. It exits 0 after a clean stop, 1 after a failure, 2 for a bad configuration.
func ServeMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	var f flags
	if code, ok := f.parse("serve", serveHelp, args, out, errOut, nil); !ok {
		return code
	}
	c, err := f.load(os.Environ())
	if err != nil {
		fmt.Fprintf(errOut, "rialto: the configuration cannot be used:\n%v\n", err)
		return 2
	}
	logger, err := telemetry.NewLogger(c.Log, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "rialto:", err)
		return 2
	}
	defer collect()()
	h, err := Open(ctx, c, logger)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("it was stopped before it was ready")
		}
		fmt.Fprintln(errOut, "rialto cannot start:", err)
		return 1
	}
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(out, "Rialto is ready: %s://%s  (admin: http://%s, data: %s)\n", scheme, h.Address(), h.AdminAddress(), c.Data)
	code := 0
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "Rialto is stopping … (a second signal ends it at once)")
	case err := <-h.Failed():
		fmt.Fprintln(errOut, "rialto failed:", err)
		code = 1
	}
	if err := h.Close(); err != nil {
		fmt.Fprintln(errOut, "rialto:", err)
		code = 1
	}
	return code
}

// CheckMain is rialto check: it says every fault of the configuration. It exits 2 when there is one.
func CheckMain(args []string, out, errOut io.Writer) int {
	var f flags
	reference := false
	if code, ok := f.parse("check", checkHelp, args, out, errOut, func(fs *flag.FlagSet) {
		fs.BoolVar(&reference, "reference", false, "print all settings, with their defaults, and check nothing")
	}); !ok {
		return code
	}
	if reference {
		fmt.Fprint(out, config.Reference())
		return 0
	}
	if _, err := f.load(os.Environ()); err != nil {
		fmt.Fprintf(errOut, "rialto: the configuration cannot be used:\n%v\n", err)
		return 2
	}
	fmt.Fprintln(out, "The configuration can be used.")
	return 0
}

const adminUsage = `Usage:
  rialto admin key create --data DIR --name NAME   make an API key for a business server; it is shown once
  rialto admin key list   --data DIR               list the keys' names
  rialto admin key revoke --data DIR --name NAME   end the keys of a name

They work on a data directory, or with --postgres ADDRESS on that database, also while a server runs on it.
Exit codes: 0 when it is done, 1 after a failure, 2 for a command line that cannot be used.
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
	postgres := fs.String("postgres", "", "`address` of the database, where the server keeps its records there")
	name := ""
	if verb != "list" {
		fs.StringVar(&name, "name", "", "`name` of the key, for the list; needed")
	}
	if code, ok := parse(fs, "It works also while a server runs on the directory.\n", args[2:], out, errOut); !ok {
		return code
	}
	if name == "" && verb != "list" {
		fmt.Fprintf(errOut, "rialto admin key %s: give the key's --name\n", verb)
		return 2
	}
	records := *postgres
	if records == "" {
		records = filepath.Join(*data, recordsFile)
		if _, err := os.Stat(records); err != nil {
			fmt.Fprintf(errOut, "rialto admin: there are no records in %s; give the --data of a server that has run once\n", *data)
			return 1
		}
		if err := move.CheckSource(*data); err != nil {
			fmt.Fprintln(errOut, "rialto admin:", err)
			return 1
		}
	}
	if err := adminKey(ctx, verb, records, name, out); err != nil {
		fmt.Fprintln(errOut, "rialto admin:", err)
		return 1
	}
	return 0
}

func adminKey(ctx context.Context, verb, records, name string, out io.Writer) (err error) {
	db, err := sqldb.Open(ctx, records)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}()
	logger, err := telemetry.NewLogger(telemetry.Config{Level: "error"}, io.Discard)
	if err != nil {
		return err
	}
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
			return fmt.Errorf("there is no key %q; rialto admin key list shows the names", name)
		}
		fmt.Fprintf(out, "%d keys ended\n", n)
	}
	return nil
}
