// Command withpostgres runs a command with a private PostgreSQL server, which tests then use for their databases:
//
//	go run ./internal/engine/sqldb/sqltest/withpostgres go test ./internal/service/account
//
// With -records sqlite only those tests use it that need PostgreSQL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("withpostgres", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: withpostgres [-records postgres|sqlite] COMMAND [ARGUMENT ...]")
		flags.PrintDefaults()
	}
	records := flags.String("records", "postgres", "where tests have their databases: `postgres` or sqlite")
	err := flags.Parse(args)
	if args = flags.Args(); err != nil || len(args) == 0 || *records != "postgres" && *records != "sqlite" {
		if err == nil {
			flags.Usage()
		}
		return 2
	}
	// The command gets the terminal's signals as well, and ends; the server is stopped after it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	programs, err := sqltest.Find()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server, err := programs.Start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), sqltest.Shared+"="+server.URL, sqltest.Records+"="+*records)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	failure := cmd.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var exit *exec.ExitError
	switch {
	case errors.As(failure, &exit):
		return max(exit.ExitCode(), 1)
	case failure != nil:
		fmt.Fprintln(os.Stderr, failure)
		return 1
	}
	return 0
}
