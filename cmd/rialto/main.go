// Command rialto is the complete product in one binary: the server, and the tools to use, measure and check it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/tool/bench"
	"github.com/rialto-im/rialto/internal/tool/plan"
	"github.com/rialto-im/rialto/internal/tool/rank"
	"github.com/rialto-im/rialto/internal/tool/terminal"
	"github.com/rialto-im/rialto/internal/tool/verify"
	"github.com/rialto-im/rialto/internal/tool/where"
)

type command struct {
	name, summary string
	run           func(args []string) int
}

func commands() []command {
	return []command{
		{"serve", "run the server: rialto serve --data DIR --listen HOST:PORT", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.ServeMain(ctx, app.Program(), args, os.Stdout, os.Stderr) })
		}},
		{"check", "check the configuration and report all errors; --reference prints all settings", func(args []string) int {
			return app.CheckMain(args, os.Stdout, os.Stderr)
		}},
		{"chat", "chat from the terminal", func(args []string) int {
			return terminal.Main(args, os.Stdin, os.Stdout, os.Stderr)
		}},
		{"bench", "load a deployment and check every message: rialto bench chat --url URL,URL", func(args []string) int {
			return bench.Main(args, os.Stdout, os.Stderr)
		}},
		{"verify", "check the consistency of all stored data: rialto verify --data DIR, or --postgres ADDRESS", func(args []string) int {
			return verify.Main(args, os.Stdout, os.Stderr)
		}},
		{"search", "build the search index of a node again: rialto search rebuild --data DIR", func(args []string) int {
			return app.SearchMain(args, os.Stdout, os.Stderr)
		}},
		{"backup", "back up a data directory, also while a server uses it: rialto backup --url URL --key KEY, or --data DIR --to BACKUPS", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.BackupMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"restore", "restore a backup into a new data directory: rialto restore --from BACKUPS --data DIR", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.RestoreMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"repair", "report why a data directory is refused; with --accept-loss, make it usable without the lost data: rialto repair --data DIR", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.RepairMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"import", "import users, conversations and messages of another chat server: rialto import slack export.zip --work DIR --url URL --key KEY", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.ImportMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"export", "export everything of a running deployment in a documented format: rialto export --out DIR --url URL --key KEY", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.ExportMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"plan", "estimate the machines that a deployment needs: rialto plan --daily-users 50m", func(args []string) int {
			return plan.Main(args, os.Stdout, os.Stderr)
		}},
		{"move", "copy a data directory into shared engines: rialto move --data DIR --to-postgres ADDRESS", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.MoveMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"id", "generate and explain ids, and measure generators: rialto id next --scheme snowflake --count 10", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.IDMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"where", "show what happened to a message, when and on which node: rialto where MESSAGE-ID --key KEY", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return where.Main(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"rank", "train, judge and activate models of the ranked feed: rialto rank train --url URL --key KEY", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return rank.Main(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"admin", "manage API keys, background jobs and message transactions: rialto admin key|jobs|transactions", func(args []string) int {
			return untilSignal(func(ctx context.Context) int { return app.AdminMain(ctx, args, os.Stdout, os.Stderr) })
		}},
		{"version", "print the version, the commit, the toolchain and the engines", func(args []string) int {
			if len(args) > 0 && !isHelp(args[0]) {
				fmt.Fprintf(os.Stderr, "rialto version: unexpected argument %q\n", args[0])
				return 2
			}
			fmt.Println(telemetry.ThisBuild())
			return 0
		}},
	}
}

// untilSignal runs a command with a context that ends with the first SIGINT or SIGTERM. The second signal ends the process at once.
func untilSignal(run func(ctx context.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx)
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Rialto, a backend for social apps: chat, feeds, videos and search.\n\nUsage: rialto COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
rialto COMMAND --help shows a command's flags.

Exit codes: 0 on success; 1 after a failure, or if verify or bench found a violation; 2 for an invalid command line or
configuration, or if verify could not check; 3 if the disk with the data of serve failed.
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
		name, args = args[0], append(args[1:], "--help") // rialto help bench chat
	}
	if name == "--version" || name == "-version" {
		name = "version"
	}
	if name == app.IndexCommand { // serve starts it
		os.Exit(app.IndexMain(args, os.Stdin, os.Stdout, os.Stderr))
	}
	var names []string
	for _, c := range commands() {
		if c.name == name {
			os.Exit(c.run(args))
		}
		names = append(names, c.name)
	}
	fmt.Fprintf(os.Stderr, "rialto: %s\nrialto help lists all commands.\n", commandline.Unknown(name, names))
	os.Exit(2)
}
