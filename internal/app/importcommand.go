package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/exporter"
	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

const importHelp = `import loads users, posts, comments, conversations, messages and files of another server, with their original times. FORMAT is slack, mattermost, openim, wukongim, or
interchange for what rialto export wrote. PATH is the export, or the directory in the interchange format.

  rialto import slack export.zip --work DIR --url http://127.0.0.1:7070 --key @FILE   convert into DIR, and load
  rialto import slack export.zip --work DIR                                          convert only
  rialto import interchange DIR --url http://127.0.0.1:7070 --key @FILE              load
  rialto import --end --url http://127.0.0.1:7070 --key @FILE                        end imports that were given up

The key has the role operator. An import that was interrupted continues when it is started again. import-report.json in DIR has what was imported and what
was skipped, and why. Exit codes: 0 if the counts of the source are those of what was imported and skipped, 1 if not, 2 for an invalid command line.
`

const exportHelp = `export writes all users, videos, posts, comments, likes, conversations, messages and files of a running deployment into a directory, in the interchange format.

  rialto export --out DIR --url http://127.0.0.1:7070 --key @FILE

The key has the role operator. An export that was interrupted continues when it is started again. It is no backup: see rialto backup.
Exit codes: 0 if the export is complete, 1 if not, 2 for an invalid command line.
`

// importFlags of rialto import.
type importFlags struct {
	format, path, work, prefix string
	server                     apiclient.Config
	rate                       int
	maxBytes                   int64
	end                        bool
}

// interchangeFormat is that of rialto export.
const interchangeFormat = "interchange"

func (f *importFlags) parse(args []string, out, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto import", flag.ContinueOnError)
	fs.StringVar(&f.work, "work", "", "`directory` for the converted export")
	f.server = interchangeServer()
	f.server.AddFlags(fs, "a listener for clients")
	fs.StringVar(&f.prefix, "prefix", "", "`text` before the external ids of users (default: the format and a colon; of interchange none)")
	commandline.Int(fs, &f.rate, "rate", 0, 1, math.MaxInt, "`entries` to import a second (default 500)")
	fs.Int64Var(&f.maxBytes, "max-bytes", importer.DefaultMaxBytes, "`bytes` of the files of a converted export, together; 0: no limit")
	fs.BoolVar(&f.end, "end", false, "end all imports that have begun, as they are: nothing more can be imported to their conversations, and members write to them")
	var words []string
	for len(args) > 0 && len(words) < 2 && !strings.HasPrefix(args[0], "-") {
		words, args = append(words, args[0]), args[1:]
	}
	code, ok := parse(fs, importHelp, args, out, errOut)
	if !ok {
		return code, false
	}
	if err := f.check(words); err != nil {
		fmt.Fprintf(errOut, "rialto import: %v; rialto import --help shows how\n", err)
		return 2, false
	}
	return 0, true
}

func (f *importFlags) check(words []string) error {
	if f.end {
		if len(words) > 0 || f.work != "" || f.server.URL == "" {
			return errors.New("--end ends all imports on a server: give --url and --key, and no format and no path")
		}
		return f.server.Check()
	}
	if len(words) != 2 {
		return errors.New("give a format and a path")
	}
	f.format, f.path = words[0], words[1]
	_, converts := importer.Converters()[f.format]
	switch {
	case !converts && f.format != interchangeFormat:
		return fmt.Errorf("the format is %s or %s, not %q", strings.Join(slices.Sorted(maps.Keys(importer.Converters())), ", "), interchangeFormat, f.format)
	case converts && f.work == "":
		return errors.New("--work is missing")
	case !converts && f.work != "":
		return errors.New("--work is for other formats: a directory in the interchange format is loaded as it is")
	case !converts && f.server.URL == "":
		return errors.New("--url is missing")
	case f.maxBytes < 0:
		return errors.New("--max-bytes cannot be below zero")
	}
	if f.server.URL != "" {
		if err := f.server.Check(); err != nil {
			return err
		}
	}
	if converts && f.prefix == "" {
		f.prefix = f.format + ":"
	}
	return nil
}

// interchangeServer has what rialto import and rialto export need of a server.
func interchangeServer() apiclient.Config {
	return apiclient.Config{Access: importer.Access, Patience: importer.Patience}
}

// ImportMain is rialto import.
func ImportMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	var f importFlags
	if code, ok := f.parse(args, out, errOut); !ok {
		return code
	}
	run := func() error { return f.run(ctx, out, progress.New(errOut)) }
	if f.end {
		run = func() error { return f.endImports(ctx, out) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(errOut, "rialto import:", err)
		return 1
	}
	return 0
}

// endImports is rialto import --end.
func (f *importFlags) endImports(ctx context.Context, out io.Writer) error {
	client, err := apiclient.New(f.server)
	if err != nil {
		return err
	}
	n, err := importer.End(ctx, &importer.Server{Client: client}, func(conversation, messages uint64) {
		fmt.Fprintf(out, "ended: conversation %d, with %s\n", conversation, printable.Count(messages, "message"))
	})
	switch {
	case err != nil:
	case n == 1:
		fmt.Fprintln(out, "1 import has ended")
	default:
		fmt.Fprintf(out, "%d imports have ended\n", n)
	}
	return err
}

