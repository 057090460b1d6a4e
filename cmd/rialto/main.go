// Command rialto is the whole product in one binary: the server, and the tools to use, measure and check it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/bench"
	"github.com/rialto-im/rialto/internal/terminal"
	"github.com/rialto-im/rialto/internal/verify"
)

type command struct {
	name, summary string
	run           func(ctx context.Context, args []string) int
}

func commands() []command {
	return []command{
		{"serve", "run the server: rialto serve --data DIR --listen HOST:PORT", func(ctx context.Context, args []string) int {
			return app.ServeMain(ctx, args, os.Stdout, os.Stderr)
		}},
		{"check", "check the configuration and say every fault; --reference prints all settings", func(_ context.Context, args []string) int {
			return app.CheckMain(args, os.Stdout, os.Stderr)
		}},
		{"chat", "chat from the terminal", func(_ context.Context, args []string) int {
			return terminal.Main(args, os.Stdin, os.Stdout, os.Stderr)
		}},
		{"bench", "load a deployment and check every message: bench chat, bench idle", func(_ context.Context, args []string) int {
			return bench.Main(args, os.Stdout, os.Stderr)
		}},
		{"verify", "read a data directory and check every promise on it: rialto verify --data DIR", func(_ context.Context, args []string) int {
			return verify.Main(args, os.Stdout, os.Stderr)
		}},
		{"admin", "administer: admin key create|list|revoke", func(ctx context.Context, args []string) int {
			return app.AdminMain(ctx, args, os.Stdout, os.Stderr)
		}},
		{"version", "print the version", func(context.Context, []string) int {
			fmt.Println(app.Version())
			return 0
		}},
	}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Rialto, a backend for social apps.\n\nUsage: rialto COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\nrialto COMMAND --help shows a command's flags.\n")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	switch os.Args[1] {
	case "help", "-h", "-help", "--help":
		usage(os.Stdout)
		return
	}
	for _, c := range commands() {
		if c.name == os.Args[1] {
			code := c.run(ctx, os.Args[2:])
			stop()
			os.Exit(code)
		}
	}
	fmt.Fprintf(os.Stderr, "rialto: there is no command %q.\n\n", os.Args[1])
	usage(os.Stderr)
	os.Exit(2)
}
