// Command withpostgres runs a command with a private PostgreSQL server, which tests then use for their databases:
//
//	go run ./internal/engine/sqldb/sqltest/withpostgres go test ./internal/service/account
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withpostgres COMMAND [ARGUMENT ...]")
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
	cmd.Env = append(os.Environ(), sqltest.Records+"="+server.URL)
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