// errMismatch makes rialto import exit with 1.
var errMismatch = errors.New("the counts differ: see the report")

func (f *importFlags) run(ctx context.Context, out io.Writer, printer *progress.Printer) error {
	dir := f.path
	if convert := importer.Converters()[f.format]; convert != nil {
		dir = f.work
		if r, err := interchangefile.Open(dir); err == nil && r.Source() != f.format {
			return fmt.Errorf("%s has a converted export of %s; choose another --work", dir, r.Source())
		} else if errors.Is(err, interchangefile.ErrNoManifest) {
			if err := importer.Convert(ctx, convert, f.format, f.path, dir, time.Now(), f.maxBytes); errors.Is(err, interchangefile.ErrFilesTooLarge) {
				return fmt.Errorf("%w; --max-bytes allows more", err)
			} else if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if err := printConverted(dir, out); err != nil || f.server.URL == "" {
			return err
		}
	}
	client, err := apiclient.New(f.server)
	if err != nil {
		return err
	}
	report, err := importer.Load(ctx, importer.Options{Dir: dir, Server: &importer.Server{Client: client}, Rate: f.rate, Prefix: f.prefix, Printer: printer})
	if err != nil {
		return err
	}
	in := report.Imported
	fmt.Fprintf(out, "imported: %s\nimported: %s\n", countsOfChats(&in), countsOfPosts(&in))
	for _, reason := range slices.Sorted(maps.Keys(report.Skipped)) {
		fmt.Fprintf(out, "skipped by the server: %d × %s\n", report.Skipped[reason], reason)
	}
	for _, what := range slices.Sorted(maps.Keys(report.Altered)) {
		fmt.Fprintf(out, "imported without it: %d × %s\n", report.Altered[what], what)
	}
	fmt.Fprintf(out, "report: %s\n", filepath.Join(dir, importer.ReportFile))
	if len(report.Mismatches) > 0 {
		return fmt.Errorf("%w:\n%s", errMismatch, strings.Join(report.Mismatches, "\n"))
	}
	return nil
}

// printConverted says what a converter has found.
func printConverted(dir string, out io.Writer) error {
	r, err := interchangefile.Open(dir)
	if err != nil {
		return err
	}
	c := r.Manifest.Counts
	fmt.Fprintf(out, "converted: %s, %s\n", countsOfChats(&c), printable.Count(c.Relations, "relation"))
	for _, kind := range slices.Sorted(maps.Keys(r.Manifest.Skipped)) {
		fmt.Fprintf(out, "skipped by the converter: %d × %s (see skipped.jsonl)\n", r.Manifest.Skipped[kind], kind)
	}
	return nil
}

func countsOfChats(c *interchangefile.Counts) string {
	return strings.Join([]string{printable.Count(c.Users, "user"), printable.Count(c.Conversations, "conversation"), printable.Count(c.Memberships, "membership"), printable.Count(c.Messages, "message"),
		printable.Count(c.Reactions, "reaction"), printable.Count(c.Attachments, "file")}, ", ")
}

func countsOfPosts(c *interchangefile.Counts) string {
	likes := "1 like or favourite"
	if c.Likes != 1 {
		likes = fmt.Sprintf("%d likes and favourites", c.Likes)
	}
	return strings.Join([]string{printable.Count(c.Posts, "version") + " of posts", printable.Count(c.Comments, "comment"), likes, printable.Count(c.Videos, "video"), printable.Count(c.Relations, "relation")}, ", ")
}

// ExportMain is rialto export.
func ExportMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	var dir string
	server := interchangeServer()
	fs := flag.NewFlagSet("rialto export", flag.ContinueOnError)
	fs.StringVar(&dir, "out", "", "`directory` for the export")
	server.AddFlags(fs, "a listener for clients")
	if code, ok := parse(fs, exportHelp, args, out, errOut); !ok {
		return code
	}
	err := server.Check()
	if dir == "" || server.URL == "" || server.Key == "" {
		err = errors.New("give --out, --url and --key; rialto export --help shows how")
	}
	if err != nil {
		fmt.Fprintln(errOut, "rialto export:", err)
		return 2
	}
	client, err := apiclient.New(server)
	if err == nil {
		var m *interchangefile.Manifest
		if m, err = exporter.Run(ctx, exporter.Options{Dir: dir, Server: &importer.Server{Client: client}, Printer: progress.New(errOut)}); err == nil {
			c := m.Counts
			fmt.Fprintf(out, "exported: %s\nexported: %s\n", countsOfChats(&c), countsOfPosts(&c))
			return 0
		}
	}
	fmt.Fprintln(errOut, "rialto export:", err)
	return 1
}
