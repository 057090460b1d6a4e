package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
)

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
	fs.Var(&f.set, "set", "any setting as `NAME=VALUE`, such as gateway.heartbeat=10s; may be repeated")
	if more != nil {
		more(fs)
	}
	return parse(fs, summary+`
Settings come from the file, then the environment (RIALTO_GATEWAY_HEARTBEAT=10s), then flags; later ones win. rialto check
--reference lists them.
`, args, out, errOut)
}

// parse parses flags. If it is not ok, the command exits with the code: 0 after help, 2 after a mistake.
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
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v; %s --help lists the flags\n", fs.Name(), err, fs.Name())
		return 2, false
	}
	return 0, true
}

// noCommand says what is wrong with a command line whose first word is no command of a name, such as rialto admin, before the usage. It returns the exit code, 2.
func noCommand(name string, args, commands []string, usage string, errOut io.Writer) int {
	problem := "a command is missing"
	if len(args) > 0 {
		problem = commandline.Unknown(args[0], commands)
	}
	fmt.Fprintf(errOut, "%s: %s\n\n%s", name, problem, usage)
	return 2
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

const serveHelp = `serve runs a node until it gets SIGINT or SIGTERM. It then tells clients to reconnect, completes requests in progress and ends. A
second signal ends it at once, without losing acknowledged data.
Exit codes: 0 after a clean stop, 1 after a failure, 2 for an invalid command line or configuration, 3 if the disk with the data failed.
`

const checkHelp = `check reports all errors in the configuration that serve would use with the same flags, and warns about unsafe settings. It starts nothing.
Exit codes: 0 if the configuration is valid, 2 if not.
`

// ServeMain is rialto serve: it runs a node until ctx ends. program is the path of this program, which the process of the search index runs; empty: there is no such
// process. It exits 0 after a clean stop, 1 after a failure, 2 for a bad configuration.
func ServeMain(ctx context.Context, program string, args []string, out, errOut io.Writer) int {
	var f flags
	if code, ok := f.parse("serve", serveHelp, args, out, errOut, nil); !ok {
		return code
	}
	c, err := f.load(os.Environ())
	if err != nil {
		fmt.Fprintf(errOut, "rialto: the configuration is invalid:\n%v\n", err)
		return 2
	}
	logger, err := telemetry.NewLogger(c.Log, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "rialto:", err)
		return 2
	}
	build := telemetry.ThisBuild()
	logger.Info("rialto starts", "version", build.Version, "commit", build.Short(), "committed", build.Time, "go", build.Go)
	for _, w := range c.Warnings() {
		logger.Warn("a setting is not as safe as it could be", "detail", w)
	}
	defer tuneGC()()
	n, err := openNode(ctx, c, logger, clock.System{}, indexCommand(program, c.Search, logger))
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before it was ready")
		}
		fmt.Fprintln(errOut, "rialto cannot start:", err)
		return 1
	}
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(out, "Rialto is ready: %s://%s  (admin: http://%s, data: %s)\n", scheme, n.Address(), n.AdminAddress(), c.Data)
	code := 0
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "Rialto is stopping … (a second signal ends it at once)")
	case err := <-n.Failed():
		fmt.Fprintln(errOut, "rialto failed:", err)
		code = 1
	}
	if err := n.Close(); err != nil {
		fmt.Fprintln(errOut, "rialto:", err)
		code = 1
	}
	return code
}

// CheckMain is rialto check. It reports all faults of the configuration, and exits with 2 if there is one.
func CheckMain(args []string, out, errOut io.Writer) int {
	var f flags
	reference, showPipeline := false, false
	if code, ok := f.parse("check", checkHelp, args, out, errOut, func(fs *flag.FlagSet) {
		fs.BoolVar(&reference, "reference", false, "print all settings, with their defaults, and check nothing")
		fs.BoolVar(&showPipeline, "pipeline", false, "print the pipeline of videos: the file of the setting video.pipeline, or the built-in one")
	}); !ok {
		return code
	}
	if reference {
		fmt.Fprint(out, config.Reference())
		return 0
	}
	c, err := f.load(os.Environ())
	if err != nil {
		fmt.Fprintf(errOut, "rialto: the configuration is invalid:\n%v\n", err)
		return 2
	}
	for _, w := range c.Warnings() {
		fmt.Fprintf(errOut, "rialto: warning: %s\n", w)
	}
	if showPipeline {
		text, err := pipeline.Text(c.Video.Pipeline)
		if err != nil {
			fmt.Fprintln(errOut, "rialto:", err)
			return 2
		}
		fmt.Fprint(out, text)
		return 0
	}
	fmt.Fprintln(out, "The configuration is valid.")
	return 0
}
