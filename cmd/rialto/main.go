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
	"github.com/rialto-im/rialto/internal/plan"
	"github.com/rialto-im/rialto/internal/terminal"
	"github.com/rialto-im/rialto/internal/verify"
)

type command struct {
	name, summary string
	run           func(args []string) int
}

func commands() []command {
	return []command{
		{"serve", "run the server: rialto serve --data DIR --listen HOST:PORT", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.ServeMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"check", "check the configuration and say every fault; --reference prints all settings", func(args []string) int {
			return app.CheckMain(args, os.Stdout, os.Stderr)
		}},
		{"chat", "chat from the terminal", func(args []string) int {
			return terminal.Main(args, os.Stdin, os.Stdout, os.Stderr)
		}},
		{"bench", "load a deployment and check every message: rialto bench chat --url URL,URL", func(args []string) int {
			return bench.Main(args, os.Stdout, os.Stderr)
		}},
		{"verify", "read what is stored and check every promise on it: rialto verify --data DIR, or --postgres ADDRESS", func(args []string) int {
			return verify.Main(args, os.Stdout, os.Stderr)
		}},
		{"plan", "count what a deployment needs: rialto plan --daily-users 50m", func(args []string) int {
			return plan.Main(args, os.Stdout, os.Stderr)
		}},
		{"move", "bring a data directory into shared engines: rialto move --data DIR --to-postgres ADDRESS", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.MoveMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"id", "make ids, explain them, measure them: rialto id next --scheme snowflake --count 10", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.IDMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"admin", "administer: admin key create|list|revoke", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.AdminMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"version", "print the version", func(args []string) int {
			if len(args) > 0 && !isHelp(args[0]) {
				fmt.Fprintf(os.Stderr, "rialto version takes no argument %q\n", args[0])
				return 2
			}
			fmt.Println(app.Version())
			return 0
		}},
	}
}

// untilSignal gives a context that ends with the first SIGINT or SIGTERM. The second one ends the process at once.
func untilSignal(run func(ctx context.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx)
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Rialto, a backend for social apps.\n\nUsage: rialto COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
rialto COMMAND --help shows a command's flags.

Exit codes: 0 when all is well; 1 after a failure, or for verify and bench when a promise is broken; 2 when the command line or
the configuration cannot be used.
`)
}

func isHelp(word string) bool {
	return word == "help" || word == "-h" || word == "-help" || word == "--help"
}

func main() {
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	name, args := os.Args[1], os.Args[2:]
	if isHelp(name) {
		if len(args) == 0 {
			usage(os.Stdout)
			return
		}
		name, args = args[0], []string{"--help"} // rialto help serve
	}
	for _, c := range commands() {
		if c.name == name {
			os.Exit(c.run(args))
		}
	}
	fmt.Fprintf(os.Stderr, "rialto: there is no command %q; rialto help lists them\n", name)
	os.Exit(2)
}
