package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/backup"
)

const restoreHelp = `restore writes a backup into a new data directory, which must be empty or missing. It reads the whole backup first, and writes nothing if
a part of it is damaged. Afterwards start a server on the directory; devices read their lists and histories again. With --check, it only reads the backup.
The audit log of the new directory gets an entry of the restore.
Exit codes: 0 if the directory can be served, or the backup is whole; 1 if not; 2 for an invalid command line.
`

// RestoreMain is rialto restore.
func RestoreMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto restore", flag.ContinueOnError)
	o := backup.RestoreOptions{Now: time.Now()}
	data := fs.String("data", "", "data `directory` to write")
	fs.StringVar(&o.From, "from", "", "`directory` of the backups, or s3://BUCKET/PREFIX")
	fs.StringVar(&o.ID, "backup", "", "`id` of the backup (default: the newest)")
	fs.StringVar(&o.Identity, "identity", "", "`file` with the private key of an encrypted backup")
	starts := fs.Uint("starts", 0, "`number` of times that a server was started on the original since the backup, if it may be more than 1000 and one for each ten minutes")
	check := fs.Bool("check", false, "compare the backup with its hashes, and write nothing")
	by, place := auditFlags{}, placeFlags{}
	by.add(fs)
	place.add(fs)
	if code, ok := parse(fs, restoreHelp, args, out, errOut); !ok {
		return code
	}
	if problem := cmp.Or(checkRestoreFlags(o.From, *data, *check, *starts), by.check()); problem != "" {
		fmt.Fprintf(errOut, "rialto restore: %s; rialto restore --help shows how\n", problem)
		return 2
	}
	var err error
	if o.S3, err = place.s3(o.From); err != nil {
		fmt.Fprintf(errOut, "rialto restore: %v\n", err)
		return 2
	}
	o.Starts = uint32(*starts)
	step := progress.New(errOut).Step("restore")
	o.Progress = func(done, total int64) {
		step.At(float64(done)/float64(max(total, 1)), fmt.Sprintf("%d of %d MB", done/1e6, total/1e6))
	}
	text, err := restore(ctx, *data, *check, o, by)
	step.End()
	if err != nil {
		fmt.Fprintln(errOut, "rialto restore:", err)
		return 1
	}
	fmt.Fprintln(out, text)
	return 0
}

// checkRestoreFlags says what is wrong with a command line.
func checkRestoreFlags(from, data string, check bool, starts uint) string {
	switch {
	case from == "":
		return "--from is missing"
	case (data == "") != check:
		return "give one of --data and --check"
	case starts > 1<<19:
		return "--starts is at most 524288"
	}
	return ""
}

func restore(ctx context.Context, data string, check bool, o backup.RestoreOptions, by auditFlags) (text string, err error) {
	if check {
		m, err := backup.Check(ctx, o)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("backup %s is whole: %d files match their hashes", m.ID, len(m.Files)), nil
	}
	if err := backup.CheckEmpty(data); err != nil {
		return "", err
	}
	dir, err := openDataDir(data)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	m, restored, err := backup.Restore(ctx, data, o)
	if err != nil {
		return "", err
	}
	cut := time.UnixMilli(m.CutMs).UTC().Format(time.RFC3339)
	if err := by.recordIn(ctx, data, auditlog.Entry{Action: "data.restore", Subject: "backup " + m.ID, Before: "as of " + cut, After: restored}); err != nil {
		return "", fmt.Errorf("the backup is restored, and only the entry of it is missing: %w", err)
	}
	text = fmt.Sprintf("backup %s, as of %s, is restored in %s (%s). Check it with rialto verify --data %s, and start the server.", m.ID, cut, data, restored, data)
	if !m.HasFiles {
		text += "\nThe users' files are not in it: they are in S3."
	}
	return text, nil
}
